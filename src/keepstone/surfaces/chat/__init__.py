"""Workspaces, chats, memories and files: one set of operations, for a browser's cookie and for a bearer."""
