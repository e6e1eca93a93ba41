"""Models behind small Protocols: what turns text into vectors. Knows no database, no account and no surface."""
