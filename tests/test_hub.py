"""An encoder comes from a hub once, whole or not at all, and what it is with is told to nobody else."""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from keepstone.cli.doctor import encoder_findings
from keepstone.errors import Misconfigured, UpstreamError
from keepstone.providers import hub as hubs
from keepstone.providers.embedders import encoder_folder
from keepstone.providers.encoder import Encoder
from keepstone.providers.hub import Hub, Revision, fetch_revision, folder_of
from keepstone.providers.models import Progress
from keepstone.settings import Settings
from tiny_encoder import TOKENIZER, make_graph, write_encoder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REVISION = Revision("someone/colbert", COMMIT)
TOKEN = "hf_a-token-that-nobody-else-may-see"


class Repository:
    """A server that speaks the protocol: what is large is on another host, and its hash is told with the way there."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.asked: list[tuple[str, str | None]] = []  # path and token
        self.elsewhere = ""
        self.wrong: dict[str, bytes] = {}  # what is sent in the place of a file
        self.cut: set[str] = set()  # files of which half is sent
        self.token: str | None = None

    def answer(self, path: str, token: str | None) -> tuple[int, dict[str, str], bytes]:
        self.asked.append((path, token))
        stored = re.fullmatch(r"/stored/(.+)", path)
        asked = stored or re.fullmatch(f"/someone/colbert/resolve/{COMMIT}/(.+)", path)
        if asked is None or asked[1] not in self.files:
            return 404, {}, b"Entry not found"
        name = asked[1]
        if self.token and not stored and token != f"Bearer {self.token}":
            return 401, {}, b"Access is restricted"
        content = self.files[name]
        sent = self.wrong.get(name, content)
        if name.endswith(".onnx") and not stored:
            tag = hashlib.sha256(content).hexdigest()
            return 302, {"Location": f"{self.elsewhere}/stored/{name}", "X-Linked-ETag": f'"{tag}"'}, b""
        if stored:
            return 200, {"ETag": '"a tag of the store"'}, sent
        tag = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        return 200, {"ETag": f'"{tag}"'}, sent


@contextmanager
def serving(repository: Repository) -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = repository.answer(self.path, self.headers["Authorization"])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            half = len(body) // 2 if self.path.rpartition("/")[2] in repository.cut else len(body)
            self.wfile.write(body[:half])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = write_encoder(tmp_path / "source")
    return Repository({path.name: path.read_bytes() for path in folder.iterdir()})


@pytest.fixture
def hub(repository: Repository) -> Generator[Hub]:
    with serving(repository) as url, serving(repository) as elsewhere:
        repository.elsewhere = elsewhere
        yield Hub(url)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "models"


def silent(progress: Progress) -> None:
    pass


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


def test_a_commit_is_fetched_once_and_is_an_encoder_of_its_own_name(
    repository: Repository, hub: Hub, models: Path
) -> None:
    seen: list[Progress] = []
    folder = fetch_revision(models, REVISION, hub, seen.append)
    assert names(folder) == {"encoder.json", "encoder.onnx", "tokenizer.json"}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    size = len(repository.files["encoder.onnx"])
    assert seen[-1].model == "someone/colbert@0123456789ab tokenizer.json"
    assert Progress("someone/colbert@0123456789ab encoder.onnx", size, size) in seen
    encoder = Encoder(folder)
    assert encoder.name == "someone/colbert@0123456789ab"
    encoder.close()
    repository.asked.clear()
    assert fetch_revision(models, REVISION, hub, silent) == folder
    assert repository.asked == []
    assert names(models) == {folder.name}


@pytest.mark.parametrize(
    ("file", "graph"), [("onnx_config.json", "model_int8.onnx"), ("artifact.metadata", "model.onnx")]
)
def test_what_other_exporters_publish_is_read(
    repository: Repository, hub: Hub, models: Path, file: str, graph: str
) -> None:
    config = {"embedding_dim": 96, "query_prefix_id": 1, "document_prefix_id": 2} if file[0] == "o" else {"dim": 96}
    output = make_graph(96, output="output")
    repository.files = {file: json.dumps(config).encode(), graph: output, "tokenizer.json": TOKENIZER.read_bytes()}
    folder = fetch_revision(models, REVISION, hub, silent)
    manifest = json.loads((folder / "encoder.json").read_text())
    assert (manifest["graph"], manifest["passage_prefix"], manifest["keep"]) == (graph, "[unused1]", "all")
    Encoder(folder).close()


def test_a_token_goes_to_the_hub_alone_and_is_told_to_nobody(
    repository: Repository, hub: Hub, models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    repository.token = TOKEN
    with pytest.raises(UpstreamError, match="KEEPSTONE_HUB_TOKEN") as caught:
        fetch_revision(models, REVISION, replace(hub, token="hf_a-token-that-is-wrong"), silent)
    assert "hf_a-token" not in caplog.text + str(caught.value) + repr(caught.value.__context__)
    repository.asked.clear()
    folder = fetch_revision(models, REVISION, replace(hub, token=TOKEN), silent)
    tokens = {path.startswith("/stored/"): token for path, token in repository.asked}
    assert tokens == {False: f"Bearer {TOKEN}", True: None}
    assert not any(TOKEN.encode() in path.read_bytes() for path in folder.iterdir())
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("name", ["encoder.onnx", "tokenizer.json"])
def test_a_file_that_is_not_what_the_hub_says_is_refused(
    repository: Repository, hub: Hub, models: Path, name: str
) -> None:
    repository.wrong[name] = repository.files[name][::-1]
    with pytest.raises(Misconfigured, match=f"{name} of someone/colbert@0123456789ab is not the file"):
        fetch_revision(models, REVISION, hub, silent)
    assert names(models) == set()


def test_a_transfer_that_breaks_leaves_nothing_and_can_be_begun_again(
    repository: Repository, hub: Hub, models: Path
) -> None:
    repository.cut = {"encoder.onnx"}
    with pytest.raises(UpstreamError, match=r"encoder\.onnx of .* could not be fetched from http.*KEEPSTONE_ENCODER"):
        fetch_revision(models, REVISION, hub, silent)
    assert names(models) == set()

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_revision(models, REVISION, hub, interrupt)
    assert names(models) == set()
    repository.cut = set()
    (models / ".fetch-of-one-that-was-killed").mkdir()
    assert names(models) == {".fetch-of-one-that-was-killed"}
    assert names(fetch_revision(models, REVISION, hub, silent).parent) == {folder_of(models, REVISION).name}


def test_more_than_an_encoder_may_have_is_refused(
    repository: Repository, hub: Hub, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MOST_BYTES", 100_000)
    with pytest.raises(Misconfigured, match="more than an encoder may have"):
        fetch_revision(models, REVISION, hub, silent)
    assert names(models) == set()


@pytest.mark.parametrize("missing", ["encoder.json", "encoder.onnx", "tokenizer.json"])
def test_a_repository_without_an_encoder_is_refused(
    repository: Repository, hub: Hub, models: Path, missing: str
) -> None:
    del repository.files[missing]
    with pytest.raises(Misconfigured, match=rf"someone/colbert@0123456789ab has no {missing}"):
        fetch_revision(models, REVISION, hub, silent)
    assert names(models) == set()


def test_a_hub_that_is_not_there_says_what_else_can_be_done(models: Path) -> None:
    with pytest.raises(UpstreamError, match=r"could not be fetched from http://127\.0\.0\.1:9"):
        fetch_revision(models, REVISION, Hub("http://127.0.0.1:9"), silent)


def test_whoever_asks_over_tls_is_sent_nowhere_without_it(
    repository: Repository, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are those of the server above; only that they came over TLS is made up."""
    with serving(repository) as url:
        repository.elsewhere = url
        original = hubs.urllib.request.Request

        def request(address: str, **options: Any) -> Any:
            return original(address.replace("https://hub.example", url), **options)

        monkeypatch.setattr(hubs.urllib.request, "Request", request)
        with pytest.raises(UpstreamError, match=r"encoder\.onnx"):
            fetch_revision(models, REVISION, Hub("https://hub.example"), silent)
    assert not any(path.startswith("/stored/") for path, _ in repository.asked)


def test_the_settings_lead_to_it_and_the_doctor_knows_whether_it_is_here(
    repository: Repository, hub: Hub, models: Path
) -> None:
    settings = Settings(home=models.parent, encoder=f"hub:someone/colbert@{COMMIT}", hub_url=hub.url)
    (finding,) = encoder_findings(settings)
    assert finding.ok
    assert finding.found.startswith("someone/colbert@0123456789ab (not here yet")
    folder = encoder_folder(settings)
    (finding,) = encoder_findings(settings)
    assert finding.found == f"someone/colbert@0123456789ab in {folder}"
