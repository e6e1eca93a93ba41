"""Keepstone's own JSON archive, read back: every capsule with its history, and what was in the trash and
the cold tier.
"""

from collections.abc import Iterator
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import open_bundle
from keepstone.importers.items import Archived, Item, LeftOut, Reading
from keepstone.importers.stream import members
from keepstone.importers.text import elements_of, fields

ARRAYS = ("capsules", "put_away")


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
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


def names_of(projects: Any) -> dict[str, str]:
    return {str(fields(project).get("id")): str(fields(project).get("name")) for project in elements_of(projects)}
