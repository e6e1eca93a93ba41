"""Generated requests to every operation of a real server: whatever comes, no 5xx, and the answer is as described."""

from dataclasses import dataclass
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

from conftest import PASSWORD
from keepstone.app import make_routes
from live import Live

API = schemathesis.openapi.from_dict(make_routes().openapi())
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@dataclass(frozen=True)
class Somebody:
    """Whoever sends what is generated: a key, a session, and things of theirs by the name of a path parameter."""

    key: str
    session: str
    objects: dict[str, str]


@pytest.fixture(scope="module")
def somebody(live: Live) -> Somebody:
    """Of an account of its own, so that nothing generated here disturbs other tests."""
    live.cli("users", "create", "fuzz@example.org", "--password-stdin", stdin=PASSWORD)
    key = live.cli("keys", "create", "--user", "fuzz@example.org", "--name", "fuzz").stdout.strip()
    with httpx.Client(base_url=live.url, headers={"Authorization": f"Bearer {key}"}) as client:
        client.post("/auth/login", json={"email": "fuzz@example.org", "password": PASSWORD}).raise_for_status()

        def made(path: str, **options: Any) -> str:
            return client.post(path, **options).raise_for_status().json()["id"]

        workspace = made("/v1/workspaces", json={"name": "fuzz"})
        chat = made("/v1/chats", json={"workspace_id": workspace})
        objects = {
            "workspace_id": workspace,
            "chat_id": chat,
            "memory_id": made(f"/v1/chats/{chat}/memory", json={"content": "The ferry leaves at nine."}),
            "document_id": made(f"/v1/workspaces/{workspace}/files", files={"file": ("a.txt", b"The ferry is red.")}),
            "artifact_id": made(f"/v1/workspaces/{workspace}/artifacts", json={"name": "a", "content": "A ferry"}),
        }
        return Somebody(key, str(client.cookies["session"]), objects)


OPERATIONS = {result.ok().label: result.ok() for result in API.get_all_operations() if isinstance(result, Ok)}


def test_every_operation_is_there_to_be_tried() -> None:
    described = make_routes().openapi()["paths"]
    assert len(OPERATIONS) == sum(len(methods) for methods in described.values()) > 20


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_no_request_breaks_the_server(label: str, live: Live, somebody: Somebody) -> None:
    @given(case=OPERATIONS[label].as_strategy())
    @settings(
        max_examples=10,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    def send(case: schemathesis.Case[Any]) -> None:
        case.headers.pop("x-keepstone-user", None)  # a name made up at random would end every request in a 404
        if case.method != "DELETE":  # what is there, so that more than the address is tried
            known = {name: one for name, one in somebody.objects.items() if name in case.path_parameters}
            case.path_parameters.update(known)
        headers = {"Authorization": f"Bearer {somebody.key}"}
        # To end all other sessions is for the one that is needed on.
        if case.path.startswith("/chat/api/") or (case.method, case.path) == ("DELETE", "/v1/sessions"):
            headers = {"Cookie": f"session={somebody.session}"}
        response = case.call(base_url=live.url, headers=headers)
        stream = "text/event-stream" in str(response.headers.get("content-type"))
        checks = CHECKS[:-1] if stream else CHECKS  # the schema is of the whole stream
        if response.status_code == 503 and '"no_language_model"' in response.text:  # which is so, and no fault
            checks = [check for check in checks if check is not not_a_server_error]
        case.validate_response(response, checks=checks)

    send()


def test_afterwards_it_still_works(live: Live) -> None:
    assert httpx.get(live.url + "/readyz").status_code == 200
    assert not any('"unhandled"' in line for line in live.log)
