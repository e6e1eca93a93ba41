"""The page about coming from elsewhere does what it says: its commands run from top to bottom on a real server."""

import json
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import exports
from live import Live
from servers import LocalServer

pytestmark = pytest.mark.xdist_group("importer")
PAGE = Path(__file__).parent.parent / "docs" / "import.md"
MEMORY = {
    "id": exports.key("doc"),
    "memory": "Ada likes numbers.",
    "user_id": "ada",
    "created_at": "2025-01-01T00:00:00Z",
}


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    made = Live()
    yield made
    made.stop()


def test_every_command_of_the_page_works(server: Live, tmp_path: Path) -> None:
    exports.chatgpt_zip(tmp_path / "chatgpt-export.zip", 4)
    talk = exports.claude_conversation(1, exports.claude_message("t", 1, "human", exports.said("Hello.")))
    exports.claude_zip(tmp_path / "claude-export.zip", [talk], [], [])
    exports.vault(tmp_path / "Vault")
    exports.openmemory_sqlite(tmp_path / "openmemory.db")
    exports.agent_file(tmp_path / "agent.af")
    (tmp_path / "talk.jsonl").write_text('{"speaker": "Ada", "text": "hello"}\n')
    mem0 = LocalServer(lambda _path, _body: (200, json.dumps({"results": [MEMORY]}).encode()))
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    script = "\n".join(["set -eu -o pipefail", f'keepstone() {{ "{sys.executable}" -m keepstone "$@"; }}', *blocks])
    script = script.replace("https://api.mem0.ai", mem0.url)
    script = script.replace("http://127.0.0.1:8420", server.url).replace("~/.keepstone", str(server.home))
    try:
        done = subprocess.run(
            ["bash"],
            input=script,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=server.environ | {"KEEPSTONE_URL": server.url},
        )
    finally:
        mem0.stop()
    assert done.returncode == 0, done.stderr
    assert "ferry to Naxos" in done.stdout
    written = re.findall(r"^written: +(.*)$", done.stdout, re.MULTILINE)
    assert written == [
        "40 messages",
        "1 messages",
        "5 notes",
        "1 notes",
        "2 notes",
        "4 messages, 3 notes",
        "1 messages",
        "nothing",
        "nothing",
    ]
    assert len(list((tmp_path / "capsules").glob("*.md"))) == 11
