"""Sending mail through the operator's server. Plain text, one message at a time."""

import asyncio
import smtplib
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from keepstone.errors import UpstreamError

_SECONDS = 30
# Why a mail server can't be used, as the code of what is raised.
REFUSED, UNREACHABLE, NO_SMTP, NOT_TAKEN = "mail_refused", "mail_unreachable", "mail_protocol", "mail_not_taken"


async def send(url: str, *, sender: str, to: str, subject: str, text: str) -> None:
    """Raises `UpstreamError` when the server does not take it."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=sender.rpartition("@")[2] or None)
    message.set_content(text)
    await asyncio.to_thread(_send, url, message)


async def check(url: str, *, seconds: float) -> None:
    """Sign in and send nothing. Raises `UpstreamError`, which says how far it came."""
    await asyncio.to_thread(_check, url, seconds)


def _check(url: str, seconds: float) -> None:
    try:
        with _signed_in(url, seconds) as server:
            server.noop()
    except smtplib.SMTPAuthenticationError:
        raise UpstreamError("The mail server refused the user or the password.", code=REFUSED) from None
    except ssl.SSLError:
        raise UpstreamError("The mail server's certificate or encryption can't be used.", code=NO_SMTP) from None
    except smtplib.SMTPException:
        raise UpstreamError("What answered does not speak SMTP as it should.", code=NO_SMTP) from None
    except OSError:
        raise UpstreamError("The mail server could not be reached in time.", code=UNREACHABLE) from None


def _send(url: str, message: EmailMessage) -> None:
    try:
        with _signed_in(url, _SECONDS) as server:
            server.send_message(message)
    except (OSError, smtplib.SMTPException) as fault:
        raise UpstreamError("The mail server did not take the message.", code=NOT_TAKEN) from fault


@contextmanager
def _signed_in(url: str, seconds: float) -> Generator[smtplib.SMTP]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme == "smtps"
    context = ssl.create_default_context()
    if secure:
        server = smtplib.SMTP_SSL(host, parts.port or 465, timeout=seconds, context=context)
    else:
        server = smtplib.SMTP(host, parts.port or 25, timeout=seconds)
    with server:
        if not secure:
            server.ehlo()
            if server.has_extn("starttls"):
                server.starttls(context=context)
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        yield server
