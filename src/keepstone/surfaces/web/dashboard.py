"""The dashboard: one page with a script, which asks the API for everything else. Built from `web/`."""

import gzip
import mimetypes
import secrets
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from keepstone.errors import NotFound, Unauthenticated
from keepstone.surfaces.http.caller import caller
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.web.html import page

router = Router(include_in_schema=False)

_APP = "app"
_NONCE = "__nonce__"  # where `vite build` leaves a place for it
_FOREVER = "public, max-age=31536000, immutable"  # the names of built files carry a hash of what is in them
_HOUR = "public, max-age=3600"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_MISSING = page(
    "No dashboard",
    "<h1>This server has no dashboard yet</h1><div class=card><p><code>make serve</code> builds it while the server "
    "already runs, and this page shows it as soon as it is there. If that failed, or the server was started in another "
    "way, build it in the source tree:</p><pre>make web</pre>"
    '<p>Everything works without it over the <a href="/docs">API</a>.</p></div>'
    '<form method="post" action="/logout"><button>Sign out</button></form>',
)
_LOOK_AGAIN = {"refresh": "5"}  # in seconds: a browser loads the page anew by itself


@router.get("/")
async def start(request: Request) -> Response:
    return await _for_somebody(request, "/dashboard/recall")


@router.get("/dashboard")
@router.get("/dashboard/{path:path}")
@router.get("/x_console")
@router.get("/x_console/{path:path}")
async def dashboard(request: Request) -> Response:
    if request.url.path.startswith("/x_console/api/"):
        raise NotFound("There is no such route.")
    return await _for_somebody(request)


@router.get("/pricing")
async def pricing() -> Response:
    """For everybody: one looks at it before one signs in."""
    return _app()


@router.get("/static/{path:path}")
async def static(request: Request, path: str) -> Response:
    file = _read(path)
    if file is None:
        raise NotFound("There is no such file.")
    kind, plain, packed = file
    headers = {"cache-control": _FOREVER if path.startswith(f"{_APP}/assets/") else _HOUR, "vary": "accept-encoding"}
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})
    return Response(plain, media_type=kind, headers=headers)


async def _for_somebody(request: Request, target: str | None = None) -> Response:
    try:
        await caller(request)
    except Unauthenticated:
        query = f"?{request.url.query}" if request.url.query else ""
        wanted = target or request.url.path + query
        return RedirectResponse("/login?" + urlencode({"next": wanted}), 303)
    return RedirectResponse(target, 303) if target else _app()


def _app() -> Response:
    index = _read(f"{_APP}/index.html")
    if index is None:
        return HTMLResponse(_MISSING, headers=_LOOK_AGAIN)
    nonce = secrets.token_urlsafe(18)
    body = index[1].decode().replace(_NONCE, nonce)
    return HTMLResponse(body, headers={"content-security-policy": _POLICY.format(nonce=nonce)})


def _read(path: str) -> tuple[str, bytes, bytes | None] | None:
    """A file of ours: what it is, its bytes, and those packed if that is less. A built one is read once."""
    try:
        return _read_once(path) if path.startswith(f"{_APP}/assets/") else _read_now(path)
    except FileNotFoundError:  # and not remembered: it may be built while we run
        return None


def _read_now(path: str) -> tuple[str, bytes, bytes | None]:
    place: Traversable = files("keepstone.surfaces.web") / "static"
    for part in path.split("/"):
        if part in {"", ".", ".."} or "\\" in part or "\0" in part:
            raise FileNotFoundError(path)
        place /= part
    if not place.is_file():
        raise FileNotFoundError(path)
    plain = place.read_bytes()
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    packed = gzip.compress(plain) if kind.startswith(("text/", "application/", "image/svg")) else None
    return kind, plain, packed if packed is not None and len(packed) < len(plain) else None


@lru_cache(maxsize=256)
def _read_once(path: str) -> tuple[str, bytes, bytes | None]:
    return _read_now(path)
