"""People: what a message says of whom. `clauses` cuts a message, `statements` reads, `grammar` turns "I" to a name."""

from keepstone.engine.people.statements import MOST, READ, Kind, Statement, statements

__all__ = ["MOST", "READ", "Kind", "Statement", "statements"]
