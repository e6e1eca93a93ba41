"""The command line, as its own process, beside a running server and without one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from keepstone import __version__
from live import Guest, Live


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_key_made_on_the_command_line_is_all_it_prints_and_works(live: Live) -> None:
    (key,) = lines(live.cli("keys", "create", "--user", "owner@localhost", "--name", "from the shell"))
    assert re.fullmatch(r"ck_[a-z0-9]{52}", key)
    me = httpx.get(live.url + "/v1/me", headers={"Authorization": f"Bearer {key}"}).json()
    assert me["user"]["email"] == "owner@localhost"


def test_people_are_added_changed_and_erased(live: Live) -> None:
    made = json.loads(live.cli("users", "create", "Anna@Example.org", "--name", "Anna", "--json").stdout)
    assert made["email"] == "anna@example.org"
    assert made["role"] == "owner"
    same = ("users", "create", "ben@example.org", "--account", made["account_id"], "--password-stdin", "--json")
    ben = json.loads(live.cli(*same, stdin="a long enough one\n").stdout)
    assert (ben["role"], ben["account_id"]) == ("member", made["account_id"])
    login = httpx.post(live.url + "/auth/login", json={"email": "ben@example.org", "password": "a long enough one"})
    assert login.status_code == 200
    changed = ("users", "set", "ben@example.org", "--plan", "pro", "--credits", "12", "--quota-bytes", "99", "--json")
    after = json.loads(live.cli(*changed).stdout)
    assert (after["plan"], after["credits"], after["quota_bytes"]) == ("pro", 12, 99)
    listed = json.loads(live.cli("users", "list", "--json").stdout)
    assert {"anna@example.org", "ben@example.org"} <= {person["email"] for person in listed}
    assert "ben@example.org" in live.cli("users", "list").stdout
    assert lines(live.cli("users", "erase", "ben@example.org", "--yes")) == ["ben@example.org is erased."]
    assert "ben@example.org" not in live.cli("users", "list", "--json").stdout


def test_a_service_key_speaks_for_the_account(live: Live) -> None:
    live.cli("users", "create", "carl@example.org")
    (key,) = lines(live.cli("keys", "create", "--user", "carl@example.org", "--name", "robot", "--service"))
    auth = {"Authorization": f"Bearer {key}"}
    assert httpx.get(live.url + "/v1/me", headers=auth).json()["user"] is None
    named = httpx.get(live.url + "/v1/me", headers={**auth, "X-Keepstone-User": "carl@example.org"}).json()
    assert named["user"]["email"] == "carl@example.org"
    (listed,) = json.loads(live.cli("keys", "list", "--user", "carl@example.org", "--json").stdout)
    assert listed["name"] == "robot"
    assert key[15:] not in str(listed)
    lines(live.cli("keys", "revoke", listed["id"], "--user", "carl@example.org"))
    assert httpx.get(live.url + "/v1/me", headers=auth).status_code == 401


def test_a_key_is_made_for_less_than_its_user_may(live: Live) -> None:
    limits = ("--read-only", "--surface", "capsules", "--space", "capsules", "--expires", "90d")
    (key,) = lines(live.cli("keys", "create", "--user", "owner@localhost", "--name", "reader", *limits))
    auth = {"Authorization": f"Bearer {key}"}
    assert httpx.get(live.url + "/v1/memory/capsules", headers=auth).status_code == 200
    kept = httpx.post(live.url + "/v1/memory/capsules", headers=auth, json={"content_md": "a"})
    assert (kept.status_code, kept.json()["error"]["code"]) == (403, "read_only_key")
    assert httpx.get(live.url + "/v1/rooms", headers=auth).status_code == 403
    listed = json.loads(live.cli("keys", "list", "--user", "owner@localhost", "--json").stdout)
    reader = next(item for item in listed if item["name"] == "reader")
    assert (reader["permission"], reader["surfaces"], reader["spaces"]) == ("read", ["capsules"], ["capsules"])
    assert reader["expires_at"] is not None


def test_a_login_link_signs_in_once(live: Live) -> None:
    live.cli("users", "create", "dora@example.org")
    (link,) = lines(live.cli("login-link", "dora@example.org"))
    path = "/auth/once/" + link.rsplit("/", 1)[1]
    first = httpx.get(live.url + path)
    assert first.status_code == 303
    assert httpx.get(live.url + path).status_code == 404


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("users", "create", "nonsense"), "is not an e-mail address"),
        (("users", "create", "owner@localhost"), "There is a user owner@localhost"),
        (("users", "create", "x@example.org", "--account", "acct_none"), "There is no account acct_none"),
        (("users", "set", "owner@localhost"), "Say what to set"),
        (("keys", "create", "--user", "nobody@example.org", "--name", "x"), "There is no user nobody@example.org"),
        (("keys", "create", "--user", "owner@localhost", "--name", "x", "--surface", "y"), "'y' is no surface"),
        (("keys", "create", "--user", "owner@localhost", "--name", "x", "--expires", "soon"), "write 90d, 12h or 4w"),
        (("keys", "revoke", "key_x", "--user", "owner@localhost"), "There is no such key"),
        (("jobs", "retry", "999999"), "There is no failed job 999999"),
        (("login-link", "nobody@example.org"), "There is no user"),
    ],
)
def test_what_cant_be_done_says_so_in_one_line(live: Live, words: tuple[str, ...], told: str) -> None:
    done = live.cli(*words)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert told in line
    assert "Traceback" not in done.stderr


def test_a_bad_setting_is_one_line_too(live: Live) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keepstone", "serve"],
        env=live.environ | {"KEEPSTONE_PORT": "eighty"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("keepstone: KEEPSTONE_PORT")
    assert len(done.stderr.splitlines()) == 1


def test_jobs_are_listed(live: Live) -> None:
    assert isinstance(json.loads(live.cli("jobs", "--json").stdout), list)
    assert lines(live.cli("jobs", "--status", "failed"))[0].startswith("id")


def test_migrating_again_changes_nothing(live: Live) -> None:
    assert lines(live.cli("migrate")) == ["The database is up to date."]
    assert json.loads(live.cli("migrate", "--json").stdout) == {"applied": 0}


def test_the_doctor_finds_a_running_server_in_order(live: Live) -> None:
    done = live.cli("doctor", "--json")
    told = json.loads(done.stdout)
    assert told["ok"] is True, told
    found = {finding["check"]: finding["found"] for finding in told["checks"]}
    assert "pgvector" in found["database"]
    assert found["row security"] == "on for every table"
    assert "embedded, running" in found["database"]


def test_the_doctor_says_what_is_wrong_and_what_to_do(live: Live, tmp_path: Path) -> None:
    unsafe = tmp_path / "home"
    unsafe.mkdir(mode=0o755)
    (unsafe / "jwt-secret").write_text("x")
    (unsafe / "jwt-secret").chmod(0o644)
    environ = live.environ | {"KEEPSTONE_HOME": str(unsafe)}
    run = [sys.executable, "-m", "keepstone", "doctor"]
    done = subprocess.run(run, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"chmod 700 {unsafe}" in done.stdout
    assert f"chmod 600 {unsafe / 'jwt-secret'}" in done.stdout
    away = environ | {"KEEPSTONE_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    done = subprocess.run([*run, "--json"], env=away, capture_output=True, text=True, check=False)
    told = {finding["check"]: finding for finding in json.loads(done.stdout)["checks"]}
    assert told["database"]["ok"] is False
    assert "KEEPSTONE_DATABASE_URL" in told["database"]["advice"]


def test_a_port_in_use_is_a_clear_error_and_starts_nothing(live: Live, tmp_path: Path) -> None:
    port = live.url.rsplit(":", 1)[1]
    done = subprocess.run(
        [sys.executable, "-m", "keepstone", "serve", "--port", port],
        env=live.environ | {"KEEPSTONE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "KEEPSTONE_PORT" in done.stderr
    assert not (tmp_path / "home" / "postgres").exists()


def test_help_and_version_answer_without_any_set_up(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "KEEPSTONE_HOME": str(tmp_path / "never")}
    for words, told in ((["--help"], "Long-term memory"), (["--version"], f"keepstone {__version__}"), ([], "Usage")):
        done = subprocess.run(
            [sys.executable, "-m", "keepstone", *words], env=environ, capture_output=True, text=True, check=False
        )
        assert told in done.stdout + done.stderr
    assert not (tmp_path / "never").exists()


def test_importing_the_command_line_pulls_in_nothing_heavy() -> None:
    heavy = "{'fastapi', 'psycopg', 'procrastinate', 'uvicorn', 'jwt', 'argon2', 'rich', 'pydantic'}"
    code = f"import sys, keepstone.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_the_command_shows_what_a_query_did(live: Live, guest: Guest) -> None:
    asked = httpx.post(f"{live.url}/v1/graphs/default/recall", headers=guest.auth, json={"query": "anything"}).json()
    shown = live.cli("query", asked["query_id"], "--json")
    assert shown.returncode == 0, shown.stderr
    assert f'"id": "{asked["query_id"]}"' in shown.stdout
    missing = live.cli("query", "qry_" + "a" * 24)
    assert (missing.returncode, "no such query" in missing.stderr) == (1, True)
