"""Browsers in which somebody has signed in before, known by a mark that they keep in a cookie.

The mark opens nothing. It only says that wrong guesses of others, wherever they come from, don't count against whoever
tries here: strangers can slow each other down, and not keep the owner out. It is good for one address alone, is signed
and not stored, and wrong guesses under it count for themselves.
"""

import hashlib
import hmac

from keepstone.model.ids import random_text
from keepstone.services import Services

LIFETIME_DAYS = 400  # as long as browsers keep a cookie


def new_mark(services: Services, email: str) -> str:
    name = random_text(24)
    return f"{name}.{_signature(services, email, name)}"


def known_name(services: Services, email: str, mark: str | None) -> str | None:
    """Under which the browser is known, if this is a mark of ours for this address."""
    name, _, signature = (mark or "").partition(".")
    good = name and hmac.compare_digest(signature.encode(), _signature(services, email, name).encode())
    return name if good else None


def _signature(services: Services, email: str, name: str) -> str:
    return hmac.new(services.jwt_secret.encode(), f"device {name} {email}".encode(), hashlib.sha256).hexdigest()
