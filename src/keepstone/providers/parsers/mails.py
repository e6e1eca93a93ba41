"""E-mail as it is saved: who wrote to whom and when, its subject, its text, and what is attached, by name."""

from email.message import EmailMessage
from typing import Any

from keepstone.providers.parsers.markup import read_page
from keepstone.providers.parsers.process import library
from keepstone.providers.parsers.sections import ParsedSection, Sections, Unparsable

SHOWN = ("From", "To", "Cc", "Date")
KNOWN = ("From", "To", "Subject", "Date", "Message-ID")
DEEPEST = 5  # mails within mails
SEALED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})


def eml(data: bytes) -> list[ParsedSection]:
    parsed: Any = library("email").message_from_bytes(data, policy=library("email.policy").default)
    if not any(parsed.get(name) for name in KNOWN):
        raise Unparsable("damaged")
    found = Sections()
    _mail(parsed, found, 1)
    return found.close()


def _mail(mail: EmailMessage, found: Sections, depth: int) -> None:
    subject = _header(mail, "Subject")
    if subject:
        found.heading(depth, subject)
    for name in SHOWN:
        value = _header(mail, name)
        if value:
            found.line(f"{name}: {value}")
    found.apart()
    _part(mail, found, depth)


def _part(part: EmailMessage, found: Sections, depth: int) -> None:
    kind = part.get_content_type()
    if kind in SEALED and "signed" not in str(part.get_param("smime-type", "")):
        raise Unparsable("encrypted")
    if kind == "message/rfc822" and depth < DEEPEST:
        for inner in part.iter_parts() if part.is_multipart() else ():
            _mail(inner, found, depth + 1)  # pyright: ignore[reportArgumentType]
    elif part.is_multipart():
        parts: list[Any] = list(part.iter_parts())
        for one in [_best(parts)] if kind == "multipart/alternative" and parts else parts:
            _part(one, found, depth)
    elif part.get_filename() or part.get_content_disposition() == "attachment":
        found.apart()
        found.line(f"Attachment: {' '.join(str(part.get_filename() or kind).split())}")
    elif kind == "text/html":
        read_page(_text(part).encode(errors="replace"), found, titled=False)
        found.apart()
    elif kind.startswith("text/"):
        for line in _text(part).splitlines():
            if line.strip():
                found.line(line.rstrip())
            else:
                found.apart()
        found.apart()


def _best(parts: list[EmailMessage]) -> EmailMessage:
    """Of the same said several times: plain text, if it says something; else the richest, which is the last."""
    plain = [part for part in parts if part.get_content_type() == "text/plain" and _text(part).strip()]
    return plain[0] if plain else parts[-1]


def _text(part: EmailMessage) -> str:
    """A charset that nobody knows is read as UTF-8, as far as it is."""
    raw: Any = part.get_payload(decode=True) or b""
    try:
        return raw.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return raw.decode("utf-8", errors="replace")


def _header(mail: EmailMessage, name: str) -> str:
    return " ".join(str(mail.get(name, "")).split())
