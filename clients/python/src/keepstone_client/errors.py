"""Everything that a call can raise.

KeepstoneError
├── Invalid              400, 422: what was sent can't be used; `details` names each fault
├── Unauthorized         401: no key, or not a good one
├── PaymentRequired      402: not enough credits; nothing was charged
├── Forbidden            403: known, but not allowed to do this here
├── NotFound             404: not there, or not yours
├── Conflict             409: the state of things does not permit it now
├── TooLarge             413: more bytes than the server takes
├── QuotaExceeded        429: capacity or a monthly limit is used up; `upgrade_url` may say where there is more
├── RateLimited          429: too many, too fast; `retry_after` says for how long
├── ServerFault          any other 5xx
│   ├── UpstreamError    502: a language model or another service did not deliver
│   └── Unavailable      503, 504: a part of the server is down
├── ConnectionFailed     there was no answer, or it broke off
└── UnexpectedAnswer     what answered is not Keepstone, or one that this client does not understand

What may be repeated has been, by the time one of these is raised.
"""

from collections.abc import Mapping
from typing import Any


class KeepstoneError(Exception):
    """Base of the tree. `code` is stable: match on it. `message` is for people and says what to do."""

    def __init__(
        self,
        code: str,
        message: str,
        status: int | None = None,
        request_id: str | None = None,
        details: Any = None,
        upgrade_url: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, message, status, request_id, details, upgrade_url, retry_after)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.details = details
        self.upgrade_url = upgrade_url
        self.retry_after = retry_after

    def __str__(self) -> str:
        where = f" ({self.status}, request {self.request_id})" if self.request_id else ""
        return f"{self.code}: {self.message}{where}"


class Invalid(KeepstoneError):
    pass


class Unauthorized(KeepstoneError):
    pass


class PaymentRequired(KeepstoneError):
    pass


class Forbidden(KeepstoneError):
    pass


class NotFound(KeepstoneError):
    pass


class Conflict(KeepstoneError):
    pass


class TooLarge(KeepstoneError):
    pass


class QuotaExceeded(KeepstoneError):
    pass


class RateLimited(KeepstoneError):
    pass


class ServerFault(KeepstoneError):
    pass


class UpstreamError(ServerFault):
    pass


class Unavailable(ServerFault):
    pass


class ConnectionFailed(KeepstoneError):
    pass


class UnexpectedAnswer(KeepstoneError):
    pass


BY_STATUS: Mapping[int, type[KeepstoneError]] = {
    400: Invalid,
    401: Unauthorized,
    402: PaymentRequired,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    502: UpstreamError,
    503: Unavailable,
    504: Unavailable,
}
