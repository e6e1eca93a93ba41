"""Texts and values that are hard to read: long tokens, near misses, depth, an index that grows with each step."""

from typing import Any

from bench.hold.attacks.raw import Met, Shot, Target, fire, shot, volley

KB = 1024
NEAR_MISSES = {
    "one letter": "a",
    "camel": "aB",
    "hex": "0123456789abcdef",
    "dates": "1/1/",
    "times": "12:",
    "links": "[](",
    "emphasis": "*_",
    "tags": "<a ",
    "comments": "<!--",
    "quotes": "> ",
    "sentences": "Mr. ",
    "addresses": "a@b.",
    "spaces": " \t",
    "joined": "\u200d",
    "accents": "e\u0301",
    "han": "\u6c34",
    "negations": "not ",
    "names": "Anna and ",
    "escapes": "\\",
    "tables": "|-",
}


def filled(piece: str, size: int) -> str:
    """About so many bytes of nothing else, and an end that matches nothing."""
    return piece * (size // len(piece.encode())) + "!"


def hostile(target: Target, until: float, met: Met) -> None:
    """Each kind on each way in, as large as the way allows."""
    volley(lambda half=half: fire(target, half, until, met) for half in _halves(texts(target)))


def _halves(shots: list[Shot]) -> tuple[list[Shot], list[Shot]]:
    return shots[::2], shots[1::2]


def texts(target: Target) -> list[Shot]:
    found: list[Shot] = []
    for name, piece in NEAR_MISSES.items():
        small, large = filled(piece, 30 * KB), filled(piece, 700 * KB)
        file = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}.html"\r\n\r\n{large}\r\n--x--\r\n'
        bodies: dict[str, Any] = {
            "/v1/ingest": {"scope_id": "storm", "transcript": [{"speaker": "Anna", "text": small}]},
            "/v1/recall": {"scope_id": "storm", "message": {"speaker": "Anna", "text": small}},
            "/v1/memory/capsules": {"content_md": large},
            "/v1/memory/capsules/title": {"content_md": large},
            "/v1/memory/capsules/curate": {"messages": [{"role": "user", "content": small}]},
            f"/v1/rooms/{target.room}/messages": {"text": small},
            f"/v1/graphs/{target.graph}/nodes": {"content": small},
            "/v3/memories/add/": {"messages": [{"role": "user", "content": small}], "user_id": "storm"},
        }
        found += [shot(target, "POST", path, body) for path, body in bodies.items()]
        kind = "multipart/form-data; boundary=x"
        found.append(shot(target, "POST", f"/v1/workspaces/{target.workspace}/files", file.encode(), kind=kind))
    return found


def index(target: Target, until: float, met: Met) -> None:
    """Few bytes whose reading doubles with each step."""
    item = {"namespace": ["storm"], "key": "a", "value": {"a": "ferry"}}
    shots = [shot(target, "PUT", "/v1/stores/storm/items", item | {"index": ["{a,a}" * steps]}) for steps in (20, 100)]
    fire(target, shots, until, met)


def nested(depth: int, inner: str = "1", opening: str = '{"a":', closing: str = "}") -> bytes:
    return (opening * depth + inner + closing * depth).encode()


def deep(target: Target, until: float, met: Met) -> None:
    """Bodies nested deeper than anybody means, and what is listed afterwards for everybody."""
    shots: list[Shot] = []
    for depth in (300, 5_000, 200_000):
        value = nested(depth).decode()
        lists = nested(depth, "1", "[", "]").decode()
        shots += [
            shot(target, method, path, body.encode())
            for method, path, body in (
                ("POST", "/v1/memory/capsules", f'{{"content_md":"deep","metadata":{value}}}'),
                ("POST", f"/v1/graphs/{target.graph}/nodes", f'{{"content":"deep","metadata":{value}}}'),
                ("POST", f"/v1/rooms/{target.room}/messages", f'{{"text":"deep","attachments":[{value}]}}'),
                ("PUT", f"/v1/facts/room/{target.room}/deep", f'{{"value":{lists}}}'),
                ("PUT", "/v1/stores/storm/items", f'{{"key":"deep","value":{value}}}'),
                ("POST", "/v1/ingest",
                 f'{{"scope_id":"storm","transcript":[{{"speaker":"a","text":"deep","metadata":{value}}}]}}'),
                ("POST", "/v3/memories/add/", f'{{"messages":"deep","user_id":"storm","metadata":{value}}}'),
                ("POST", "/v3/memories/search/", f'{{"query":"deep","filters":{value.replace("a", "NOT")}}}'),
                ("POST", "/v1/chat/completions", f'{{"model":"m","messages":[{{"role":"user","content":{lists}}}]}}'),
                ("POST", "/v1/memory/import", f'{{"capsules":{lists}}}'),
            )
        ]  # fmt: skip
    shots += [
        shot(target, "GET", path)
        for path in (
            "/v1/memory/capsules", f"/v1/graphs/{target.graph}/nodes", f"/v1/rooms/{target.room}/messages",
            f"/v1/facts?scope_kind=room&scope_id={target.room}", "/v1/stores/storm/items?key=deep",
        )
    ]  # fmt: skip
    fire(target, shots, until, met)
