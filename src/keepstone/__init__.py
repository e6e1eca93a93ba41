"""Keepstone: long-term memory for AI chats and agents."""

__version__ = "0.1.0"
