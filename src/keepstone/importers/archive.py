"""Keepstone's own archives, read back: that of capsules, one JSON file with what was in the trash and the cold tier;
and that of everything, a zip with a file of lines for each kind of place.
"""

import json
from collections.abc import Iterator
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.items import Archived, ArchivedRecord, Item, LeftOut, Reading
from keepstone.importers.stream import elements, members
from keepstone.importers.text import cleaned, elements_of, fields

ARRAYS = ("capsules", "put_away")
HEAD = "archive.json"
# In the order in which they are read: projects before what is in them, agents before the rooms they are in.
PARTS = (
    "agents", "projects", "profile", "capsules", "workspaces", "rooms", "direct-messages", "scopes", "graphs", "stores",
    "entities", "account",
)  # fmt: skip
LONGEST_LINE = 128 * 1024 * 1024


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        if is_whole(bundle):
            yield from _records(bundle, reading)
            return
        names = bundle.find(r".*\.json")
        if len(names) != 1:
            raise Invalid(f"{reading.file.name} is no archive: give the JSON file that `keepstone export` wrote.")
        reading.gauge.total = bundle.size(names)
        projects: dict[str, str] = {}
        known = False
        with bundle.open(names[0]) as file:
            for name, value in members(file, names[0], ARRAYS, reading.gauge):
                known = known or (name == "format" and value == "keepstone-archive")
                if name == "projects":
                    projects = names_of(value)
                elif name in ARRAYS:
                    if not known:
                        raise Invalid(f"{reading.file.name} is no archive of Keepstone's.")
                    capsule = fields(value)
                    if capsule:
                        yield Archived(capsule=capsule, project=projects.get(str(capsule.get("project_id"))))
                    else:
                        yield LeftOut(reason="no capsule", what=name)
        if not known:
            raise Invalid(f"{reading.file.name} is no archive of Keepstone's.")


def is_whole(bundle: Bundle) -> bool:
    """Whether it is an archive of everything."""
    return bundle.is_zip and HEAD in bundle.sizes


def whose(bundle: Bundle) -> str:
    """The id of the user that an archive of everything is of."""
    with bundle.open(HEAD) as file:
        head = fields(next(elements(file, HEAD), None))
    if (head.get("format"), head.get("version")) != ("keepstone-archive", 2):
        raise Invalid("This is no archive of Keepstone's, or one of a newer version than this server reads.")
    return str(fields(head.get("user")).get("id") or "")


def _records(bundle: Bundle, reading: Reading) -> Iterator[Item]:
    whose(bundle)
    names = [f"{part}.jsonl" for part in PARTS if f"{part}.jsonl" in bundle.sizes]
    reading.gauge.total = bundle.size(names)
    for name in names:
        with bundle.open(name) as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                reading.gauge.done += len(line)
                place = f"{name}:{number}"
                if len(line) == LONGEST_LINE:
                    raise Invalid(f"{place} is longer than any line of an archive.")
                try:
                    data = fields(json.loads(line))
                except (ValueError, RecursionError):
                    data = {}
                if data.get("record"):
                    yield ArchivedRecord(data=cleaned(data), place=place)
                else:
                    yield LeftOut(reason="line that is no record", what=place)


def names_of(projects: Any) -> dict[str, str]:
    return {str(fields(project).get("id")): str(fields(project).get("name")) for project in elements_of(projects)}
