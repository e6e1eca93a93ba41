"""Which test runs in which process: what shares a server runs together, and what takes longest begins.

A file with a fixture for the whole module runs in one process, so that what the fixture starts is started once. Every
other test goes to whichever process is free. Not by pytest-xdist's own marks: with pytest 9.2 they are not heeded.
"""

from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent.parent


@cache
def runs_whole(file: str) -> bool:
    text = (ROOT / file).read_text()
    return 'scope="module"' in text or _in_a_browser(text)


def _in_a_browser(text: str) -> bool:
    return "from browser import" in text and "visiting(" in text


def rank(item: pytest.Item) -> int:
    """Where an item stands in the queue: tests in a browser take longest, then those with a server."""
    file = item.nodeid.partition("::")[0]
    return 2 if not runs_whole(file) else 0 if _in_a_browser((ROOT / file).read_text()) else 1


class BySharing(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if runs_whole(file) else nodeid


def make_scheduler(config: pytest.Config, log: Producer) -> BySharing:
    config.option.loadscopereorder = False  # the queue is in the order of the collection
    return BySharing(config, log)
