"""The floor that the memory engine is compared with: bm25s and MiniLM by numpy, fused by their ranks.

In process for quality; for speed behind HTTP in a process of its own, which also speaks OpenAI's protocol for
embeddings, so that others can use the same weights.

    python -m bench.baseline --models FOLDER --port 0
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
import uvicorn
from snowballstemmer.english_stemmer import EnglishStemmer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bench.client import Client
from bench.minilm import minilm
from keepstone.providers.encoder import Encoder

Vectors = npt.NDArray[np.float32]
FLOOR = "bm25s and MiniLM by numpy"
TOP = 100
FUSION = 60.0


class Floor:
    """Everything is in memory. bm25s has no adding: what is new makes the next search index all of it again."""

    def __init__(self, embedder: Encoder) -> None:
        self.embedder = embedder
        self._words: list[list[str]] = []
        self._vectors: Vectors = np.zeros((0, self.embedder.dimension), np.float32)
        self._new: list[Vectors] = []
        self._terms: Any = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([each.pooled for each in await self.embedder.embed(texts)])

    async def add(self, texts: Sequence[str], vectors: Vectors | None = None) -> None:
        self._new.append(await self.embed(texts) if vectors is None else vectors)
        self._words += _words(texts)
        self._terms = None

    async def search(self, text: str, limit: int) -> list[int]:
        """The numbers of the best texts, in the order in which they were added."""
        if self._terms is None:
            self._terms = self._index()
        by_words = self._terms.get_scores(_words([text])[0])
        by_meaning = self._vectors @ (await self.embed([text]))[0]
        fused: dict[int, float] = {}
        for scores in (by_words, by_meaning):
            for place, number in enumerate(_best(scores, TOP)):
                if scores[number] > 0:
                    fused[number] = fused.get(number, 0.0) + 1.0 / (FUSION + place)
        return sorted(fused, key=lambda number: -fused[number])[:limit]

    def _index(self) -> Any:
        self._vectors = np.concatenate([self._vectors, *self._new])
        self._new = []
        made: Any = bm25s.BM25()
        made.index(self._words, show_progress=False)
        return made


def _words(texts: Sequence[str]) -> list[list[str]]:
    stem = EnglishStemmer().stemWords
    found: Any = bm25s.tokenize(list(texts), stopwords="en", stemmer=stem, return_ids=False, show_progress=False)
    return found


def _best(scores: npt.NDArray[np.float32], size: int) -> list[int]:
    size = min(size, len(scores))
    chosen = np.argpartition(-scores, size - 1)[:size]
    return chosen[np.argsort(-scores[chosen], kind="stable")].tolist()


def make_app(floor: Floor) -> Starlette:
    async def add(request: Request) -> JSONResponse:
        body = await request.json()
        await floor.add(body["texts"])
        return JSONResponse({"added": len(body["texts"])})

    async def load(request: Request) -> JSONResponse:
        folder = Path((await request.json())["folder"])
        texts: list[str] = json.loads((folder / "texts.json").read_text())
        await floor.add(texts, np.load(folder / "vectors.npy").astype(np.float32, copy=False))
        await floor.search("anything", 1)
        return JSONResponse({})

    async def search(request: Request) -> JSONResponse:
        body = await request.json()
        return JSONResponse({"found": await floor.search(body["text"], body["limit"])})

    async def embeddings(request: Request) -> JSONResponse:
        asked = (await request.json())["input"]
        vectors = await floor.embed([asked] if isinstance(asked, str) else asked)
        data = [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return JSONResponse({"object": "list", "model": "minilm", "data": data, "usage": usage})

    paths = {"/add": add, "/load": load, "/search": search, "/v1/embeddings": embeddings}
    return Starlette(routes=[Route(path, handler, methods=["POST"]) for path, handler in paths.items()])


class FloorServer:
    """The floor in a process of its own, on loopback."""

    def __init__(self, models: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "bench.baseline", "--models", str(models), "--port", str(port)]
        self.process = subprocess.Popen(command, cwd=Path(__file__).parent.parent, env=dict(os.environ))
        while True:
            try:
                self.client().post("/v1/embeddings", {"input": "ready?"})
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("the floor's server did not start") from None
                time.sleep(0.05)
            else:
                return

    def client(self) -> Client:
        return Client(self.url)

    def memory(self) -> float:
        """Proportional set size in MB."""
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    config = uvicorn.Config(
        make_app(Floor(minilm(given.models))), host="127.0.0.1", port=given.port, log_level="warning"
    )
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()
