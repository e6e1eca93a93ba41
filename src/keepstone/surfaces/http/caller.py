"""The caller of a request as a principal, and the services of the app that answers it."""

import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from keepstone.access.devices import LIFETIME_DAYS
from keepstone.access.principals import Credentials, authenticate
from keepstone.access.rates import admit
from keepstone.access.require import require_admin
from keepstone.access.sessions import Browser, Login
from keepstone.errors import KeepstoneError, Malformed, NotFound, Unauthenticated
from keepstone.model.ids import is_any_id
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.http.permits import permit, require_disk

# Ours is looked at first: whatever else runs on this host name sets `session` too, and would sign people out.
OWN_COOKIE, COOKIE = COOKIES = ("keepstone_session", "session")
DEVICE_COOKIE = "keepstone_device"
# Below this only a browser's session is good, as the dashboard's own calls have it. The same operations take any
# credential under /v1.
BROWSER = "/chat/api"


# Where the requests a minute of a plan hold.
_LIMITED = ("/v1/", "/v2/", "/v3/", f"{BROWSER}/")
_MCP = {"/v1/mcp", "/v1/graph/mcp"}
_LONGEST_NAME = 255


class SignIn(Unauthenticated):
    """Somebody without a session, who did not say that they can read JSON: shown the login page."""


class LinkOver(NotFound):
    """A one-time link that is over, opened in a browser: shown what to do instead."""


# What `caller` reads by itself, as openapi.json tells it. Said to the framework, each would be looked up again with
# every request.
SECURITY_SCHEMES: Mapping[str, Any] = {
    "HTTPBearer": {
        "type": "http", "description": "An API key (`ck_…`) or a JWT from `/auth/token`.", "scheme": "bearer",
    },
    "APIKeyCookie": {"type": "apiKey", "description": "Set by `/auth/login`.", "in": "cookie", "name": COOKIE},
}  # fmt: skip
_SPEAKS_FOR = "With a service key: the user it speaks for, by id or e-mail address."
CALLER_DESCRIBED: Mapping[str, Any] = {
    "security": [{scheme: []} for scheme in SECURITY_SCHEMES],
    "parameters": [
        {
            "name": "x-keepstone-user", "in": "header", "required": False,
            "schema": {
                "anyOf": [{"type": "string", "maxLength": _LONGEST_NAME}, {"type": "null"}],
                "description": _SPEAKS_FOR, "title": "X-Keepstone-User",
            },
            "description": _SPEAKS_FOR,
        }
    ],
}  # fmt: skip


def services_of(request: Request) -> Services:
    return request.app.state.followed.services


async def caller(request: Request) -> Principal:
    """Who is calling, if they may again: settled once. Over MCP the tools ask the latter, to answer in its words."""
    state = request.scope["state"]
    if "principal" not in state:
        principal = await _authenticated(request)
        permit(request, principal.reach)
        require_disk(request, services_of(request).disk)
        path = request.scope["path"]
        if path.startswith(_LIMITED) and path not in _MCP:
            await admit(services_of(request), principal)
        state["principal"] = principal
    return state["principal"]


async def _authenticated(request: Request) -> Principal:
    headers, address = request.headers, client_address(request)
    given = map(request.cookies.get, COOKIES)
    sessions = tuple(dict.fromkeys(session for session in given if session))
    on_behalf_of = headers.get("x-keepstone-user")
    if on_behalf_of is not None and len(on_behalf_of) > _LONGEST_NAME:
        problem = f"has more than {_LONGEST_NAME} characters"
        raise Malformed(
            f"X-Keepstone-User {problem}.", details=[{"path": "header.x-keepstone-user", "message": problem}]
        )
    if not request.scope["path"].startswith(f"{BROWSER}/"):
        credentials = Credentials(
            authorization=headers.get("authorization"),
            sessions=sessions,
            on_behalf_of=on_behalf_of,
            address=address,
            route=f"{request.method} {getattr(request.scope.get('route'), 'path_format', '')}",
            object_id=next(filter(is_any_id, map(str, request.path_params.values())), None),
        )
        return await authenticate(services_of(request), credentials)
    try:
        return await authenticate(services_of(request), Credentials(sessions=sessions, address=address))
    except Unauthenticated as fault:
        if "application/json" in headers.get("accept", ""):
            raise
        raise SignIn(fault.message) from None


async def measured(request: Request) -> None:
    """Lets in whoever is on this machine, and an admin from anywhere: for numbers that say nothing of anybody."""
    if not from_loopback(request):
        require_admin(await caller(request))


async def is_operator(request: Request) -> bool:
    """The same as a question, which has an answer whatever is shown, and also while nobody can be looked up."""
    try:
        await measured(request)
    except KeepstoneError:
        return False
    return True


async def operator(request: Request) -> Principal:
    """An admin, wherever they are: who else is on this machine is not the operator for that."""
    principal = await caller(request)
    require_admin(principal)
    return principal


def client_address(request: Request) -> str:
    return request.client.host if request.client else ""


def from_loopback(request: Request) -> bool:
    """Whether it comes from this machine, and not through a proxy that nobody told us to believe."""
    trusted = services_of(request).settings.trusted_proxies
    if not trusted and any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip")):
        return False
    try:
        return ipaddress.ip_address(client_address(request)).is_loopback
    except ValueError:
        return False


def browser_of(request: Request) -> Browser:
    agent = request.headers.get("user-agent", "").replace("\0", "")
    return Browser(
        address=client_address(request), user_agent=agent[:255] or None, device=request.cookies.get(DEVICE_COOKIE)
    )


def set_session_cookie(response: Response, request: Request, login: Login) -> None:
    known_until = datetime.now(UTC) + timedelta(days=LIFETIME_DAYS)
    secure = request.url.scheme == "https" or (services_of(request).settings.public_url or "").startswith("https:")
    for name, value, until in (
        (COOKIE, login.token, login.expires_at),
        (OWN_COOKIE, login.token, login.expires_at),
        (DEVICE_COOKIE, login.device, known_until),
    ):
        response.set_cookie(name, value, path="/", httponly=True, samesite="lax", secure=secure, expires=until)


def delete_session_cookie(response: Response) -> None:
    for name in COOKIES:
        response.delete_cookie(name, path="/")


async def _services(request: Request) -> Services:
    """What is not a coroutine, the framework calls in another thread."""
    return services_of(request)


Used = Annotated[Services, Depends(_services)]
Caller = Annotated[Principal, Depends(caller)]
Operator = Annotated[Principal, Depends(operator)]

# What a route asks of its caller, settled by the headers alone, before anything else of the request is read.
SETTLED_FIRST: Collection[Callable[[Request], Awaitable[Any]]] = (caller, measured, operator)
