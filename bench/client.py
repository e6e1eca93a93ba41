"""A small HTTP client for latencies: one kept connection for each thread, and little work of its own.

httpx takes about a millisecond of its own for each request, which is much beside what is measured here.
"""

import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

WARM_UP = 10


class Client:
    def __init__(self, url: str, headers: dict[str, str] | None = None, patience: float = 600) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=patience)
        self._headers = {"Content-Type": "application/json"} | (headers or {})

    def post(self, path: str, body: Any) -> Any:
        return self._call("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> Any:
        return self._call("GET", path, None)

    def close(self) -> None:
        self._connection.close()

    def answer(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status and body, whatever they are. After a fault the next call connects anew."""
        try:
            self._connection.request(method, path, body, self._headers | (headers or {}))
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def _call(self, method: str, path: str, body: bytes | None) -> Any:
        status, content = self.answer(method, path, body)
        if status >= 400:
            raise RuntimeError(f"{method} {path} answered {status}: {content[:300].decode(errors='replace')}")
        return json.loads(content)


def timed(calls: Sequence[Callable[[], object]], warm_up: int = WARM_UP) -> list[float]:
    """Seconds that each call took, without the first few."""
    seconds: list[float] = []
    for call in calls:
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return seconds[min(warm_up, len(seconds) // 2) :]


def together(make: Callable[[], Client], path: str, bodies: Sequence[Any], clients: int) -> tuple[list[float], float]:
    """The bodies posted by so many clients at once: all latencies, and requests a second over the whole time."""
    found: list[list[float]] = [[] for _ in range(clients)]
    faults: list[BaseException] = []

    def work(number: int) -> None:
        client = make()
        try:
            calls = [lambda body=body: client.post(path, body) for body in bodies[number::clients]]
            found[number] = timed(calls, warm_up=2 if clients > 1 else WARM_UP)
        except (OSError, RuntimeError, http.client.HTTPException) as fault:
            faults.append(fault)
        finally:
            client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return [second for several in found for second in several], len(bodies) / (time.perf_counter() - begun)
