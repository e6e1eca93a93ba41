"""Vectors: which models have a set in the account, the vectors themselves, and the indexes of large spaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from keepstone.store import changes
from keepstone.store.arrays import bigints, byte_strings, reals
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_dict, fetch_value, select_rows, select_value

Vector = NDArray[np.float32]

WIDEST_INDEXED = 4000  # dimensions, as the extension has it
_BYTES_EACH = 1500  # of a vector in an index that is being made; if they don't all fit, it takes far longer
_MOST_MEMORY = 1024  # MB


async def without_vectors(conn: Connection, space: int, vector_set: int, passages: Sequence[int]) -> set[int]:
    """Which of these have no vector in the set. Each is looked up by its key: OFFSET 0 keeps it so."""
    lacking = await fetch_column(
        conn,
        """
        SELECT i.passage FROM unnest(%(passages)s::bigint[]) AS i (passage)
         WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.account = %(account)s AND v.space = %(space)s
                                                    AND v.vector_set = %(set)s AND v.passage = i.passage OFFSET 0)
        """,
        {"passages": list(passages), "space": space, "set": vector_set},
    )
    return set(lacking)


async def vector_set(conn: Connection, model: str, dimension: int, *, instead_of: Sequence[str] = ()) -> int:
    """The number of this model's set in the account, made when it was not there. Where one of those serves that it is
    to take the place of, it is only being filled at first.
    """
    wanted = {"model": model, "dimension": dimension}
    while True:
        number = await select_value(conn, "vector_sets", "vector_set", wanted)
        if number is not None:
            return number
        # Of two models that come at once, one gets the number and the other asks again.
        await conn.execute(
            """
            INSERT INTO vector_sets (account, vector_set, model, dimension, state, lacking)
            SELECT %(account)s, coalesce(max(vector_set), 0) + 1, %(model)s, %(dimension)s,
                   CASE WHEN bool_or(state = 'serving' AND model = ANY(%(before)s)) THEN 'filling' ELSE 'serving' END,
                   (SELECT coalesce(sum(passages), 0) FROM spaces WHERE account = %(account)s)
              FROM vector_sets WHERE account = %(account)s
            ON CONFLICT DO NOTHING
            """,
            {**wanted, "before": list(instead_of)},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSet:
    """The vectors of a model. While it is filled, it has come so far."""

    vector_set: int
    model: str
    state: str
    reached_space: int
    reached_passage: int


async def vector_sets(conn: Connection) -> dict[str, VectorSet]:
    """Those of the account, by their model, whatever their state."""
    return {known.model: known for known in await select_rows(conn, VectorSet, "vector_sets", {})}


async def store_vectors(
    conn: Connection, space: int, vector_set: int, vectors: Mapping[int, Vector], tokens: Mapping[int, bytes]
) -> None:
    """Of passages that are still there; done twice it changes nothing. The caller holds the space's row."""
    await changes.note(conn, space, list(vectors))
    await conn.execute(
        """
        INSERT INTO vectors (account, space, vector_set, passage, embedding)
        SELECT p.account, p.space, %(set)s, p.passage,
               (%(values)s::real[])[(i.number - 1) * %(dimension)s + 1 : i.number * %(dimension)s]::halfvec
          FROM unnest(%(passages)s::bigint[]) WITH ORDINALITY AS i (passage, number)
          JOIN passages p ON p.account = %(account)s AND p.space = %(space)s AND p.passage = i.passage
        ON CONFLICT (account, space, vector_set, passage) DO UPDATE SET embedding = excluded.embedding
        """,
        {
            "space": space,
            "set": vector_set,
            "passages": bigints(list(vectors)),
            "values": reals(np.stack(list(vectors.values()))),
            "dimension": len(next(iter(vectors.values()))),
        },
    )
    if tokens:
        await conn.execute(
            """
            INSERT INTO token_vectors (account, space, vector_set, passage, tokens)
            SELECT p.account, p.space, %(set)s, p.passage, i.value
              FROM unnest(%(passages)s::bigint[], %(values)s::bytea[]) AS i (passage, value)
              JOIN passages p ON p.account = %(account)s AND p.space = %(space)s AND p.passage = i.passage
            ON CONFLICT (account, space, vector_set, passage) DO UPDATE SET tokens = excluded.tokens
            """,
            {
                "space": space,
                "set": vector_set,
                "passages": bigints(list(tokens)),
                "values": byte_strings(list(tokens.values())),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVector:
    """Of a passage that was just stored: the id of its source, and which part of that it is."""

    source_id: str
    part: int
    vector: Vector
    tokens: bytes | None


async def store_new(
    conn: Connection, space: int, of_model: tuple[str, int], source_kind: str, made: Sequence[NewVector]
) -> bool:  # fmt: skip
    """`of_model` is its name and dimension; false, and nothing done, if that has no set in the account yet. The caller
    holds the space's row.
    """
    return bool(
        await fetch_value(
            conn,
            """
            WITH those AS MATERIALIZED (
                SELECT p.passage, s.vector_set, g.number, g.tokens
                  FROM unnest(%(ids)s::text[], %(parts)s::bigint[], %(tokens)s::bytea[])
                       WITH ORDINALITY AS g (id, part, tokens, number)
                  JOIN passages p ON p.account = %(account)s AND p.source_kind = %(kind)s
                                 AND p.source_id = g.id AND p.part = g.part::int AND p.space = %(space)s
                 CROSS JOIN vector_sets s
                 WHERE s.account = %(account)s AND s.model = %(model)s AND s.dimension = %(dimension)s
            ), pooled AS (
                INSERT INTO vectors (account, space, vector_set, passage, embedding)
                SELECT %(account)s, %(space)s, vector_set, passage,
                       (%(values)s::real[])[(number - 1) * %(dimension)s + 1 : number * %(dimension)s]::halfvec
                  FROM those
                ON CONFLICT (account, space, vector_set, passage) DO UPDATE SET embedding = excluded.embedding
            ), by_token AS (
                INSERT INTO token_vectors (account, space, vector_set, passage, tokens)
                SELECT %(account)s, %(space)s, vector_set, passage, tokens FROM those WHERE tokens IS NOT NULL
                ON CONFLICT (account, space, vector_set, passage) DO UPDATE SET tokens = excluded.tokens
            ), counted AS (
                UPDATE spaces SET version = version + 1
                 WHERE account = %(account)s AND space = %(space)s AND EXISTS (SELECT 1 FROM those) RETURNING version
            )
            INSERT INTO space_changes (account, space, version, passages)
            SELECT %(account)s, %(space)s, version, ARRAY(SELECT passage FROM those) FROM counted
            RETURNING true
            """,
            {
                "space": space, "kind": source_kind, "model": of_model[0], "dimension": of_model[1],
                "ids": [one.source_id for one in made], "parts": bigints([one.part for one in made]),
                "values": reals(np.stack([one.vector for one in made])),
                "tokens": byte_strings([one.tokens for one in made]),
            },
        )
    )  # fmt: skip


async def near_since(
    conn: Connection, space: int, vector_set: int, vector: Vector, passages: Sequence[int], versions: tuple[int, int]
) -> dict[int, float] | None:
    """How near these passages are in meaning, and whatever changed in the space from the one version to the other; None
    where that is forgotten.
    """
    near = await fetch_dict(
        conn,
        """
        WITH changed AS MATERIALIZED (
            SELECT passages FROM space_changes
             WHERE account = %(account)s AND space = %(space)s AND version > %(since)s
        )
        SELECT 0, count(*)::real FROM changed
        UNION ALL
        SELECT v.passage, -(v.embedding <#> %(vector)s::halfvec)
          FROM (SELECT unnest(%(passages)s::bigint[]) UNION SELECT unnest(passages) FROM changed) AS these (passage)
          JOIN vectors v ON v.account = %(account)s AND v.space = %(space)s AND v.vector_set = %(set)s
           AND v.passage = these.passage
        """,
        {
            "passages": list(passages),
            "since": versions[0],
            "space": space,
            "set": vector_set,
            "vector": literal(vector),
        },
    )
    complete = near.pop(0) == versions[1] - versions[0]
    return dict(sorted(near.items(), key=lambda item: -item[1])) if complete else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSize:
    """A set of vectors that a space has no index for."""

    vector_set: int
    dimension: int
    passages: int


async def without_index(conn: Connection, space: int, *, at_least: int, state: str = "serving") -> list[SetSize]:
    """The sets of this state that a space of this size and more should have an index for, and has not."""
    return await fetch_all(
        conn,
        SetSize,
        """
        SELECT v.vector_set, v.dimension, s.passages FROM spaces s JOIN vector_sets v USING (account)
         WHERE s.account = %(account)s AND s.space = %(space)s AND s.passages >= %(least)s AND v.state = %(state)s
           AND v.dimension <= %(widest)s AND v.vector_set <> ALL (s.indexed_sets)
        """,
        {"space": space, "least": at_least, "widest": WIDEST_INDEXED, "state": state},
    )


def index_name(space: int, missing: SetSize) -> str:
    return f"near_{space}_{missing.vector_set}"


async def build_index(owner: Connection, space: int, missing: SetSize) -> None:
    """Beside everything else that goes on, but for another who builds the same: the caller is alone at it.

    `owner` is a connection outside of any transaction that may create indexes.
    """
    if not owner.pooled:  # who sets something in a session of a pooler's sets it for others
        memory = min(_MOST_MEMORY, 16 + missing.passages * _BYTES_EACH // 1_000_000)
        await owner.execute("SELECT set_config('maintenance_work_mem', %(size)s, false)", {"size": f"{memory}MB"})
        # Workers would share the memory through /dev/shm, which is small in a container.
        await owner.execute("SET max_parallel_maintenance_workers = 0")
    # What an attempt that was cut off has left is not usable.
    await drop_indexes(owner, [index_name(space, missing)])
    extension = await fetch_value(
        owner,
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'vector'",
    )
    await owner.execute(
        sql.SQL(
            "CREATE INDEX CONCURRENTLY {name} ON keepstone.vectors"
            " USING hnsw ((embedding::{halfvec}({dimension})) {products}) WHERE space = {space} AND vector_set = {set}"
        ).format(
            name=sql.Identifier(index_name(space, missing)),
            halfvec=sql.Identifier(extension, "halfvec"),
            products=sql.Identifier(extension, "halfvec_ip_ops"),
            dimension=sql.Literal(missing.dimension),
            space=sql.Literal(space),
            set=sql.Literal(missing.vector_set),
        )
    )


async def note_index(conn: Connection, space: int, vector_set: int) -> None:
    """From now on the space is searched through it."""
    await conn.execute(
        """
        UPDATE spaces SET indexed_sets = indexed_sets || %(set)s::smallint
         WHERE account = %(account)s AND space = %(space)s AND %(set)s <> ALL (indexed_sets)
        """,
        {"set": vector_set, "space": space},
    )


async def unused_indexes(conn: Connection) -> list[str]:
    """Names of those whose spaces are gone, or whose sets were retired a minute ago. Needs no scope."""
    return await fetch_column(conn, "SELECT unused_indexes()")


async def drop_indexes(owner: Connection, names: Sequence[str]) -> None:
    for name in names:
        await owner.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier("keepstone", name)))


# ---------------------------------------------------------------------------- one set takes the place of another


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """A model whose vectors are being made beside those that serve: in how many accounts, and for how many passages
    about they are still to be made.
    """

    model: str
    accounts: int
    lacking: int


async def filling(conn: Connection) -> list[Filling]:
    """Needs no scope."""
    return await fetch_all(conn, Filling, "SELECT * FROM filling_models()")


async def serving_models(conn: Connection) -> set[str]:
    """Those that serve in any account. Needs no scope."""
    return set(await fetch_column(conn, "SELECT serving_models()"))


async def accounts_served_by(conn: Connection, models: Sequence[str], *, but_not: str) -> list[int]:
    """Accounts in which one of these models serves, and not that one yet. Needs no scope."""
    return await fetch_column(
        conn, "SELECT accounts_served_by(%(models)s, %(other)s)", {"models": list(models), "other": but_not}
    )


async def large_spaces(conn: Connection, *, at_least: int) -> list[int]:
    return await fetch_column(
        conn,
        "SELECT space FROM spaces WHERE account = %(account)s AND passages >= %(least)s ORDER BY space",
        {"least": at_least},
    )


async def next_space(conn: Connection, space: int) -> int | None:
    """The first from this one on that has something to find."""
    return await fetch_value(
        conn,
        "SELECT min(space) FROM spaces WHERE account = %(account)s AND space >= %(space)s AND passages > 0",
        {"space": space},
    )


async def note_reached(conn: Connection, vector_set: int, space: int, passage: int, *, made: int = 0) -> None:
    """The set is filled up to there."""
    await conn.execute(
        """
        UPDATE vector_sets SET reached_space = %(space)s, reached_passage = %(passage)s,
                               lacking = greatest(lacking - %(made)s, 0)
         WHERE account = %(account)s AND vector_set = %(set)s AND state = 'filling'
        """,
        {"set": vector_set, "space": space, "passage": passage, "made": made},
    )


async def take_over(conn: Connection, model: str, former: Sequence[str], *, large: int) -> bool:
    """From now on the account is searched by this model, and by those no more; false if something that they know is not
    there yet, or the index of a space of that size.
    """
    return await fetch_value(
        conn,
        "SELECT take_over(%(account)s, %(model)s, %(former)s, %(large)s, %(widest)s)",
        {"model": model, "former": list(former), "large": large, "widest": WIDEST_INDEXED},
    )


async def delete_retired(conn: Connection, account: int | None, *, most: int) -> int:
    """Some vectors of sets that were retired a minute ago, of this account or of all. Returns how many; needs no
    scope.
    """
    where = {"of_account": account, "most": most}
    return await fetch_value(conn, "SELECT delete_retired_vectors(%(of_account)s, %(most)s)", where)


def literal(vector: Vector) -> str:
    return "[" + ",".join(f"{value:.5g}" for value in vector.tolist()) + "]"
