"""Logs, metrics and traces. None of them ever holds memory text, a key or a password."""
