"""The protocols that mail is handed over by, as aiosmtpd speaks them. What they say is decided in mail_listener.py."""

import asyncio
import logging
from typing import Any, Protocol

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP

from server.settings import MiB

MAX_LINE_BYTES = MiB  # of one line of a mail
logging.getLogger("mail.log").setLevel(logging.ERROR)  # the library tells of every command, with addresses


class ConnectionCounter(Protocol):
    """Who is told of connections."""

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """A connection began."""

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """A connection ended."""


class _CountedConnection(SMTP):
    """A connection that its listener knows of."""

    line_length_limit = MAX_LINE_BYTES
    _counted: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.listener: ConnectionCounter = self.event_handler
        if self._counted is None:  # with STARTTLS it is called once more, for what is encrypted
            self._counted = transport
            self.listener.opened(transport)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._counted is not None:
            self.listener.closed(self._counted)
            self._counted = None
        super().connection_lost(error)


class _Smtp(_CountedConnection):
    pass


class _Lmtp(_CountedConnection, LMTP):
    """Says what became of a mail once for each recipient. Follows RFC 2033, section 4.2."""

    _answers = 1  # how often the next answer is given

    async def push(self, status: Any) -> None:
        times, self._answers = self._answers, 1
        if str(status).startswith("354") and self.envelope is not None:
            self._answers = len(self.envelope.rcpt_tos)
        for _ in range(times):
            await super().push(status)


PROTOCOLS: dict[str, type[SMTP]] = {"lmtp": _Lmtp, "smtp": _Smtp}
