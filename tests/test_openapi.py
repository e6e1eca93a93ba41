"""The committed openapi.json is the one the app gives. `make openapi` writes it."""

import json
from pathlib import Path

from keepstone.app import make_routes

COMMITTED = Path(__file__).parent.parent / "openapi.json"


def described() -> str:
    return json.dumps(make_routes().openapi(), indent=2, ensure_ascii=False) + "\n"


def test_the_committed_description_is_up_to_date() -> None:
    assert COMMITTED.read_text() == described(), "run `make openapi` and look at what changed"


def test_every_operation_has_a_summary_a_name_of_its_own_and_its_errors() -> None:
    seen: set[str] = set()
    for path, methods in json.loads(described())["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])


if __name__ == "__main__":
    COMMITTED.write_text(described())
