"""How the dashboard is handed out: its policy, its files, and what there is without them. No browser is needed."""

import gzip
import re
from pathlib import Path

import httpx
import pytest

from conftest import World
from keepstone.surfaces.web import dashboard

STATIC = Path(dashboard.__file__).parent / "static"


async def load(client: httpx.AsyncClient, path: str, world: World) -> httpx.Response:
    answer = await client.get(path, headers=world.owner.auth)
    assert answer.status_code == 200
    return answer


async def test_each_load_has_a_nonce_of_its_own_in_policy_and_page(client: httpx.AsyncClient, world: World) -> None:
    seen: set[str] = set()
    for path in ("/dashboard", "/dashboard/recall", "/dashboard/a/b?c=d", "/x_console/users/x", "/pricing"):
        answer = await load(client, path, world)
        policy = answer.headers["content-security-policy"]
        (nonce,) = re.findall(r"style-src 'self' 'nonce-([^']+)'", policy)
        assert len(nonce) >= 22
        assert f'nonce="{nonce}"' in answer.text
        assert "__nonce__" not in answer.text
        for part in ("default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"):
            assert part in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        seen.add(nonce)
    assert len(seen) == 5


async def test_built_files_are_packed_and_kept_for_good(client: httpx.AsyncClient, world: World) -> None:
    page = (await load(client, "/dashboard", world)).text
    named = re.findall(r'(?:src|href)="(/static/app/assets/[^"]+)"', page)
    assert any(name.endswith(".js") for name in named)
    for name in named:
        plain = await client.get(name, headers={"Accept-Encoding": "identity"})
        packed = await client.get(name, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.content == plain.content == (STATIC / name.removeprefix("/static/")).read_bytes()
        smaller = len(gzip.compress(plain.content))
        if smaller < len(plain.content):  # a few words are shorter as they are
            assert packed.headers["content-encoding"] == "gzip"
            assert int(packed.headers["content-length"]) == smaller
        for answer in (plain, packed):
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["vary"] == "accept-encoding"
    kinds = {Path(name).suffix: (await client.get(name)).headers["content-type"] for name in named}
    assert kinds[".js"].startswith("text/javascript")
    assert kinds[".css"].startswith("text/css")


async def test_what_has_no_hash_in_its_name_is_kept_for_an_hour(client: httpx.AsyncClient) -> None:
    for name, kind in (("keepstone.css", "text/css"), ("keepstone.svg", "image/svg+xml")):
        answer = await client.get(f"/static/{name}")
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["cache-control"] == "public, max-age=3600"


@pytest.mark.parametrize(
    "path",
    [
        "nothing.css", "app/assets/nothing.js", "", "app", "app/assets", "../pages.py", "%2e%2e/pages.py",
        "..%2fpages.py", "app/%2e%2e/%2e%2e/pages.py", "..%5cpages.py", "%2fetc/passwd", "keepstone.css%00", ".",
        "app/%2e/index.html", "keepstone.css/",
    ],
)  # fmt: skip
async def test_other_files_are_not_there(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(f"/static/{path}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


async def test_an_unknown_address_of_the_consoles_api_is_no_page(client: httpx.AsyncClient, world: World) -> None:
    for path in ("/x_console/api/x", "/x_console/api/users/x", "/x_console/api/"):
        answer = await client.get(path, headers=world.owner.auth | {"Accept": "text/html"})
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"


async def test_without_a_session_one_is_sent_to_the_login_and_back(client: httpx.AsyncClient, world: World) -> None:
    for asked, then in (
        ("/", "%2Fdashboard%2Frecall"), ("/dashboard", "%2Fdashboard"),
        ("/dashboard/recall?q=a%26b", "%2Fdashboard%2Frecall%3Fq%3Da%2526b"), ("/x_console", "%2Fx_console"),
    ):  # fmt: skip
        answer = await client.get(asked)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={then}")
    assert (await client.get("/pricing")).status_code == 200, "for everybody"
    assert (await client.get("/", headers=world.owner.auth)).headers["location"] == "/dashboard/recall"


async def test_a_server_without_the_built_dashboard_says_so_and_shows_it_once_it_is_there(
    client: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "static").mkdir()
    monkeypatch.setattr(dashboard, "files", lambda package: tmp_path)
    for path in ("/dashboard/recall", "/x_console", "/pricing"):
        answer = await load(client, path, world)
        assert "make web" in answer.text
        assert "/docs" in answer.text
        assert "script-src" not in answer.headers["content-security-policy"]
        assert answer.headers["refresh"] == "5", "whoever waits for it need not ask again"
    script = "/static/app/assets/just-built.js"
    assert (await client.get(script)).status_code == 404
    (tmp_path / "static/app/assets").mkdir(parents=True)
    (tmp_path / "static/app/index.html").write_text("built")
    (tmp_path / "static/app/assets/just-built.js").write_text("1")
    page = await load(client, "/dashboard/recall", world)
    assert (page.text, page.headers.get("refresh")) == ("built", None)
    assert (await client.get(script)).text == "1"
