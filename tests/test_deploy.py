"""What lies in `deploy/` fits the rest of the repository: its files, its commands, its settings."""

import fnmatch
import os
import re
import shlex
import socket
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from keepstone import cli
from keepstone.cli.notify import tell_systemd_ready
from keepstone.settings import Settings, settable, variable

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text()
SETTINGS = {variable(item.name) for item in settable()}
# Of files that the container is given, those that others write there: they are built in it.
BUILT = {"/opt/keepstone", "/src/src/keepstone/surfaces/web/static/app"}


def unit() -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    parser.read(DEPLOY / "keepstone.service")
    return parser


def test_every_setting_that_is_named_exists() -> None:
    for path in DEPLOY.iterdir():
        named = set(re.findall(r"KEEPSTONE_[A-Z_]*[A-Z]", path.read_text()))
        assert named <= SETTINGS, path.name


def test_the_container_is_made_of_files_that_are_there_and_that_are_let_in() -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert ignored[0] == "*", "nothing gets in that is not named"
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    for line in re.findall(r"^COPY (?:--from=\w+ )?(.+)$", CONTAINER, re.MULTILINE):
        for name in set(line.split()[:-1]) - BUILT:
            assert (ROOT / name).exists(), name
            assert name in let_in, f"{name} is copied, but .dockerignore keeps it out"
    assert not {name for name in let_in if not any(fnmatch.fnmatch(word, name) for word in CONTAINER.split())}
    assert re.findall(r"--require-hashes .*-r (\S+)", CONTAINER) == ["requirements.lock"]


def test_the_container_is_nobody_special_and_says_how_it_is() -> None:
    last = CONTAINER[CONTAINER.rindex("FROM ") :]
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert "-o 10001 -g 10001 /data" in last
    assert "KEEPSTONE_HOME=/data" in last
    assert re.search(r"^VOLUME /data$", last, re.MULTILINE)
    (asked,) = re.findall(r'^HEALTHCHECK .*CMD \["python", "-c", "(.+)"\]$', last, re.MULTILINE)
    compile(asked, "HEALTHCHECK", "exec")
    assert "/healthz" in asked
    assert f"EXPOSE {Settings().port}" in last


def test_the_commands_are_commands() -> None:
    known = set(getattr(get_command(cli.app), "commands", {}))
    (command,) = re.findall(r'^CMD \["keepstone", "(\w+)"\]$', CONTAINER, re.MULTILINE)
    started = shlex.split(unit()["Service"]["ExecStart"])
    assert {command, started[-1]} <= known
    assert started[0].endswith("/bin/keepstone")


def test_whoever_stops_it_waits_longer_than_it_takes() -> None:
    takes = Settings().shutdown_seconds
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["keepstone"]
    assert int(compose["stop_grace_period"].removesuffix("s")) > takes + 10
    assert int(unit()["Service"]["TimeoutStopSec"]) > takes + 10
    assert unit()["Service"]["KillMode"] == "mixed", "Postgres is stopped by Keepstone, last"


def test_the_unit_runs_as_somebody_with_one_folder_and_nothing_else() -> None:
    service = unit()["Service"]
    assert service["User"] == service["StateDirectory"] == "keepstone"
    assert service["Environment"] == "KEEPSTONE_HOME=%S/keepstone"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["NoNewPrivileges"] == "yes"


def test_the_second_compose_file_only_adds_to_the_first() -> None:
    first, second = (yaml.safe_load((DEPLOY / f"{name}.yaml").read_text()) for name in ("compose", "compose.postgres"))
    assert set(first["services"]) == {"keepstone"}
    assert set(second["services"]) == {"keepstone", "postgres"}
    assert not set(first["services"]["keepstone"]) & set(second["services"]["keepstone"]) - {"environment"}
    for made in (first, second):
        for service in made["services"].values():
            assert {name.partition(":")[0] for name in service.get("volumes", [])} <= set(made["volumes"])


def test_systemd_is_told_when_it_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, bound in (
        (str(tmp_path / "notify"), None),
        (f"@keepstone-{os.getpid()}", f"\0keepstone-{os.getpid()}"),
    ):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(bound or address)
            systemd.settimeout(10)
            monkeypatch.setenv("NOTIFY_SOCKET", address)
            tell_systemd_ready()
            assert systemd.recv(64) == b"READY=1"
    tell_systemd_ready()  # nobody listens any more: that harms nothing
