"""Hears what other processes of the same database announce, by LISTEN on a connection of its own.

What is announced is a hint: what is new is in rows. After the connection was lost, everything may be new."""

import os
import select
import socket
import threading
from collections.abc import Callable

import psycopg

from server import log
from server.store.postgresql.connection import LISTEN, parameters

CHANNEL = "helpdesk"
EVERYTHING = ""  # the name that is told after announcements may have been missed
END_SECONDS = 2.0  # how long closing waits at most for its thread
AGAIN_SECONDS = 1.0
LOG = log.get("store")


class AnnouncementListener:
    """hear(name) is called on its thread."""

    def __init__(self, address: str, hear: Callable[[str], None]) -> None:
        self.channel = CHANNEL
        self._address = address
        self._hear = hear
        self._own = os.urandom(6).hex()  # what this process announces is no news to it
        self._closing = threading.Event()
        self._wake, self._woken = socket.socketpair()  # ends its waiting for announcements
        self._thread = threading.Thread(target=self._run, name="announcements", daemon=True)
        self._thread.start()

    def told(self, name: str) -> str:
        """An announcement of this process."""
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
