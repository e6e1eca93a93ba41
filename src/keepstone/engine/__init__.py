"""How things are found: terms, time, late interaction and rank, as functions of what they are given.

Knows no surface, and nothing in here but what its name says. The modules `terms`, `bm25`, `when`, `late` and `rank` are
pure: no database, no files, no clock.
"""
