"""People: what a message says of whom. `clauses` cuts a message, `statements` reads, `grammar` turns "I" to a name."""
