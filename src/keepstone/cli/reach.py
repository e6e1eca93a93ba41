"""Which running server a command speaks to, and with which key."""

import ipaddress
from dataclasses import replace
from urllib.parse import urlsplit

from keepstone.errors import Misconfigured
from keepstone.settings import Settings

MAKE_A_KEY = "make one with `keepstone keys create --user EMAIL --name NAME` on the server's machine"


def address_of(settings: Settings) -> str:
    """`KEEPSTONE_URL`, or where the server of this machine listens."""
    return settings.url or replace(settings, public_url=None).base_url


def key_of(settings: Settings) -> str:
    """`KEEPSTONE_API_KEY`, or the first owner's: that one is never sent to another machine."""
    if settings.api_key:
        return settings.api_key
    if not is_local(address_of(settings)):
        raise Misconfigured(f"KEEPSTONE_URL names another machine: set KEEPSTONE_API_KEY to a key of it; {MAKE_A_KEY}.")
    path = settings.home / "owner-key"
    try:
        return path.read_text().strip()
    except OSError:
        raise Misconfigured(
            f"There is no key: KEEPSTONE_API_KEY is not set and {path} can't be read. Start `keepstone serve` once, "
            f"which writes it, or {MAKE_A_KEY} and set KEEPSTONE_API_KEY."
        ) from None


def is_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
