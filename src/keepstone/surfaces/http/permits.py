"""What a limited key may call: the one place that says it, from the route table, for every route there is.

A route's tag says which surface it is of, its method whether it writes. A new route writes unless it is a GET or stands
among `READS`; one with a tag that is not known here is for credentials without limits alone.
"""

from collections.abc import Mapping, Sequence

from fastapi import Request

from keepstone.disk import Disk
from keepstone.errors import Forbidden
from keepstone.model.principal import KeySurface, Reach

SURFACES: Mapping[str, KeySurface] = {
    "capsules": "capsules",
    "workspaces": "workspaces",
    "chats": "workspaces",
    "chat memory": "workspaces",
    "documents": "workspaces",
    "openai": "openai",
    "rooms": "rooms",
    "projects": "projects",
    "facts": "facts",
    "graphs": "graphs",
    "scopes": "scopes",
    "stores": "stores",
    "mem0": "mem0",
    "traces": "traces",
    **dict.fromkeys(("account", "keys", "usage", "auth", "console", "health"), "account"),
}
# They take a body and change nothing that a person keeps. What MCP and a batch do depends on the body: each asks there.
READS = frozenset(
    {
        "recall", "ask", "make_title", "curate", "compose", "compose_direct", "recall_nodes", "search_items",
        "list_item_namespaces", "run_batch", "embeddings", "completions", "moderations", "generate_images",
        "edit_images", "vary_images", "speak", "transcribe", "translate", "rerank", "count_input_tokens",
        "compact_response", "mem0_search", "mem0_list", "mem0_trash", "mcp", "graph_mcp",
    }
)  # fmt: skip
# They make room.
FREEING = frozenset({"delete_all"})
# Whoever has a credential may know whose it is, and make a token that reaches as far.
OPEN = frozenset({"me", "token", "logout", "logout_form"})
# Over all surfaces at once: each shows and changes what the key is for, and nothing else.
ACROSS = frozenset({"list_memory", "count_memory", "get_memory", "list_trash", "count_trash", "restore_trash", "find"})
# What is left to whoever has to set up a second factor first.
_ENROLMENT = frozenset({"second_factor", "enrol_second_factor", "confirm_second_factor"})
# What a key may change of the account although it is limited: keys that reach no further than itself.
_KEYS = frozenset({"create_key", "revoke_key"})
# In no space, and the whole account's, or of all accounts.
_OF_ALL = frozenset(
    {
        "create_agent", "change_agent", "delete_agent", "list_kept", "create_kept", "get_kept", "change_kept",
        "delete_kept",
    }
)  # fmt: skip


def permit(request: Request, reach: Reach) -> None:
    """Let the request pass if the key it came with may call this route."""
    route = request.scope.get("route")
    name, tags = getattr(route, "name", ""), getattr(route, "tags", ())
    if reach.whole or name in OPEN:
        return
    if reach.nothing:
        if name in _ENROLMENT:
            return
        raise Forbidden(
            "Owners and admins need a second factor here: set one up in the settings, or with POST /auth/totp.",
            code="totp_enrolment_required",
        )
    surface = next((SURFACES[tag] for tag in tags if tag in SURFACES), None)
    across = name in ACROSS and "memory" in tags
    if reach.surfaces is not None and surface not in reach.surfaces and not across:
        raise Forbidden(
            f"This key is for {', '.join(sorted(reach.surfaces))} alone: use one that may do this too.",
            code="outside_key",
        )
    if writes(request.method, name):
        reach.require_write()
    of_account = surface == "account" and writes(request.method, name) and name not in _KEYS
    of_no_space = reach.spaces is not None and (surface == "account" or name in _OF_ALL)
    if (surface is None and not across) or of_account or of_no_space:
        raise Forbidden("A key that is limited can't do this: use one without limits, or sign in.", code="outside_key")


def require_disk(request: Request, disk: Disk) -> None:
    """Let the request pass if it stores nothing, or there is room for it."""
    route = request.scope.get("route")
    if needs_disk(request.method, getattr(route, "name", ""), getattr(route, "tags", ())):
        disk.require_room()


def needs_disk(method: str, name: str, tags: Sequence[str]) -> bool:
    """A deletion makes room, and a change of the account takes next to none. What a model's turn keeps, and what MCP
    and a batch do, asks for itself.
    """
    apart = any(SURFACES.get(tag) in {"account", "openai"} for tag in tags)
    return method != "DELETE" and writes(method, name) and name not in FREEING and not apart


def writes(method: str, name: str) -> bool:
    return method not in {"GET", "HEAD", "OPTIONS"} and name not in READS
