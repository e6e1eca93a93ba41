"""Generated requests to every operation of a real server: whatever comes, no 5xx, and the answer is as described."""

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from cairn.app import make_routes
from live import Live

API = schemathesis.openapi.from_dict(make_routes().openapi())
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def key(live: Live) -> str:
    """Of an account of its own, so that nothing generated here disturbs other tests."""
    live.cli("users", "create", "fuzz@example.org")
    return live.cli("keys", "create", "--user", "fuzz@example.org", "--name", "fuzz").stdout.strip()


OPERATIONS = {result.ok().label: result.ok() for result in API.get_all_operations() if isinstance(result, Ok)}


def test_every_operation_is_there_to_be_tried() -> None:
    described = make_routes().openapi()["paths"]
    assert len(OPERATIONS) == sum(len(methods) for methods in described.values()) > 20


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_no_request_breaks_the_server(label: str, live: Live, key: str) -> None:
    @given(case=OPERATIONS[label].as_strategy())
    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    def send(case: schemathesis.Case[Any]) -> None:
        case.headers.pop("x-cairn-user", None)  # a name made up at random would end every request in a 404
        response = case.call(base_url=live.url, headers={"Authorization": f"Bearer {key}"})
        case.validate_response(response, checks=CHECKS)

    send()


def test_afterwards_it_still_works(live: Live) -> None:
    assert httpx.get(live.url + "/readyz").status_code == 200
    assert not any('"unhandled"' in line for line in live.log)
