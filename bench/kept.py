"""What a small server of any release has kept: made-up things of all ways in, and what its API says of them afterwards.

`scripts/keep_release.py` fills a server of a release with them and keeps its database; a test opens that with the
newest code and finds the same. So only routes stand here that every release has.
"""

from collections.abc import Callable
from typing import Any

Call = Callable[[str, str, Any], Any]  # method, path, body → what came back; raises for anything but success

OWNER, OTHER = "owner@localhost", "olga@elsewhere.example"
PASSWORD = "a garden behind the harbour"  # the other's; nobody else has this server
SECRET = "the violin is hidden under the staircase"  # of the other: nobody of the first account ever sees it


def fill(call: Call, other: Call) -> None:
    """As the owner of the server, and somebody of another account."""
    _fill_capsules(call)
    _fill_workspace(call)
    _fill_scope(call)
    _fill_room(call)
    _fill_graph(call)
    call("PUT", "/v1/stores/notes/items", {"namespace": ["trips"], "key": "lisbon", "value": {"text": "tram 28"}})
    other("POST", "/v1/memory/capsules", {"content_md": SECRET})
    other(
        "POST", "/v1/ingest",
        {"scope_id": "team", "transcript": [{"speaker": "Olga", "text": SECRET}]},
    )  # fmt: skip


def _fill_capsules(call: Call) -> None:
    kept = call(
        "POST", "/v1/memory/capsules", {"content_md": "The ferry to the island leaves at eight", "tags": ["sea"]}
    )
    call("PATCH", f"/v1/memory/capsules/{kept['id']}", {"content_md": "The ferry to the island leaves at nine"})
    gone = call("POST", "/v1/memory/capsules", {"content_md": "The kettle whistles in B flat"})
    call("DELETE", f"/v1/memory/capsules/{gone['id']}", None)


def talk(call: Call) -> None:
    """With a server that has a language model; the rest needs none."""
    chat = call("POST", "/v1/chats", {"title": "The lighthouse"})["id"]
    call("POST", f"/v1/chats/{chat}/messages", {"content": "Who keeps the lighthouse?"})


def _fill_workspace(call: Call) -> None:
    workspace = call("POST", "/v1/workspaces", {"name": "Harbour office"})["id"]
    (chat,) = [each["id"] for each in _items(call, "/v1/chats")]
    call("PATCH", f"/v1/chats/{chat}", {"workspace_id": workspace})
    call("POST", f"/v1/workspaces/{workspace}/memories", {"content": "The lighthouse keeper is called Edda"})
    call("POST", f"/v1/chats/{chat}/memory", {"content": "The lamp is lit at dusk"})
    call("POST", f"/v1/workspaces/{workspace}/artifacts", {"name": "rota.md", "content": "Edda, then Finn, then Edda"})


def _fill_scope(call: Call) -> None:
    said = [
        ("Anna", "I adopted a puppy called Biscuit in June"),
        ("Ben", "My sister Clara moved to Lisbon last winter"),
    ]
    transcript = [
        {"speaker": speaker, "text": text, "ts": f"2026-05-0{day}T10:00:00Z"}
        for day, (speaker, text) in enumerate(said, 1)
    ]
    call("POST", "/v1/ingest", {"scope_id": "team", "transcript": transcript})


def _fill_room(call: Call) -> None:
    call("POST", "/v1/agents", {"slug": "harbour-master", "name": "Harbour master", "instructions": "Mind the tide."})
    room = call("POST", "/v1/rooms", {"name": "Pier", "agents": ["harbour-master"]})["id"]
    first = call("POST", f"/v1/rooms/{room}/messages", {"text": "High tide is at six tomorrow"})["id"]
    call("PATCH", f"/v1/rooms/{room}/messages/{first}", {"text": "High tide is at seven tomorrow"})
    call("POST", f"/v1/rooms/{room}/landmarks", {"text": "The pier is painted green"})
    call("PUT", f"/v1/facts/room/{room}/tide", {"value": "six"})
    call("PUT", f"/v1/facts/room/{room}/tide", {"value": "seven"})


def _fill_graph(call: Call) -> None:
    graph = call("POST", "/v1/graphs", {"name": "Boats"})["id"]
    boat = call(
        "POST", f"/v1/graphs/{graph}/nodes", {"content": "The boat Meridian was built in 1931", "node_type": "boat"}
    )
    owner = call("POST", f"/v1/graphs/{graph}/nodes", {"content": "Finn bought the Meridian", "node_type": "event"})
    call(
        "POST", f"/v1/graphs/{graph}/edges",
        {"from_id": owner["id"], "to_id": boat["id"], "edge_type": "about"},
    )  # fmt: skip


def found(call: Call) -> dict[str, Any]:
    """The same as the API tells it, to be compared with what another version told."""
    return {
        "capsules": _found_capsules(call),
        "workspaces": [_found_workspace(call, each) for each in _items(call, "/v1/workspaces")],
        "scope": _recalled(call, "Who has a puppy?") + _recalled(call, "Where does Clara live?"),
        "rooms": [_found_room(call, each) for each in _items(call, "/v1/rooms")],
        "graphs": [_found_graph(call, each["id"]) for each in _items(call, "/v1/graphs")],
        "store": call("GET", "/v1/stores/notes/items?namespace=trips&key=lisbon", None)["value"],
    }


def _items(call: Call, path: str) -> list[Any]:
    return call("GET", path, None)["items"]


def _found_capsules(call: Call) -> dict[str, Any]:
    (capsule,) = _items(call, "/v1/memory/capsules")
    return {
        "kept": (capsule["content_md"], capsule["tags"]),
        "found": [each["content_md"] for each in _items(call, "/v1/memory/capsules?q=ferry")],
        "history": [each["content_md"] for each in _items(call, f"/v1/memory/capsules/{capsule['id']}/history")],
        "trash": [each["content_md"] for each in _items(call, "/v1/memory/trash")],
    }


def _recalled(call: Call, asked: str) -> list[str]:
    body = {"scope_id": "team", "message": {"speaker": "Dora", "text": asked}, "min_relevance": 0, "limit": 1}
    return [each["text"] for each in call("POST", "/v1/recall", body)["evidence"]]


def _found_workspace(call: Call, workspace: Any) -> dict[str, Any]:
    path = f"/v1/workspaces/{workspace['id']}"
    chats = _items(call, f"/v1/chats?workspace_id={workspace['id']}")
    return {
        "name": workspace["name"],
        "memories": [each["content"] for each in _items(call, f"{path}/memories")],
        "chats": [
            (chat["title"], [said["content"] for said in _items(call, f"/v1/chats/{chat['id']}/messages")])
            for chat in chats
        ],
        "artifacts": [each["name"] for each in _items(call, f"{path}/artifacts")],
    }


def _found_room(call: Call, room: Any) -> dict[str, Any]:
    path = f"/v1/rooms/{room['id']}"
    (message,) = _items(call, f"{path}/messages")
    composed = call("POST", f"{path}/compose", {"agent": "harbour-master", "message": {"text": "When is high tide?"}})
    return {
        "name": room["name"],
        "message": message["text"],
        "wordings": [each["text"] for each in _items(call, f"{path}/messages/{message['id']}/history")],
        "landmarks": [each["text"] for each in _items(call, f"{path}/landmarks")],
        "fact": call("GET", f"/v1/facts/room/{room['id']}/tide", None)["value"],
        "values": [each["value"] for each in _items(call, f"/v1/facts/room/{room['id']}/tide/history")],
        "composed": all(part in str(composed) for part in ("High tide is at seven", "Mind the tide", "painted green")),
    }


def _found_graph(call: Call, graph: str) -> dict[str, Any]:
    nodes = {each["id"]: each["content"] for each in _items(call, f"/v1/graphs/{graph}/nodes")}
    return {
        "nodes": sorted(nodes.values()),
        "edges": [
            (nodes[each["from_id"]], each["edge_type"], nodes[each["to_id"]])
            for each in _items(call, f"/v1/graphs/{graph}/edges")
        ],
        "recalled": [
            each["content"]
            for each in call("POST", f"/v1/graphs/{graph}/recall", {"query": "Meridian built"})["results"][:1]
        ],
    }
