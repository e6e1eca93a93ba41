"""The engine without a server: conversations in a temporary Postgres, cut, embedded and searched by `keepstone.engine`.

So that ablations and calibration measure what the server does, and nothing that was written for them. Embeddings are
kept below the system's temporary folder: only the first run is slow.
"""

import hashlib
import io
import os
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from bench import datasets
from keepstone.access.readscope import job_scope
from keepstone.access.users import create_user
from keepstone.engine import in_memory, lookup
from keepstone.engine.cutting import Source
from keepstone.engine.embed import embed_passages, read_before, store_embeddings
from keepstone.engine.gathered import CANDIDATES, NOTES, TALK, Gathered, SearchPlace, Style
from keepstone.engine.index import in_place, passages_of
from keepstone.engine.late import pack, unpack
from keepstone.engine.question import EmbeddedQuestion, Question, embed_for_spaces, embed_question
from keepstone.model.message import Message, NewPassage
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedder, Embedding, Span, Tokens
from keepstone.providers.embedders import Embedders
from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.use import Use
from keepstone.resident import View
from keepstone.resident.reading import read_whole
from keepstone.runtime import open_all
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.store import passages, spaces
from keepstone.store.db import Connection, enter

VISIBILITY = "private"
DAY = datetime(2024, 1, 1, 9, tzinfo=UTC)  # of what has no date: a turn a second


# ------------------------------------------------------------------------------------------------ the embeddings


class Cached:
    """An embedder that remembers. Of passages it keeps the signs of token vectors, which is all that the index keeps;
    of questions, `exact`, the whole.
    """

    def __init__(self, embedder: Embedder, fingerprint: bytes, file: sqlite3.Connection, *, exact: bool) -> None:
        self.name, self.dimension, self.multilingual = embedder.name, embedder.dimension, embedder.multilingual
        self.context = embedder.context
        self._embedder, self._file, self._exact = embedder, file, exact
        self._salt = hashlib.sha256(f"{embedder.name} {exact} ".encode() + fingerprint)
        file.execute("CREATE TABLE IF NOT EXISTS embeddings (key BLOB PRIMARY KEY, stored BLOB NOT NULL) WITHOUT ROWID")

    def cut(self, text: str) -> list[Span]:
        return self._embedder.cut(text)

    def close(self) -> None:
        self._embedder.close()

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        turns = list(zip(texts, before if before and self.context else [""] * len(texts), strict=True))
        keys = [self._key("passage", *turn) for turn in turns]
        stored = {key: row[0] for key in keys if (row := self._row(key))}
        missing = {key: turn for key, turn in zip(keys, turns, strict=True) if key not in stored}
        if missing:
            made = await self._embedder.embed(*map(list, zip(*missing.values(), strict=True)))
            stored |= self._keep(dict(zip(missing, made, strict=True)))
        return [self._unpack(stored[key]) for key in keys]

    async def embed_question(self, text: str) -> Embedding:
        key = self._key("question", text)
        row = self._row(key)
        return self._unpack(row[0] if row else self._keep({key: await self._embedder.embed_question(text)})[key])

    def _keep(self, made: Mapping[bytes, Embedding]) -> dict[bytes, bytes]:
        packed = {key: self._pack(embedding) for key, embedding in made.items()}
        with self._file:
            self._file.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", packed.items())
        return packed

    def _key(self, *parts: str) -> bytes:
        salted = self._salt.copy()
        salted.update("\0".join(parts).encode("utf-8", "surrogatepass"))
        return salted.digest()

    def _row(self, key: bytes) -> tuple[bytes] | None:
        return self._file.execute("SELECT stored FROM embeddings WHERE key = ?", [key]).fetchone()

    def _pack(self, embedding: Embedding) -> bytes:
        arrays: dict[str, npt.NDArray[Any]] = {"pooled": embedding.pooled.astype(np.float16)}
        if embedding.tokens is not None and self._exact:
            arrays |= {"vectors": embedding.tokens.vectors, "spans": np.array(embedding.tokens.spans, np.int64)}
        elif embedding.tokens is not None:
            arrays["signs"] = np.frombuffer(pack(embedding.tokens.vectors), np.uint8)
            arrays["dimensions"] = np.array(embedding.tokens.vectors.shape[1])
        written = io.BytesIO()
        np.savez(written, allow_pickle=False, **arrays)
        return written.getvalue()

    def _unpack(self, stored: bytes) -> Embedding:
        arrays = np.load(io.BytesIO(stored))
        tokens: Tokens | None = None
        if "vectors" in arrays:
            spans = tuple((int(start), int(end)) for start, end in arrays["spans"].reshape(-1, 2))
            tokens = Tokens(arrays["vectors"], spans)
        elif "signs" in arrays:
            # What was remembered before they were noted has 128.
            bits = unpack(arrays["signs"].tobytes(), int(arrays["dimensions"]) if "dimensions" in arrays else 128)
            tokens = Tokens(bits * 2 - 1, ())
        return Embedding(arrays["pooled"].astype(np.float32), tokens)


async def fingerprint(embedder: Embedder) -> bytes:
    """Of what the embedder gives, not of its files: those may change while it runs."""
    [probe] = await embedder.embed(["Caroline: I painted the lake in Zürich on 7 May 2023"])
    vectors = [probe.pooled] if probe.tokens is None else [probe.pooled, probe.tokens.vectors.ravel()]
    return (np.concatenate(vectors).round(2) + 0.0).astype(np.float32).tobytes()


# -------------------------------------------------------------------------------------------------- the spaces


@dataclass(frozen=True)
class Loaded:
    """A collection in its space."""

    turns: list[datasets.Turn]
    passages: list[NewPassage]
    place: SearchPlace
    style: Style
    now: datetime

    def turn(self, source_id: str) -> datasets.Turn:
        """The id of a source in the database is its space and the number of its turn."""
        return self.turns[int(source_id.partition(".")[2])]


@dataclass(frozen=True)
class Laboratory:
    services: Services
    asking: tuple[Embedder, Embedder]
    indexing: tuple[Embedder, Embedder]
    account: int
    numbers: "count[int]"

    async def load(self, collection: datasets.Collection) -> Loaded:
        """Talk is stored as `ingest` does it, paragraphs as notes are."""
        talk = any(turn.speaker for turn in collection.turns)
        kind = "message" if talk else "memory"
        messages = [
            Message(
                id=str(number), client_id=None, speaker=turn.speaker, text=turn.text,
                at=turn.at or DAY + timedelta(seconds=number), reply_to=None, metadata={},
            )
            for number, turn in enumerate(collection.turns)
        ]  # fmt: skip
        sources = [
            Source(kind=kind, id=one.id, text=one.text, at=one.at, speaker=one.speaker or None, dated=talk)
            for one in messages
        ]
        cut = await passages_of(self.services, sources, embedders=self.indexing, visibility=VISIBILITY)
        cut = in_place(cut, messages, None, {}) if talk else cut
        async with self.services.db.transaction(ReadScope(account=self.account)) as conn:
            place = await self._fill(conn, cut)
        return Loaded(collection.turns, cut, place, TALK if talk else NOTES, max(one.at for one in messages))

    async def _fill(self, conn: Connection, cut: Sequence[NewPassage]) -> SearchPlace:
        """A new space with these passages, and with their vectors."""
        space = await spaces.hold(conn, kind="scope", name=f"bench {next(self.numbers)}", owner=None)
        scope = job_scope(self.account, space)
        await enter(conn, scope)
        await passages.insert(conn, space, [replace(part, source_id=f"{space}.{part.source_id}") for part in cut])
        await self._embed(conn, space, len(cut))
        return await lookup.survey(conn, scope)

    async def _embed(self, conn: Connection, space: int, most: int) -> None:
        """Vectors of what has none yet, as the server's job makes them."""
        waiting = await passages.pending(conn, space, limit=most)
        numbers = [row.passage for row in waiting]
        before = await read_before(conn, space, numbers, self.indexing)
        for embedder in self.indexing:
            made = await embed_passages(embedder, waiting, before)
            await store_embeddings(conn, space, embedder.name, list(zip(numbers, made, strict=True)))
        await passages.mark_embedded(conn, space, numbers)

    @asynccontextmanager
    async def only(self, loaded: Loaded, kept: Collection[int]) -> AsyncGenerator[tuple[Connection, SearchPlace]]:
        """As if only these turns had been said. Nothing of it stays."""
        async with self.services.db.transaction(loaded.place.scope) as conn, conn.transaction():
            place, wanted = loaded.place, set(kept)
            gone = [f"{place.space}.{number}" for number in range(len(loaded.turns)) if number not in wanted]
            if len(gone) > len(wanted):
                place = await self._fill(conn, [part for part in loaded.passages if int(part.source_id) in wanted])
            elif gone:
                await passages.delete(conn, loaded.passages[0].source_kind, gone)
                await self._embed(conn, place.space, len(wanted))
                place = await lookup.survey(conn, place.scope)
            yield conn, place
            raise psycopg.Rollback

    async def embed(self, loaded: Loaded, question: datasets.Question) -> EmbeddedQuestion:
        """As a recall does."""
        asked = Question(text=question.text, speaker=question.asker, asked_at=question.now or loaded.now)
        embedded = await embed_question(self.services, asked)
        return await embed_for_spaces(self.services, embedded, loaded.place.size)


@dataclass(frozen=True)
class _OneConnection:
    """For whoever opens transactions, the one that is running: what it has not committed is seen, too."""

    conn: Connection

    @asynccontextmanager
    async def transaction(self, scope: ReadScope) -> AsyncGenerator[Connection]:
        await enter(self.conn, scope)
        yield self.conn


async def views(conn: Connection, place: SearchPlace) -> list[View]:
    """The place as it stands in a server's memory when it is asked."""
    db: Any = _OneConnection(conn)
    sets = place.size.sets.values()
    read = [await read_whole(db, place.scope.whole, space, sets) for space in place.size.versions if space.passages]
    return [arrays.view() for arrays in read]


async def look(
    conn: Connection, place: SearchPlace, asked: EmbeddedQuestion, style: Style, seen: Sequence[View] | None = None
) -> Gathered:
    """The candidates, as a search finds them."""
    seen = await views(conn, place) if seen is None else seen
    return await in_memory.gather(conn, seen, place, asked, style, count=CANDIDATES, enough=CANDIDATES)


@asynccontextmanager
async def laboratory(models: Path, encoder: Path = BUILTIN) -> AsyncGenerator[Laboratory]:
    folder = Path(tempfile.gettempdir()) / f"keepstone-bench-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = sqlite3.connect(folder / "embeddings.sqlite", timeout=60)
    embedders = (Encoder(encoder), Use(models))
    prints = [await fingerprint(embedder) for embedder in embedders]

    def cached(*, exact: bool) -> tuple[Embedder, Embedder]:
        english, other = (Cached(*made, file, exact=exact) for made in zip(embedders, prints, strict=True))
        return english, other

    asking = cached(exact=True)
    with tempfile.TemporaryDirectory(prefix="keepstone-bench-") as home:
        async with open_all(Settings(home=Path(home), log_level="WARNING")) as services:
            user = await create_user(services, email="bench@example.org")
            searching = replace(services, embedders=Embedders(asking))
            yield Laboratory(searching, asking, cached(exact=False), user.account, count(1))
    for embedder in embedders:
        embedder.close()
    file.close()
