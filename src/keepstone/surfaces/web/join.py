"""The page behind an invite link: name and password, and one is in. Plain HTML, no script."""

from types import SimpleNamespace
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from keepstone.access import invite_links
from keepstone.access.invite_links import Invited
from keepstone.access.passwords import LONGEST, SHORTEST
from keepstone.errors import Conflict, KeepstoneError, NotFound, RateLimited
from keepstone.surfaces.http.caller import Used, browser_of, set_session_cookie
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.web.html import page, spoken, text

router = Router(include_in_schema=False)

_WORDS = {
    "lang": ("en", "zh"),
    "title": ("Join {account}", "加入 {account}"),
    "by": ("{name} invites you. Choose how you are called and a password, and you are in.",
           "{name} 邀请您加入。填写姓名并设置密码，即可开始使用。"),
    "email": ("E-mail", "邮箱"),
    "email_how": ("You sign in with it.", "用于登录。"),
    "name": ("Name", "姓名"),
    "name_how": ("As others of the account see you.", "同一账户的其他人看到的名字。"),
    "password": ("Password", "密码"),
    "password_how": (f"At least {SHORTEST} characters.", f"至少 {SHORTEST} 个字符。"),
    "join": ("Join", "加入"),
    "have": ("You have an account here already?", "已经有账户？"),
    "sign_in": ("Sign in", "登录"),
    "taken": ("Somebody with this e-mail address is on this server already: sign in, or give another.",
              "这个邮箱已在此服务器上注册：请直接登录，或换一个邮箱。"),
    "short": (f"The password needs {SHORTEST} characters or more.", f"密码至少需要 {SHORTEST} 个字符。"),
    "wrong": ("This is not an e-mail address.", "邮箱格式不正确。"),
    "wait": ("Too many tries. Wait a little, then open the link again.", "尝试次数过多。请稍等片刻，再打开链接。"),
    "over": ("This invitation is over", "这个邀请已失效"),
    "over_why": ("It was used, taken back, or is older than seven days. Ask whoever sent it for a new one.",
                 "它已经用过、被收回，或已超过七天。请向发送者索取新的邀请。"),
}  # fmt: skip
_Token = Annotated[str, Path(max_length=255)]


@router.get("/join/{invite}")
async def join_page(request: Request, services: Used, invite: _Token) -> HTMLResponse:
    words = spoken(request, _WORDS)
    try:
        invited = await invite_links.look(services, token=invite, browser=browser_of(request))
    except (NotFound, RateLimited) as fault:
        return _refused(words, fault)
    return _html(_form(words, invite, invited))


@router.post("/join/{invite}")
async def join_form(request: Request, services: Used, invite: _Token) -> Response:
    words, browser = spoken(request, _WORDS), browser_of(request)
    fields = parse_qs((await request.body()).decode(errors="replace"), max_num_fields=10)
    email, name, password = (fields.get(field, [""])[0].replace("\0", "") for field in ("email", "name", "password"))
    try:
        invited = await invite_links.look(services, token=invite, browser=browser)
    except (NotFound, RateLimited) as fault:
        return _refused(words, fault)
    try:
        if not SHORTEST <= len(password) <= LONGEST:
            return _html(_form(words, invite, invited, words.short, email, name), 400)
        made = await invite_links.join(
            services, token=invite, browser=browser, email=email[:254], name=name.strip()[:255], password=password
        )
    except (NotFound, RateLimited) as fault:
        return _refused(words, fault)
    except KeepstoneError as fault:
        told = words.taken if isinstance(fault, Conflict) else words.wrong
        return _html(_form(words, invite, invited, told, email, name), 400)
    response = RedirectResponse("/", 303)
    set_session_cookie(response, request, made)
    return response


def _form(
    words: SimpleNamespace, token: str, invited: Invited, fault: str = "", email: str = "", name: str = ""
) -> str:
    title = words.title.format(account=invited.account_name)
    alert = f'<p class="fault" role="alert">{text(fault)}</p>' if fault else ""
    fixed = " readonly" if invited.email else " required autofocus"
    first = " autofocus" if invited.email else ""
    return page(
        title,
        f'<h1>{text(title)}</h1><p class="soft">{text(words.by.format(name=invited.invited_by))}</p>'
        f'<form class="card" method="post" action="/join/{text(token)}">{alert}'
        f'<label>{words.email}<input name="email" type="email" autocomplete="username" maxlength="254"'
        f' value="{text(invited.email or email)}"{fixed}><small class="soft">{words.email_how}</small></label>'
        f'<label>{words.name}<input name="name" autocomplete="name" maxlength="255" value="{text(name)}"'
        f' required{first}><small class="soft">{words.name_how}</small></label>'
        f'<label>{words.password}<input name="password" type="password" autocomplete="new-password"'
        f' minlength="{SHORTEST}" maxlength="{LONGEST}" required>'
        f'<small class="soft">{words.password_how}</small></label>'
        f'<button class="wide">{words.join}</button></form>'
        f'<p class="first soft">{words.have} <a href="/login">{words.sign_in}</a></p>',
        narrow=True,
        lang=words.lang,
    )


def _refused(words: SimpleNamespace, fault: KeepstoneError) -> HTMLResponse:
    if isinstance(fault, RateLimited):
        return _html(page(words.over, f"<h1>{words.wait}</h1>", narrow=True, lang=words.lang), 429)
    body = (
        f'<h1>{words.over}</h1><div class="card"><p>{words.over_why}</p>'
        f'<a class="button wide" href="/login">{words.sign_in}</a></div>'
    )
    return _html(page(words.over, body, narrow=True, lang=words.lang), 404)


def _html(body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(body, status, {"vary": "accept-language"})
