"""More of what is allowed than one account should get: many clients, long work in the background, heavy filters."""

import socket
import time
from itertools import cycle

from bench.hold.attacks.raw import PATIENCE, Met, Shot, Target, fire, once, read_answer, shot, volley

CLIENTS = 50
FILTERS = 190


def many(target: Target, until: float, met: Met) -> None:
    """Fifty clients of one account, each with a kept connection and no pause."""
    transcript = [{"speaker": "Anna", "text": "The ferry to the island leaves at nine."}]
    shots = [
        shot(target, "POST", "/v1/recall", {"scope_id": "crowd", "message": {"speaker": "Ben", "text": "the ferry"}}),
        shot(target, "POST", "/v1/ingest", {"scope_id": "crowd", "transcript": transcript}),
        shot(target, "GET", "/v1/memory/capsules?q=ferry&mode=hybrid"),
        shot(target, "POST", "/v1/ask", {"scope_id": "crowd", "question": "When does the ferry leave?"}),
        shot(target, "POST", "/v1/memory/capsules", {"content_md": "The ferry is red."}),
    ]
    volley(
        lambda first=first: kept(target, shots[first % 5 :] + shots[: first % 5], until, met)
        for first in range(CLIENTS)
    )


def kept(target: Target, shots: list[Shot], until: float, met: Met) -> None:
    """Round after round on one connection, as long as the server keeps it."""
    rounds = cycle(shots)
    while time.monotonic() < until:
        try:
            with socket.create_connection(target.address, timeout=PATIENCE) as stream:
                while time.monotonic() < until:
                    each = next(rounds)
                    stream.sendall(each.data)
                    status, body = read_answer(stream)
                    met.take(each.route, status, body)
                    if not status:
                        break
        except OSError:
            met.statuses[0] += 1
            time.sleep(0.05)


def backlog(target: Target, until: float, met: Met) -> None:
    """A text file of 3 MB, which takes minutes to embed, and then another, and messages that want to be read."""
    path = f"/v1/workspaces/{target.workspace}/files"
    shots: list[Shot] = []
    for number in range(3):
        text = " ".join(f"The ferry {line} of line {number} leaves at {line % 24}." for line in range(90_000))[
            : 3 << 20
        ]
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{number}.txt"\r\n\r\n'
        body = f"{head}{text}\r\n--x--\r\n".encode()
        shots.append(shot(target, "POST", path, body, kind="multipart/form-data; boundary=x"))
    said = [{"speaker": "Anna", "text": f"My sister {number} moved to Lisbon."} for number in range(200)]
    shots.append(shot(target, "POST", "/v1/ingest", {"scope_id": "backlog", "transcript": said}))
    for each in shots:
        once(target, each, met)
    time.sleep(max(0.0, until - time.monotonic()))


def filters(target: Target, until: float, met: Met) -> None:
    """Eight megabytes of texts, and searches that look through all of them once for each of 190 words."""
    begun = time.monotonic()
    for number in range(8):
        texts = [f"text {number} {each} " + "lorem ipsum dolor sit amet " * 2_400 for each in range(16)]
        said = [{"role": "user", "content": text} for text in texts]
        once(
            target,
            shot(target, "POST", "/v3/memories/add/", {"messages": said, "user_id": "filters", "infer": False}),
            met,
        )
    words = [{"memory": {"icontains": f"no such word {number}"}} for number in range(FILTERS)]
    asked = {"filters": {"AND": [{"user_id": "filters"}, {"OR": words}]}}
    shots = [
        shot(target, "POST", "/v3/memories/search/", asked | {"query": "lorem"}),
        shot(target, "POST", "/v3/memories/", asked),
    ]
    until += time.monotonic() - begun  # the texts are no part of the attack
    volley(lambda: fire(target, shots, until, met) for _ in range(8))
