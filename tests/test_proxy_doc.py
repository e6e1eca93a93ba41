"""docs/proxy.md: the program on the page runs as it stands, against a real server in front of a scripted model."""

import os
import re
import subprocess
import sys
from pathlib import Path

from live import Live
from upstream import ScriptedUpstream, chunks, completion, streamed

PAGE = (Path(__file__).parent.parent / "docs" / "proxy.md").read_text()


def test_the_program_on_the_page_runs_as_it_stands() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    upstream = ScriptedUpstream()
    try:
        upstream.script(completion("hello"), streamed(*chunks("and goodbye")))
        live = Live(KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=upstream.url)
        try:
            environ = {**os.environ, "KEEPSTONE_URL": live.url, "KEEPSTONE_API_KEY": live.key}
            done = subprocess.run(
                [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False, timeout=60
            )
        finally:
            live.stop()
    finally:
        upstream.stop()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "hello\nand goodbye"
    assert [request.path for request in upstream.received] == ["/v1/chat/completions"] * 2
    assert "x_save_memory" in upstream.received[0].body.decode()
