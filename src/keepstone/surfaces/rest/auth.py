"""Signing in and out, and tokens, for programs; the page with the form is in `surfaces/web`."""

from contextlib import suppress
from typing import Annotated

from fastapi import Path, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from keepstone.access import second_factor as factors
from keepstone.access.passwords import LONGEST, SHORTEST
from keepstone.access.sessions import change_password, log_in, log_in_once, log_out
from keepstone.access.tokens import accept_invitation, mint_token
from keepstone.errors import NotFound, Unauthenticated
from keepstone.model.ids import pattern
from keepstone.surfaces.http.caller import (
    Caller,
    LinkOver,
    Used,
    browser_of,
    caller,
    delete_session_cookie,
    set_session_cookie,
)
from keepstone.surfaces.http.qr import qr_svg
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Shown, Time, Wire
from keepstone.surfaces.rest.users import UserOut

router = Router(prefix="/auth", tags=["auth"])


class LoginIn(Wire):
    email: Annotated[str, Field(min_length=1, max_length=255)]
    password: Annotated[str, Field(min_length=1, max_length=LONGEST)]

    code: Annotated[
        str | None,
        Field(max_length=64, description="With a second factor: what the app shows, or a recovery code."),
    ] = None


class SecondFactorOut(Shown):
    enabled: bool
    recovery_codes_left: int


class EnrolIn(Wire):
    password: Annotated[str | None, Field(max_length=LONGEST, description="If there is one.")] = None


class EnrolmentOut(Shown):
    secret: str = Field(description="In base32, to type into an authenticator app. It is shown this once.")
    uri: str = Field(description="The same as `otpauth://…`.")
    qr_svg: str = Field(description="The same as a picture to scan.")


class CodeIn(Wire):
    code: Annotated[str, Field(min_length=1, max_length=64, description="What the app shows.")]


class DisableIn(EnrolIn, CodeIn):
    pass


class RecoveryOut(Shown):
    recovery_codes: list[str] = Field(description="Each signs in once, if the app is gone. They are shown this once.")


class LoginOut(Shown):
    user: UserOut
    expires_at: Time


class TokenOut(Shown):
    token: str = Field(validation_alias="text")
    token_type: str = "Bearer"  # noqa: S105
    expires_in: int = Field(description="Seconds.")
    expires_at: Time


class AcceptIn(Wire):
    account_id: Annotated[str, Field(pattern=f"^{pattern('acct')}$", description="The account that made the place.")]


class PasswordIn(Wire):
    current: Annotated[str | None, Field(max_length=LONGEST, description="The password so far, if there is one.")] = (
        None
    )
    new: Annotated[str, Field(min_length=SHORTEST, max_length=LONGEST)]


@router.post("/login", summary="Sign in: sets the cookie `session`")
async def login(request: Request, response: Response, services: Used, body: LoginIn) -> LoginOut:
    made = await log_in(services, **dict(body), browser=browser_of(request))
    set_session_cookie(response, request, made)
    return LoginOut.of(made)


@router.post("/logout", status_code=204, summary="Sign out: ends the session of this cookie")
async def logout(request: Request, response: Response, services: Used) -> None:
    with suppress(Unauthenticated):  # a session that is over already is what was asked for
        await log_out(services, await caller(request))
    delete_session_cookie(response)


@router.get(
    "/once/{token}",
    summary="One-time link: signs in and goes to the start page",
    status_code=303,
    response_class=RedirectResponse,
)
async def once(request: Request, services: Used, token: Annotated[str, Path(max_length=255)]) -> Response:
    try:
        made = await log_in_once(services, token=token, browser=browser_of(request))
    except NotFound as fault:
        if "text/html" in request.headers.get("accept", ""):
            raise LinkOver(fault.message) from None
        raise
    response = RedirectResponse("/", 303)
    set_session_cookie(response, request, made)
    return response


@router.post("/token", summary="Mint a JWT for the caller")
async def token(services: Used, principal: Caller) -> TokenOut:
    return TokenOut.of(await mint_token(services, principal))


@router.post("/accept", summary="Take the place in an account that its owner made for the address in a foreign token")
async def accept(request: Request, services: Used, body: AcceptIn) -> UserOut:
    authorization = request.headers.get("authorization")
    return UserOut.model_validate(await accept_invitation(services, authorization, body.account_id))


@router.post("/password", status_code=204, summary="Set or change the caller's password")
async def password(services: Used, principal: Caller, body: PasswordIn) -> None:
    await change_password(services, principal, current=body.current, new=body.new)


Routes(router, SecondFactorOut).one(
    "GET", "/totp", factors.state, "second_factor", "Whether I sign in with a code of an app too"
)


@router.post("/totp", status_code=201, summary="Set up a second factor: what an authenticator app needs to know")
async def enrol_second_factor(services: Used, principal: Caller, body: EnrolIn) -> EnrolmentOut:
    enrolment = await factors.enrol(services, principal, password=body.password)
    return EnrolmentOut.of(enrolment, qr_svg=qr_svg(enrolment.uri))


@router.post("/totp/confirm", summary="Turn it on with a first code; from then on signing in asks for one")
async def confirm_second_factor(services: Used, principal: Caller, body: CodeIn) -> RecoveryOut:
    return RecoveryOut(recovery_codes=await factors.confirm(services, principal, code=body.code))


@router.post("/totp/disable", status_code=204, summary="Turn it off, with password and code")
async def disable_second_factor(services: Used, principal: Caller, body: DisableIn) -> None:
    await factors.disable(services, principal, password=body.password, code=body.code)
