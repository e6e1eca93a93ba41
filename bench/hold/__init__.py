"""A storm on one server, while somebody who does no harm works beside it: what is promised to them holds.

`attacks` sends it, a module for each family; `beside` is who works there; `judge` compares what they met with what is
promised; `storm` is the order of events.
"""
