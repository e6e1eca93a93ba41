"""The embedded Postgres: its programs, its data folder and the supervisor that keeps it running.

Knows nothing of Keepstone's tables. Everything above it sees a connection string and nothing else.
"""
