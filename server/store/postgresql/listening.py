"""Receives the announcements of other processes on the same database, by LISTEN on a separate connection.

An announcement is a hint; the news itself is in rows. After a lost connection, any of them may have changed."""

import os
import select
import socket
import threading
from collections.abc import Callable

import psycopg

from server import log
from server.store.postgresql.connection import LISTEN, parameters

CHANNEL = "helpdesk"
EVERYTHING = ""  # name for a listener that may have missed announcements
END_SECONDS = 2.0  # limit for the end of the thread when closing
AGAIN_SECONDS = 1.0
LOG = log.get("store")


class AnnouncementListener:
    """Calls hear(name) on its own thread for each announcement of another process."""

    def __init__(self, address: str, hear: Callable[[str], None]) -> None:
        self.channel = CHANNEL
        self._address = address
        self._hear = hear
        self._own = os.urandom(6).hex()  # identifies the announcements of this process, which it ignores
        self._closing = threading.Event()
        self._wake, self._woken = socket.socketpair()  # interrupts the wait for announcements
        self._thread = threading.Thread(target=self._run, name="announcements", daemon=True)
        self._thread.start()

    def payload(self, name: str) -> str:
        """Returns the payload of an announcement of this process."""
        return f"{self._own} {name}"

    def close(self) -> None:
        self._closing.set()
        self._wake.close()
        self._thread.join(END_SECONDS)
        self._woken.close()

    def _run(self) -> None:
        is_first = True
        while not self._closing.is_set():
            try:
                with psycopg.Connection.connect(autocommit=True, **parameters(self._address, LISTEN)) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    if not is_first:
                        self._guarded(EVERYTHING)
                    is_first = False
                    self._follow(connection)
            except psycopg.Error as error:
                LOG.warning("database.announcements_lost", reason=str(error).strip().replace("\n", " "))
                self._closing.wait(AGAIN_SECONDS)

    def _follow(self, connection: "psycopg.Connection[object]") -> None:
        while not self._closing.is_set():
            for each in connection.notifies(timeout=0):
                sender, _, name = each.payload.partition(" ")
                if sender != self._own:
                    self._guarded(name)
            select.select([connection.fileno(), self._woken.fileno()], [], [])

    def _guarded(self, name: str) -> None:
        try:
            self._hear(name)
        except Exception:
            LOG.exception("announcement.failed")
