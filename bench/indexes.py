"""What the indexes of large spaces cost everybody else: how long it takes to store vectors, by how many there are.

    python -m bench.indexes --home /var/tmp/load

On a home that `bench.load --keep` has left. Each large space has an index of its own on the one table of vectors, and
whoever stores one opens them all. The indexes made here are of spaces that are not there; at the end they are dropped.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from bench import bulk
from bench.figures import tabled
from bench.ground import opened

COUNTS = (0, 100, 300, 1_000)
ROUNDS = 40
SLICE = 32  # vectors stored at once: a slice of the job that embeds
_STORE = """
    INSERT INTO vectors (account, space, vector_set, passage, embedding)
    SELECT account, space, vector_set, passage + 1000000000000, embedding FROM vectors
     WHERE account = %s AND space = %s AND vector_set = %s LIMIT %s
"""


def measured(conninfo: str) -> Iterator[tuple[int, float]]:
    """So many further indexes, and the milliseconds of a slice."""
    there = 0
    with bulk.connect(conninfo) as conn:
        place = conn.execute(
            "SELECT v.account, v.space, v.vector_set, vector_dims(v.embedding) FROM vectors v LIMIT 1"
        ).fetchone()
        assert place is not None, "there are no vectors in this home"
        try:
            for wanted in COUNTS:
                for number in range(there + 1, wanted + 1):
                    conn.execute(_index(number, place[2], place[3]))
                there = wanted
                yield wanted, statistics.median(_slice(conninfo, place[:3]) for _ in range(ROUNDS))
        finally:
            for number in range(1, there + 1):
                conn.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(f"bench_{number}")))


def _index(number: int, vector_set: int, dimension: int) -> sql.Composed:
    return sql.SQL(
        "CREATE INDEX {name} ON vectors USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops)"
        " WHERE space = {space} AND vector_set = {set}"
    ).format(
        name=sql.Identifier(f"bench_{number}"), dimension=sql.Literal(dimension), space=sql.Literal(-number),
        set=sql.Literal(vector_set),
    )  # fmt: skip


def _slice(conninfo: str, place: tuple[int, int, int]) -> float:
    """The second time on its connection: the first fills its caches."""
    with bulk.connect(conninfo) as conn:
        seconds = 0.0
        for _ in range(2):
            begun = time.perf_counter()
            with conn.transaction():
                conn.execute(_STORE.encode(), [*place, SLICE])
                seconds = time.perf_counter() - begun
                raise psycopg.Rollback
    return 1000 * seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    given = parser.parse_args()
    with opened("embedded", given.home.absolute()) as ground:
        ground.rest()
        rows = [[f"{number:,}", f"{milliseconds:.1f}"] for number, milliseconds in measured(ground.owner)]
    print(tabled(["further indexes", f"{SLICE} vectors stored, ms"], rows))


if __name__ == "__main__":
    main()
