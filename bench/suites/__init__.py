"""The makers' own tests of stores, sessions and memory tools, run against Keepstone's adapters."""
