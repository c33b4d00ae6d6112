"""The protocols for receiving mail, as subclasses of aiosmtpd. mail_listener.py decides on the replies."""

import asyncio
import logging
from typing import Any, Protocol

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP

from server.settings import MiB

MAX_LINE_BYTES = MiB  # bytes of one line of a message
logging.getLogger("mail.log").setLevel(logging.ERROR)  # the library logs every command, with addresses


class ConnectionCounter(Protocol):
    """Interface that is notified of connections."""

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """Called when a connection begins."""

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Called when a connection ends."""


class _CountedConnection(SMTP):
    """A connection that reports to its listener."""

    line_length_limit = MAX_LINE_BYTES
    _counted: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.listener: ConnectionCounter = self.event_handler
        if self._counted is None:  # called a second time after STARTTLS
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
    """Replies once for each recipient of a message. Follows RFC 2033, section 4.2."""

    _repeats = 1  # times to repeat the next reply

    async def push(self, status: Any) -> None:
        times, self._repeats = self._repeats, 1
        if str(status).startswith("354") and self.envelope is not None:
            self._repeats = len(self.envelope.rcpt_tos)
        for _ in range(times):
            await super().push(status)


PROTOCOLS: dict[str, type[SMTP]] = {"lmtp": _Lmtp, "smtp": _Smtp}
