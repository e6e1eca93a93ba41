"""Everything that can go wrong on purpose, without a word of HTTP.

KeepstoneError
├── Invalid            the caller's input can't be used as it is
│   └── Malformed      it does not even have the right shape (each fault with its path)
├── Unauthenticated    no credential, or not a good one
├── Forbidden          known, but not allowed to do this here
├── NotFound           not there, or not the caller's: nobody learns which
├── Conflict           the state of things does not permit it now
├── TooLarge           more bytes than are taken
├── TooSlow            it did not come in the time that it was given
├── QuotaExceeded      the plan's capacity or monthly limit is used up
├── PaymentRequired    not enough credits; nothing was charged
├── RateLimited        too many, too fast
├── UpstreamError      a model provider or another service did not deliver
├── Unavailable        a part of Keepstone itself is down; try again
│   └── DiskFull       too little room on the disk to store more; reading goes on
└── Misconfigured      the operator has to change something (command line and start-up only)

A message says what to do. It may quote the caller's own input but never a stored text, and it is never logged.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class KeepstoneError(Exception):
    """Base of the tree. `code` is the stable name clients match on. `fields` says of fields of the input what is wrong
    with them; where they stand in a request, only the surface knows.
    """

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | Sequence[Any] | None = None,
        fields: Mapping[str, str] | None = None,
        retry_after: float | None = None,
        upgrade_url: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.details = details
        self.fields = fields or {}
        self.retry_after = retry_after
        self.upgrade_url = upgrade_url


class Invalid(KeepstoneError):
    code = "VALIDATION_ERROR"


class Malformed(Invalid):
    pass


class Unauthenticated(KeepstoneError):
    code = "UNAUTHORIZED"


class Forbidden(KeepstoneError):
    code = "forbidden"


class NotFound(KeepstoneError):
    code = "not_found"


class Conflict(KeepstoneError):
    code = "conflict"


class TooLarge(KeepstoneError):
    code = "too_large"


class TooSlow(KeepstoneError):
    code = "request_timeout"


class QuotaExceeded(KeepstoneError):
    code = "quota_exceeded"


class PaymentRequired(KeepstoneError):
    code = "PAYMENT_REQUIRED"


class RateLimited(KeepstoneError):
    code = "rate_limited"


class UpstreamError(KeepstoneError):
    code = "UPSTREAM_ERROR"


class Unavailable(KeepstoneError):
    code = "unavailable"


class DiskFull(Unavailable):
    code = "disk_full"


class Misconfigured(KeepstoneError):
    code = "misconfigured"
