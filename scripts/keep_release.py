"""Keeps a small database of a release, which every later version is tested to open: `tests/releases/VERSION.sql.gz`,
and beside it what the release was (its commit, its level, its migrations) and what its API said of what it had kept.

    python scripts/keep_release.py [COMMIT]

COMMIT is what was released, HEAD if it is not said. Runs the Keepstone that Python finds: `PYTHONPATH` may name the
source of another version. Everything in it is made up.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))

from bench import kept  # noqa: E402
from bench.client import Client  # noqa: E402
from bench.process import Keepstone  # noqa: E402
from bench.proxy import model  # noqa: E402

from keepstone import __version__  # noqa: E402
from keepstone.postgres.cluster import open_cluster  # noqa: E402
from keepstone.postgres.programs import wheel_programs  # noqa: E402
from keepstone.postgres.supervisor import Supervisor  # noqa: E402
from keepstone.store import migrate  # noqa: E402

FOLDER = ROOT / "tests" / "releases"


def calls(client: Client) -> kept.Call:
    def call(method: str, path: str, body: Any) -> Any:
        status, content = client.answer(method, path, None if body is None else json.dumps(body).encode())
        if status >= 400:
            raise SystemExit(f"{method} {path} answered {status}: {content[:500].decode(errors='replace')}")
        return json.loads(content) if content[:1] in {b"{", b"["} else None

    return call


def main(commit: str = "HEAD") -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with model() as url:
            talking = {
                "KEEPSTONE_LLM_PROVIDER": "openai",
                "KEEPSTONE_LLM_BASE_URL": f"{url}/v1",
                "KEEPSTONE_LLM_API_KEY": "key",
            }
            keepstone = Keepstone(home, **talking, KEEPSTONE_LLM_MODEL="m-1", KEEPSTONE_WORKER="off")
            keepstone.start()
            client = keepstone.client()
            kept.talk(calls(client))
            client.close()
            keepstone.stop()
        keepstone = Keepstone(home, KEEPSTONE_PROCESSES="1")
        keepstone.start()
        try:
            keepstone.wait()
            said = keep(keepstone)
            FOLDER.mkdir(exist_ok=True)
            dump(home, FOLDER / f"{__version__}.sql.gz")
        finally:
            keepstone.stop()
    once = {one.name: one.sha256 for one in migrate.migrations() if not one.repeatable}
    again = {one.name: one.sha256 for one in migrate.migrations() if one.repeatable}
    told = {
        "level": getattr(migrate, "LEVEL", 1),
        "migrations": once,
        "repeatable": again,
        "found": said,
        "commit": named(commit),
    }
    (FOLDER / f"{__version__}.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"Kept in tests/releases: {__version__}.sql.gz and .json\n")


def keep(keepstone: Keepstone) -> Any:
    keepstone.command("users", "create", kept.OTHER, "--name", "Olga", "--password-stdin", stdin=kept.PASSWORD + "\n")
    key = keepstone.command("keys", "create", "--user", kept.OTHER, "--name", "hers")
    client, other = keepstone.client(), Client(keepstone.url, {"Authorization": f"Bearer {key}"})
    kept.fill(calls(client), calls(other))
    found = kept.found(calls(client))
    client.close()
    other.close()
    return found


def dump(home: Path, into: Path) -> None:
    conninfo = Supervisor(open_cluster(home)).conninfo
    done = subprocess.run([wheel_programs().path("pg_dump"), "--no-owner", conninfo], check=True, capture_output=True)
    into.write_bytes(gzip.compress(done.stdout, mtime=0))


def named(commit: str) -> str:
    asked = ["git", "rev-parse", f"{commit}^{{commit}}"]
    return subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
