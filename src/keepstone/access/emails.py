"""E-mail addresses as names: how they are compared, and what counts as one."""

import re

from keepstone.errors import Invalid

_FORM = re.compile(r"[^\s@\x00-\x1f\x7f]{1,64}@[^\s@\x00-\x1f\x7f]{1,189}")


def plain_email(text: str) -> str:
    """As it is stored: lower case, trimmed. What can't be an address is nobody's: the empty one."""
    email = text.strip().lower()
    return email if _FORM.fullmatch(email) else ""


def normal_email(text: str) -> str:
    """The same, for giving somebody this address."""
    email = plain_email(text)
    if not email:
        raise Invalid(f"{text[:80]!r} is not an e-mail address.")
    return email
