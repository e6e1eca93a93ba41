"""The protocol of the `mem0ai` package's client: memories for the users, agents, apps and runs that it names."""
