"""The Python client of Cairn: `Cairn` and `AsyncCairn`, what they return and what they raise."""

from cairn_client.client import AsyncCairn, Cairn
from cairn_client.core import VERSION, Page, Request, Retries
from cairn_client.errors import (
    CairnError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    Invalid,
    NotFound,
    PaymentRequired,
    QuotaExceeded,
    RateLimited,
    ServerFault,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    UpstreamError,
)

__version__ = VERSION

__all__ = [
    "AsyncCairn",
    "Cairn",
    "CairnError",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "Invalid",
    "NotFound",
    "Page",
    "PaymentRequired",
    "QuotaExceeded",
    "RateLimited",
    "Request",
    "Retries",
    "ServerFault",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "UpstreamError",
    "__version__",
]
