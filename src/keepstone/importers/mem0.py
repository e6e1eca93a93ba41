"""mem0: over the API of its platform or of a server, out of its Postgres, a table with a `payload` of JSON, or from a
file with what its client lists.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx2

from keepstone.errors import Invalid, NotFound, Unauthenticated, UpstreamError
from keepstone.importers.bundle import open_bundle
from keepstone.importers.items import Item, LeftOut, Note, Reading
from keepstone.importers.stream import begins_with, elements, members
from keepstone.importers.tables import is_postgres, open_tables
from keepstone.importers.text import (
    clean,
    cleaned,
    elements_of,
    fields,
    first_line,
    labels,
    moment,
    packed_fields,
    titled,
)

_PAGE = 100
_LISTS = ("results", "memories")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "actor_id")
# What mem0 keeps for itself, beside what its users gave it.
_OWN = {
    *_OWNERS, "id", "data", "memory", "text", "hash", "created_at", "updated_at", "categories", "metadata", "score",
    "text_lemmatized", "role", "expiration_date", "linked_memory_ids", "structured_attributes", "attributed_to",
}  # fmt: skip


def read(reading: Reading) -> Iterator[Item]:
    if is_postgres(reading.path):
        memories = _from_postgres(reading)
    elif reading.path.startswith(("http://", "https://")):
        memories = _from_api(reading)
    elif reading.file.is_file():
        memories = _from_file(reading)
    else:
        raise Invalid(
            "mem0 is read from an address, a database or a file: give https://api.mem0.ai with --token, the address of "
            "a server of yours, postgresql://…, or the JSON of its list of memories."
        )
    for memory in memories:
        yield _note(memory, reading.of)


def _note(memory: dict[str, Any], of: str | None) -> Item:
    key, text = str(memory.get("id")), str(memory.get("memory") or memory.get("data") or memory.get("text") or "")
    owners = {name: str(memory[name]) for name in _OWNERS if memory.get(name)}
    if of and of not in owners.values():
        return LeftOut(reason="of another user", what=key)
    if {"entity_type", "linked_memory_ids"} <= memory.keys():
        return LeftOut(reason="entity of the graph", what=key)
    if not text.strip():
        return LeftOut(reason="without a text", what=key)
    given = fields(memory.get("metadata")) | {name: value for name, value in memory.items() if name not in _OWN}
    return Note(
        id=key, title=titled(first_line(text), "Memory"), content_md=clean(text), kind="memory",
        tags=labels("mem0", *elements_of(memory.get("categories"))), created_at=moment(memory.get("created_at")),
        updated_at=moment(memory.get("updated_at")),
        metadata={"source": "mem0", "id": key} | cleaned(owners) | ({"metadata": cleaned(given)} if given else {}),
    )  # fmt: skip


def _from_file(reading: Reading) -> Iterator[dict[str, Any]]:
    """What its client's `get_all` gives, or its export: a list, or one under `results` or `memories`."""
    with open_bundle(reading.file) as bundle:
        names = bundle.named(".json")
        reading.gauge.total = bundle.size(names)
        for name in names:
            with bundle.open(name) as file:
                listed = begins_with(file) == b"["
            with bundle.open(name) as file:
                if listed:
                    yield from map(fields, elements(file, name, reading.gauge))
                else:
                    found = members(file, name, _LISTS, reading.gauge)
                    yield from (fields(value) for key, value in found if key in _LISTS)


def _from_postgres(reading: Reading) -> Iterator[dict[str, Any]]:
    with open_tables(reading.path) as tables:
        present = [name for name in tables.names("id", "payload") if not name.endswith(("_entities", "migrations"))]
        if reading.table is None and len(present) != 1:
            raise Invalid(
                f"Name the table of mem0 with --table; with a payload there are: {', '.join(present) or 'none'}."
            )
        for row in tables.rows(reading.table or present[0]):
            yield packed_fields(row.get("payload")) | {"id": str(row["id"])}


def _from_api(reading: Reading) -> Iterator[dict[str, Any]]:
    """By the platform's present listing, by its former one, or by that of a server: the first that is there."""
    headers = {"Authorization": f"Token {reading.token}", "X-API-Key": reading.token} if reading.token else {}
    everybody = {"OR": [{name: "*"} for name in _OWNERS[:4]]}
    filters: dict[str, Any] = {"AND": [{"user_id": reading.of}]} if reading.of else everybody
    of = {"user_id": reading.of} if reading.of else {}
    with httpx2.Client(base_url=reading.path.rstrip("/"), headers=headers, timeout=60, follow_redirects=True) as client:
        for method, path, params, body in (
            ("POST", "/v3/memories/", {}, {"filters": filters}),
            ("GET", "/v1/memories/", of, None),
            ("GET", "/memories", of, None),
        ):
            listed = False
            for page in _pages(client, method, path, params, body):
                listed = True
                yield from map(fields, page)
            if listed:
                return
    raise NotFound(f"{reading.path} lists no memories: is it mem0? Its platform is https://api.mem0.ai.")


def _pages(client: httpx2.Client, method: str, path: str, params: dict[str, Any], body: Any) -> Iterator[list[Any]]:
    """None at all when there is no such route."""
    for number in count(1):
        answer = _ask(client, method, path, params | {"page": number, "page_size": _PAGE}, body)
        if answer is None:
            return
        page = elements_of(answer) or elements_of(fields(answer).get("results"))
        yield page
        if not page or not fields(answer).get("next"):
            return


def _ask(client: httpx2.Client, method: str, path: str, query: dict[str, Any], body: Any) -> Any:
    """The answer; None when there is no such route."""
    try:
        answer = client.request(method, path, params=query, json=body)
    except httpx2.TransportError as fault:
        raise UpstreamError(f"mem0 can't be reached ({type(fault).__name__}): check the address.") from None
    if answer.status_code in {404, 405}:
        return None
    if answer.status_code in {401, 403}:
        raise Unauthenticated("mem0 does not take this token: give a good one with --token.")
    if answer.status_code >= 400:
        raise Invalid(
            f"mem0 answers {answer.status_code}: {answer.text[:200]}. Name one user with --of if it asks for one."
        )
    try:
        return answer.json()
    except ValueError:
        return None
