"""Takeaways: what a message holds that its room should remember: facts, decisions, action items.

`messages` reads a message, `decisions` says what was settled and which decision supersedes which, `participants` who
has to do what, `due` until when. The phrases are in `language/rules/takeaways.toml`.
"""
