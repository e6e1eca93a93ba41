"""What all suites share as a plugin of pytest: tests that do not apply are skipped, and say why.

The others put our adapters where the makers' tests expect their own classes. Only what the tests import by name is
replaced; they stay as they are.
"""

import os
import uuid
from hashlib import sha256

import pytest

from bench.suites.not_ours import NOT_OURS


def named(what: object) -> str:
    """A name that is the same for the same file or database; what is in memory is new each time."""
    told = str(what)
    return "t" + (uuid.uuid4().hex if told == ":memory:" else sha256(told.encode()).hexdigest())[:32]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = NOT_OURS[os.environ["KEEPSTONE_SUITE"]]
    for item in items:
        why = next((reason for name, reason in reasons.items() if item.name.startswith(name)), None)
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))
