"""Sending mail through the operator's server. Plain text, one message at a time."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from keepstone.errors import UpstreamError

_SECONDS = 30


async def send(url: str, *, sender: str, to: str, subject: str, text: str) -> None:
    """Raises `UpstreamError` when the server does not take it."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=sender.rpartition("@")[2] or None)
    message.set_content(text)
    await asyncio.to_thread(_send, url, message)


def _send(url: str, message: EmailMessage) -> None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme == "smtps"
    context = ssl.create_default_context()
    try:
        if secure:
            server = smtplib.SMTP_SSL(host, parts.port or 465, timeout=_SECONDS, context=context)
        else:
            server = smtplib.SMTP(host, parts.port or 25, timeout=_SECONDS)
        with server:
            if not secure:
                server.ehlo()
                if server.has_extn("starttls"):
                    server.starttls(context=context)
            if parts.username:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            server.send_message(message)
    except (OSError, smtplib.SMTPException) as fault:
        raise UpstreamError("The mail server did not take the message.") from fault
