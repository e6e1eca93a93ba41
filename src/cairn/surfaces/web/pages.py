"""Login and API reference: plain HTML, no script."""

from contextlib import suppress
from typing import Annotated
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from cairn.access.sessions import log_in, log_out
from cairn.errors import CairnError, RateLimited, Unauthenticated
from cairn.surfaces.http.caller import COOKIE, Used, browser_of, caller, set_session_cookie
from cairn.surfaces.web.html import page, text
from cairn.surfaces.web.reference import reference

router = APIRouter(include_in_schema=False)

_FAULTS = {
    "wrong": "E-mail address or password is wrong.",
    "wait": "Too many wrong passwords. Wait a little, then try again.",
}


@router.get("/login")
async def login_page(
    next: Annotated[str | None, Query(max_length=2000)] = None,  # noqa: A002
    fault: Annotated[str | None, Query(max_length=20)] = None,
) -> HTMLResponse:
    return HTMLResponse(login_html(next, fault))


async def show_login(request: Request, fault: Exception) -> HTMLResponse:  # noqa: ARG001
    """In the place of what somebody without a session asked for."""
    return HTMLResponse(login_html())


def login_html(target: str | None = None, fault: str | None = None) -> str:
    told = f'<p class="fault" role="alert">{text(_FAULTS[fault])}</p>' if fault in _FAULTS else ""
    return page(
        "Sign in",
        f'<h1>Sign in to Cairn</h1><form class="card" method="post" action="/login">{told}'
        f'<input type="hidden" name="next" value="{text(_own_path(target))}">'
        '<label>E-mail<input name="email" type="email" autocomplete="username" required autofocus></label>'
        '<label>Password<input name="password" type="password" autocomplete="current-password" required></label>'
        '<button class="wide">Sign in</button></form>'
        '<p class="soft">First time here? The server printed a one-time link when it started; '
        "<code>cairn login-link</code> prints another.</p>",
        narrow=True,
    )


@router.post("/login")
async def login_form(request: Request, services: Used) -> Response:
    fields = parse_qs((await request.body()).decode(errors="replace"), max_num_fields=10)
    email, password, target = (fields.get(name, [""])[0] for name in ("email", "password", "next"))
    target = _own_path(target)
    try:
        made = await log_in(services, email=email[:255], password=password[:1024], browser=browser_of(request))
    except CairnError as fault:
        told = "wait" if isinstance(fault, RateLimited) else "wrong"
        return RedirectResponse("/login?" + urlencode({"next": target, "fault": told}), 303)
    response = RedirectResponse(target, 303)
    set_session_cookie(response, request, made)
    return response


@router.post("/logout")
async def logout_form(request: Request, services: Used) -> Response:
    response = RedirectResponse("/login", 303)
    with suppress(Unauthenticated):
        await log_out(services, await caller(request))
    response.delete_cookie(COOKIE, path="/")
    return response


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(reference(request.app.openapi()))


@router.get("/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())


def _own_path(target: str | None) -> str:
    """Where to go after the login: a path of ours, or the start page."""
    if target and target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable():
        return target
    return "/"
