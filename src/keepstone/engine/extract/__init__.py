"""Extraction: what of a chat turn or of a longer text is worth remembering, as short memories.

`turn` reads what a user said, `report` what a model wrote, `passed_over` says what neither keeps, `secret` what nobody
may, and `memories` makes the memories. The phrases are in `language/rules/`.
"""
