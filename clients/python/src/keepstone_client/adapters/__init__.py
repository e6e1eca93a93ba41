"""Keepstone under the memory interfaces of agent frameworks.

Each module needs its framework, and none needs another.
"""
