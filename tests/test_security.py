"""SECURITY.md names tests that are there."""

import re

from test_docs import ROOT


def test_every_test_that_shows_a_promise_is_there() -> None:
    named = re.findall(r"`(tests/test_\w+\.py)(?::\s+(test_\w+))?`", (ROOT / "SECURITY.md").read_text())
    assert len(named) > 10
    for path, test in named:
        assert (ROOT / path).is_file(), f"SECURITY.md names {path}, which is not there"
        text = (ROOT / path).read_text()
        assert not test or re.search(rf"def {test}\(", text), f"SECURITY.md names {test}, which is not in {path}"
