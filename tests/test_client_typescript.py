"""The TypeScript client: its own tests in Node, the page about it, the package, and a real browser."""

import json
import re
import tarfile
import threading
from collections.abc import Generator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route

from commands import as_guest
from keepstone_client.core import VERSION
from live import Live, receive
from node import CLIENT, ROOT, blocks_of, check_types, install_client, packed, run_node, run_program
from test_client import OPERATIONS, built, route
from upstream import Answer, Received, ScriptedUpstream, chunks, completion, streamed

PAGE = ROOT / "docs" / "typescript.md"


def answer(request: Received) -> Answer:
    """A model that knows of the ferry if something in its prompt says so."""
    text = "At nine." if b"leaves at nine" in request.body else "Noted."
    return streamed(*chunks(text)) if request.json.get("stream") else completion(text)


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    made.otherwise = answer
    yield made
    made.stop()


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Generator[str]:
    """Another site, whose pages have the client: what it is made of, and a list of that."""
    site = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=CLIENT / "dist"))
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{site.server_port}"
    site.shutdown()
    thread.join()
    site.server_close()


@pytest.fixture(scope="module")
def server(model: ScriptedUpstream, elsewhere: str) -> Generator[Live]:
    made = Live(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=model.url, KEEPSTONE_LLM_API_KEY="sk",
        KEEPSTONE_LLM_MODEL="m-1", KEEPSTONE_INJECT_RELEVANCE="0.01", KEEPSTONE_CORS_ORIGINS=elsewhere,
    )  # fmt: skip
    yield made
    made.stop()


@pytest.fixture(scope="module")
def environ(server: Live, model: ScriptedUpstream) -> dict[str, str]:
    return {"KEEPSTONE_URL": server.url, "KEEPSTONE_API_KEY": server.key, "MODEL_URL": model.url}


@pytest.mark.parametrize("name", sorted(path.name for path in (CLIENT / "tests").glob("*.test.mjs")))
def test_its_own_tests_pass_in_node(name: str, environ: dict[str, str]) -> None:
    printed = run_node(["--test", "--test-reporter", "tap", f"tests/{name}"], CLIENT, environ)
    assert re.search(r"^# fail 0$", printed, re.MULTILINE)
    written = len(re.findall(r"^ *test\(", (CLIENT / "tests" / name).read_text(), re.MULTILINE))
    assert int(re.findall(r"^# pass (\d+)$", printed, re.MULTILINE)[0]) >= written > 5


def test_it_knows_every_route_of_the_python_client_and_sends_the_same_calls_twice(tmp_path: Path) -> None:
    requests = [built(held) for held in OPERATIONS.values()]
    calls = [(*route(request)[0].split(" ", 1), json.loads(request.body or b"null")) for request in requests]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    program = f"""
    import {{ readFileSync }} from 'node:fs'
    import {{ mayRepeat }} from '{(CLIENT / "dist/routes.js").as_uri()}'
    const calls = JSON.parse(readFileSync('calls.json', 'utf8'))
    console.log(JSON.stringify(calls.map((call) => mayRepeat(...call))))
    """
    told = json.loads(run_program(program, tmp_path, {}))
    assert {
        call[:2]: again for call, again, request in zip(calls, told, requests, strict=True)
        if again != request.may_repeat
    } == {}  # fmt: skip
    types = (CLIENT / "dist" / "schema.d.ts").read_text()
    assert [path for _, path, _ in calls if f'"{path}": {{' not in types] == []


async def test_every_example_of_its_page_prints_what_the_page_says_and_has_types(
    server: Live, model: ScriptedUpstream, tmp_path: Path
) -> None:
    text = "\n".join(blocks_of(PAGE.read_text()))
    announced = re.findall(r"console\.log\(.*\) // → (.*)$", text, re.MULTILINE)
    assert len(announced) > 20
    install_client(tmp_path)
    check_types({"page": text}, tmp_path)
    guest = await receive(server, tmp_path / "guest")
    program = as_guest(text, guest).replace("ck_…", guest.key).replace("http://127.0.0.1:11434/v1", model.url)
    rest = printed = run_program(program, tmp_path, {})
    for line in (as_guest(one, guest) for one in announced):
        assert line in rest, f"{line!r} was not printed, or not in this place:\n{printed}"
        rest = rest.split(line, 1)[1]


def test_the_page_names_every_resource_and_error_and_option() -> None:
    text = PAGE.read_text()
    client, memory = (CLIENT / "src" / "client.ts").read_text(), (CLIENT / "src" / "ai.ts").read_text()
    resources = re.findall(r"^  readonly (\w+) = new", client, re.MULTILINE)
    errors = re.findall(r"^export class (\w+)", (CLIENT / "src" / "errors.ts").read_text(), re.MULTILINE)
    options = [
        name
        for source, kind in ((client, "KeepstoneOptions"), (memory, "MemoryOptions"))
        for name in re.findall(r"^  (\w+)\?:", source.split(f"interface {kind} {{")[1].split("\n}\n")[0], re.MULTILINE)
    ]
    assert len(resources) > 10
    assert len(errors) > 12
    assert len(options) > 15
    for name in (*resources, *options):
        assert f"`{name}`" in text, name
    for name in errors:
        assert name in text, name


def test_the_package_is_small_needs_nothing_and_has_the_version_of_the_other_client(tmp_path: Path) -> None:
    with tarfile.open(packed(tmp_path)) as archive:
        sizes = {member.name.removeprefix("package/"): member.size for member in archive.getmembers()}
        manifest = archive.extractfile("package/package.json")
        assert manifest is not None
        described = json.load(manifest)
    assert described["version"] == VERSION
    assert "dependencies" not in described
    assert described["peerDependenciesMeta"] == {name: {"optional": True} for name in described["peerDependencies"]}
    for way in described["exports"].values():
        for path in way.values():
            assert path.removeprefix("./") in sizes
    assert "README.md" in sizes
    assert all(name.startswith("dist/") or "/" not in name for name in sizes)
    assert sum(sizes.values()) < 500_000
    assert sum(size for name, size in sizes.items() if name.endswith(".js")) < 60_000
    # What is imported when it runs: files of its own. The AI SDK is there for its types alone.
    for path in (CLIENT / "dist").rglob("*.js"):
        for name in re.findall(r"from '([^']+)'", path.read_text()):
            assert name.startswith("."), path


PROGRAM = """
async ({url, key}) => {
  const { Keepstone, ConnectionFailed, Unauthorized } = await import('/index.js')
  const { keepstoneMemory } = await import('/ai.js')
  const told = {}
  try {
    const keepstone = new Keepstone({ url, apiKey: key, retries: 0 })
    told.via = (await keepstone.me()).via
    const row = { id: '1', speaker: 'Ada', text: 'My ferry leaves at nine from pier 3.' }
    await keepstone.scopes.ingest(location.host, [row])
    told.text = (await keepstone.scopes.recall(location.host, 'When does my ferry leave?')).evidence[0].text
    told.said = (await keepstone.scopes.messages(location.host).all()).length
    const chat = await keepstone.chats.create({ title: 'Crossing' })
    told.role = (await keepstone.chats.say(chat.id, 'Hello?').done()).role
    const prompt = [{ role: 'user', content: [{ type: 'text', text: 'When does my ferry leave?' }] }]
    const memory = keepstoneMemory({ client: keepstone, scope: location.host })
    told.prompt = (await memory.transformParams({ params: { prompt } })).prompt.map((one) => one.role)
    const stranger = new Keepstone({ url, apiKey: 'ck_wrong', retries: 0 })
    told.fault = await stranger.me().catch((fault) => [fault instanceof Unauthorized, typeof fault.requestId])
  } catch (fault) {
    told.failed = [fault instanceof ConnectionFailed, fault.message]
  }
  return told
}
"""


async def test_it_works_in_a_browser_from_the_servers_origin_and_from_one_that_is_let_in(
    server: Live, elsewhere: str, chromium: Browser
) -> None:
    async def there(route: Route) -> None:
        """On the server's own origin lies a page with the client."""
        if route.request.url.endswith("/a-page"):
            await route.fulfill(body="<!doctype html><title>A page</title>", content_type="text/html")
        else:
            path = CLIENT / "dist" / route.request.url.removeprefix(f"{server.url}/")
            await route.fulfill(path=path, content_type="text/javascript")

    async def outcome(origin: str, path: str) -> dict[str, object]:
        context = await chromium.new_context()
        try:
            page = await context.new_page()
            await page.route(re.compile(rf"^{re.escape(server.url)}/(a-page|[\w/]+\.js)$"), there)
            await page.goto(origin + path)
            return await page.evaluate(PROGRAM, {"url": server.url, "key": server.key})
        finally:
            await context.close()

    fine = {
        "via": "key", "text": "My ferry leaves at nine from pier 3.", "said": 1, "role": "assistant",
        "prompt": ["system", "user"], "fault": [True, "string"],
    }  # fmt: skip
    assert await outcome(server.url, "/a-page") == fine
    assert await outcome(elsewhere, "/") == fine
    unknown = elsewhere.replace("127.0.0.1", "localhost")
    refused = (await outcome(unknown, "/"))["failed"]
    assert isinstance(refused, list)
    assert refused[0] is True
    assert f"A page of {unknown} needs that origin in the server's KEEPSTONE_CORS_ORIGINS." in str(refused[1])
