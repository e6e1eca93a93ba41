"""The Python client of Keepstone: `Keepstone` and `AsyncKeepstone`, what they return and what they raise."""

from keepstone_client.client import AsyncKeepstone, Keepstone
from keepstone_client.core import VERSION, Page, Request, Retries
from keepstone_client.errors import (
    Conflict,
    ConnectionFailed,
    Forbidden,
    Invalid,
    KeepstoneError,
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
    "AsyncKeepstone",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "Invalid",
    "Keepstone",
    "KeepstoneError",
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
