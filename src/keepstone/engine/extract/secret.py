"""Secrets, which nothing may remember: passwords, keys, tokens and the numbers of cards, or what looks like one."""

import re

from keepstone.engine.language import tables

_SECRET = tables.load("secrets").pattern("secret")
# A long run is a secret when it is mixed as no word is, and a long number when its check is right.
_OPAQUE = re.compile(r"[A-Za-z0-9+_=-]{20,}")
_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")


def has_secret(text: str) -> bool:
    """Whether there is a password, a key, a token or the number of a card in it, or what looks like one."""
    if _SECRET.search(text) or any(map(_mixed, _OPAQUE.findall(text))):
        return True
    return any(map(_checks, _CARD.findall(text)))


def _mixed(run: str) -> bool:
    """Whether a long run has digits, capitals and small letters: no word has."""
    return any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))


def _checks(number: str) -> bool:
    """Whether the last digit is the right one for the number of a card (Luhn)."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
