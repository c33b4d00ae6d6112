"""Sockets that the service listens on."""

import os
import socket
import stat
from contextlib import suppress

from tornado import netutil

UNIX_MODE = 0o660  # its owner and group: the proxy, or the mail server


def tcp_sockets(host: str, port: int) -> list[socket.socket]:
    """Returns a socket for each address of a host; `::` accepts IPv4 connections as well. Raises OSError."""
    return netutil.bind_sockets(port, None if host == "::" else host, reuse_port=False)


def unix_socket(path: str) -> socket.socket:
    """Returns a socket at a path, replacing a stale one. Raises OSError, ValueError."""
    bind = getattr(netutil, "bind_unix_socket", None)
    if bind is None:
        raise ValueError("this system has no Unix sockets")
    if _is_served(path):
        raise ValueError("another program listens there")
    listener: socket.socket = bind(path, mode=UNIX_MODE)
    return listener


def _is_served(path: str) -> bool:
    with suppress(OSError):
        if stat.S_ISSOCK(os.stat(path).st_mode) and hasattr(socket, "AF_UNIX"):
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(path)
                return True
    return False
