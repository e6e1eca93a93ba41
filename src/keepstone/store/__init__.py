"""The only SQL. One module a family of tables; each takes a connection that already knows its read scope.

No decision about who may do what is made here; row-level security repeats the one that was made above.
"""
