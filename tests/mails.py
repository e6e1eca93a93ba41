"""A mail server for tests: takes what is sent to it and keeps it."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default


class Mailbox:
    """`refuses` makes it answer 451 to every recipient; `password` is the only one that it lets in, if there is one."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self.refuses = False
        self.password: str | None = None
        self.commands: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mailbox\r\n")
        while line := await reader.readline():
            word = line[:4].upper().strip()
            self.commands.append(word.decode())
            if word == b"EHLO" and self.password is not None:
                writer.write(b"250-fine\r\n250 AUTH PLAIN\r\n")
            elif word == b"AUTH":
                said = base64.b64decode(line.split()[-1]).split(b"\0")
                writer.write(b"235 in\r\n" if said[-1].decode() == self.password else b"535 out\r\n")
            elif word == b"DATA":
                writer.write(b"354 go on\r\n")
                text = await reader.readuntil(b"\r\n.\r\n")
                self.messages.append(message_from_bytes(text[:-3], policy=default))
                writer.write(b"250 kept\r\n")
            elif word == b"QUIT":
                writer.write(b"221 bye\r\n")
                break
            elif word == b"RCPT" and self.refuses:
                writer.write(b"451 not now\r\n")
            else:
                writer.write(b"250 fine\r\n")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def mailbox() -> AsyncGenerator[Mailbox]:
    box = Mailbox()
    server = await asyncio.start_server(box.serve, "127.0.0.1", 0)
    box.url = f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield box
