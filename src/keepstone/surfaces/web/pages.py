"""Login and API reference: plain HTML, no script."""

from contextlib import suppress
from types import SimpleNamespace
from typing import Annotated
from urllib.parse import parse_qs, urlencode

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from keepstone.access.second_factor import CodeRequired
from keepstone.access.sessions import log_in, log_in_with_code, log_out
from keepstone.errors import KeepstoneError, RateLimited, Unauthenticated
from keepstone.surfaces.http.caller import Used, browser_of, caller, delete_session_cookie, set_session_cookie
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.web.html import page, spoken, text
from keepstone.surfaces.web.reference import reference

router = Router(include_in_schema=False)


# Each in English and in Chinese.
_WORDS = {
    "lang": ("en", "zh"),
    "sign_in": ("Sign in", "登录"),
    "title": ("Sign in to Keepstone", "登录 Keepstone"),
    "email": ("E-mail", "邮箱"),
    "password": ("Password", "密码"),
    "first": ("First time here?", "第一次来？"),
    "first_how": (
        "The server printed a one-time link when it first started: open it and you are in, without a password. "
        "You can set one afterwards, in the settings.",
        "服务器首次启动时会打印一个一次性链接：打开它即可登录，无需密码。之后可以在设置里设一个密码。",
    ),
    "first_again": (
        "It works once, for 24 hours. On the server's machine, this prints another:",
        "链接只能用一次，24 小时内有效。在服务器所在的机器上运行下面的命令，可以再得到一个：",
    ),
    "wrong": ("E-mail address or password is wrong.", "邮箱或密码不正确。"),
    "wait": ("Too many wrong passwords. Wait a little, then try again.", "密码输错太多次了。请稍等片刻再试。"),
    "code_title": ("One more step", "还差一步"),
    "code": ("Code", "验证码"),
    "code_how": (
        "Your app shows a code of six digits. If it is gone, use one of your recovery codes.",
        "请输入验证器应用显示的六位验证码。如果无法使用该应用，请输入一个恢复码。",
    ),
    "wrong_code": ("This code is not right, or was used already.", "验证码不正确，或已经用过。"),
    "late": ("That took too long: sign in again.", "等待时间过长：请重新登录。"),
    "over": ("This link has been used or is over", "这个链接已经用过或已失效"),
    "over_why": (
        "A one-time link signs in once, within 24 hours; a newer one ends it.",
        "一次性链接只能登录一次，24 小时内有效；生成新链接后，旧链接即作废。",
    ),
    "over_how": (
        "On the server's machine, this prints a new one:",
        "在服务器所在的机器上运行下面的命令，可以得到一个新的：",
    ),
}
_COMMAND = "<pre>keepstone login-link</pre>"


@router.get("/login")
async def login_page(
    request: Request,
    next: Annotated[str | None, Query(max_length=2000)] = None,  # noqa: A002
    fault: Annotated[str | None, Query(max_length=20)] = None,
) -> HTMLResponse:
    return _html(_login(_words(request), next, fault))


async def show_login(request: Request, fault: Exception) -> HTMLResponse:  # noqa: ARG001
    """In the place of what somebody without a session asked for."""
    return _html(_login(_words(request)))


async def show_link_over(request: Request, fault: Exception) -> HTMLResponse:  # noqa: ARG001
    words = _words(request)
    body = (
        f'<h1>{words.over}</h1><div class="card"><p>{words.over_why}</p><p>{words.over_how}</p>{_COMMAND}'
        f'<a class="button wide" href="/login">{words.sign_in}</a></div>'
    )
    return _html(page(words.over, body, narrow=True, lang=words.lang), 404)


def _login(words: SimpleNamespace, target: str | None = None, fault: str | None = None) -> str:
    alert = _alert(words, fault)
    return page(
        words.sign_in,
        f'<h1>{words.title}</h1><form class="card" method="post" action="/login">{alert}'
        f'<input type="hidden" name="next" value="{text(_own_path(target))}">'
        f'<label>{words.email}<input name="email" type="email" autocomplete="username" required autofocus></label>'
        f'<label>{words.password}<input name="password" type="password" autocomplete="current-password" required>'
        f'</label><button class="wide">{words.sign_in}</button></form>'
        f'<section class="first"><h2>{words.first}</h2><p class="soft">{words.first_how}</p>'
        f'<p class="soft">{words.first_again}</p>{_COMMAND}</section>',
        narrow=True,
        lang=words.lang,
    )


def _second_step(words: SimpleNamespace, target: str, ticket: str, fault: str | None = None) -> str:
    return page(
        words.code_title,
        f'<h1>{words.code_title}</h1><form class="card" method="post" action="/login">{_alert(words, fault)}'
        f'<input type="hidden" name="next" value="{text(target)}">'
        f'<input type="hidden" name="ticket" value="{text(ticket)}">'
        f'<label>{words.code}<input name="code" autocomplete="one-time-code" required autofocus></label>'
        f'<p class="soft">{words.code_how}</p><button class="wide">{words.sign_in}</button></form>',
        narrow=True,
        lang=words.lang,
    )


def _alert(words: SimpleNamespace, fault: str | None) -> str:
    faults = {"wrong": words.wrong, "wait": words.wait, "wrong_code": words.wrong_code, "late": words.late}
    return f'<p class="fault" role="alert">{faults[fault]}</p>' if fault in faults else ""


def _words(request: Request) -> SimpleNamespace:
    return spoken(request, _WORDS)


def _html(body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(body, status, {"vary": "accept-language"})


@router.post("/login")
async def login_form(request: Request, services: Used) -> Response:
    fields = parse_qs((await request.body()).decode(errors="replace"), max_num_fields=10)
    email, password, target, ticket, code = (
        fields.get(name, [""])[0] for name in ("email", "password", "next", "ticket", "code")
    )
    target, browser = _own_path(target), browser_of(request)
    try:
        if ticket:
            made = await log_in_with_code(services, ticket=ticket[:1000], code=code[:64], browser=browser)
        else:
            made = await log_in(services, email=email[:255], password=password[:1024], browser=browser)
    except CodeRequired as fault:
        return _html(_second_step(_words(request), target, fault.ticket), 401)
    except KeepstoneError as fault:
        reason = "wait" if isinstance(fault, RateLimited) else "wrong"
        if ticket and fault.code != Unauthenticated.code:
            step = reason if reason == "wait" else "wrong_code"
            return _html(_second_step(_words(request), target, ticket, step), 401)
        reason = "late" if ticket else reason
        return RedirectResponse("/login?" + urlencode({"next": target, "fault": reason}), 303)
    response = RedirectResponse(target, 303)
    set_session_cookie(response, request, made)
    return response


@router.post("/logout")
async def logout_form(request: Request, services: Used) -> Response:
    response = RedirectResponse("/login", 303)
    with suppress(Unauthenticated):
        await log_out(services, await caller(request))
    delete_session_cookie(response)
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
