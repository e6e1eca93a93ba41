"""What a server and its Postgres hold, wait for and have left to do, while they work: looked at each minute, and what
is waited for each second.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg

from bench.figures import Json
from bench.ground import Ground, ask

# The machines of a cluster hide their shards from whoever looks.
_SHARDS = "SET citus.override_table_visibility = off"
_SHARD = re.compile(r"_\d{6,}$")
_TABLES = """
    SELECT s.relname, pg_total_relation_size(s.relid)::bigint, s.n_live_tup, s.n_dead_tup,
           s.n_tup_upd, s.n_tup_hot_upd, s.autovacuum_count, s.autoanalyze_count, s.n_mod_since_analyze
      FROM pg_stat_user_tables s WHERE s.schemaname = 'keepstone'
"""
COLUMNS = ("bytes", "live", "dead", "updated", "hot", "vacuums", "analyzes", "unanalyzed")
_WAITS = """
    SELECT CASE WHEN wait_event IS NULL THEN 'working' ELSE wait_event_type || ': ' || wait_event END, count(*)
      FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid() GROUP BY 1
"""
_BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_LONGEST = """
    SELECT coalesce(max(extract(epoch FROM now() - xact_start)), 0)::real FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()
"""
_JOBS = "SELECT task_name, status::text, count(*) FROM procrastinate_jobs GROUP BY 1, 2"
_METRIC = re.compile(r"^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$", re.MULTILINE)
MB = 2**20


class Waits:
    """Looks each second what the backends of each machine wait for."""

    def __init__(self, ground: Ground) -> None:
        self._conns = [psycopg.connect(machine, autocommit=True) for machine in ground.machines]
        self._end, self._lock = threading.Event(), threading.Lock()
        self._seen, self._blocked, self._longest, self._looks = Counter[str](), 0, 0.0, 0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._end.wait(1.0):
            for conn in self._conns:
                waits = conn.execute(_WAITS).fetchall()
                blocked, longest = (conn.execute(query).fetchone() or (0,) for query in (_BLOCKED, _LONGEST))
                with self._lock:
                    self._seen.update(dict(waits))
                    self._blocked += blocked[0]
                    self._longest = max(self._longest, longest[0])
            self._looks += 1

    def taken(self) -> Json:
        """Backends at work or waiting, on average, since the last look."""
        with self._lock:
            looks = max(1, self._looks)
            found: Json = {
                "backends": {name: round(count / looks, 3) for name, count in self._seen.most_common(8)},
                "blocked_locks": round(self._blocked / looks, 3),
                "longest_transaction_s": round(self._longest, 2),
            }
            self._seen, self._blocked, self._longest, self._looks = Counter[str](), 0, 0.0, 0
        return found

    def close(self) -> None:
        self._end.set()
        self._thread.join()
        for conn in self._conns:
            conn.close()


def memory(ground: Ground) -> dict[str, float]:
    """Proportional set size in MB: what is shared counts once."""
    return {who: round(sum(map(_pss, processes)) / 1024, 1) for who, processes in ground.processes().items()}


def _pss(process: psutil.Process) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended meanwhile
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def processor_seconds(ground: Ground) -> dict[str, float]:
    """That each has used so far, those that ended included where their parent has waited for them."""
    found: dict[str, float] = {"client": _used(psutil.Process())}
    for who, processes in ground.processes().items():
        found[who] = sum(map(_used, processes))
    return found


def machine_seconds() -> float:
    """That all processors were busy with anything, others' work included."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def _used(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system + times.children_user + times.children_system


def tables(ground: Ground) -> dict[str, dict[str, int]]:
    """Of all machines together, the largest first; shards of a table count as that table."""
    found: dict[str, Counter[str]] = {}
    for machine in ground.machines:
        with psycopg.connect(machine, autocommit=True) as conn:
            conn.execute(_SHARDS)
            for name, *values in conn.execute(_TABLES):
                counted = found.setdefault(_SHARD.sub("", name), Counter())
                counted.update(dict(zip(COLUMNS, map(int, values), strict=True)))
    return {name: dict(found[name]) for name in sorted(found, key=lambda name: -found[name]["bytes"])}


def disk(ground: Ground) -> int:
    """Bytes of the database on all machines."""
    return sum(ask(machine, "SELECT pg_database_size(current_database())")[0][0] for machine in ground.machines)


def written_log(ground: Ground) -> int:
    """Bytes of write-ahead log so far, on all machines."""
    query = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
    return sum(ask(machine, query)[0][0] for machine in ground.machines)


def transactions(ground: Ground) -> int:
    query = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    return ask(ground.owner, query)[0][0]


def metrics(ground: Ground) -> dict[str, float]:
    """Of the server's own, by name and labels."""
    client = ground.keepstone.client()
    try:
        _, shown = client.answer("GET", "/metrics")
    finally:
        client.close()
    return {f"{name}{{{labels}}}" if labels else name: float(value)
            for name, labels, value in _METRIC.findall(shown.decode())}  # fmt: skip


def jobs_run(shown: dict[str, float]) -> Counter[str]:
    """By task and outcome, since the server began."""
    found = Counter[str]()
    for name, value in shown.items():
        if name.startswith("keepstone_jobs_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', name))
            found[f"{labels['task']} {labels['outcome']}"] += int(value)
    return found


def look(ground: Ground) -> Json:
    """All of it at one moment, but for latencies and waits."""
    ready, shown = ground.readiness(), metrics(ground)
    jobs = {f"{task} {status}": number for task, status, number in ask(ground.owner, _JOBS)}
    return {
        "memory_mb": memory(ground),
        "disk_mb": round(disk(ground) / MB, 1),
        "tables": tables(ground),
        "pending_embeddings": ready["pending_embeddings"],
        "jobs": ready["worker"]["details"]["jobs"],
        "jobs_by_task": jobs,
        "jobs_run": dict(jobs_run(shown)),
        "resident_mb": round(shown.get("keepstone_resident_bytes", 0) / MB, 1),
        "resident_spaces": int(shown.get("keepstone_resident_spaces", 0)),
        "searched": {where: int(shown.get(f'keepstone_searched_spaces_total{{where="{where}"}}', 0))
                     for where in ("memory", "database")},
        "postgres_restarts": int(shown.get("keepstone_postgres_restarts", 0)),
    }  # fmt: skip


def slope(points: list[tuple[float, float]]) -> float:
    """Of the line that fits best, a unit of the first value; 0 where there are too few."""
    if len(points) < 3:
        return 0.0
    middle = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
    square = sum((x - middle[0]) ** 2 for x, _ in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / square if square else 0.0


def later(samples: list[Json], warm_up: float) -> list[Json]:
    """Without the first of them, in which caches fill."""
    return samples[int(len(samples) * warm_up) :]


Value = Callable[[Json], Any]
