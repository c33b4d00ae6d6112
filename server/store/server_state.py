"""How a database server is, for who looks after it. A database that is a file has none."""

from server.dataclass import dataclass


@dataclass(frozen=True)
class Replica:
    """A server that follows. seconds: how far behind it is, None where this user may not see that."""

    name: str
    state: str
    seconds: float | None


@dataclass(frozen=True)
class WriteTurn:
    """Who has the turn to write: a process of the program, or another program that took it. seconds: for how long.
    waiting: how many others wait for it."""

    holder: str
    seconds: float
    waiting: int


@dataclass(frozen=True)
class ServerState:
    """seconds: one question and its answer. connections, most: that are there, and may be, of all programs. is_standby:
    it can only be read. replicas: () also where this user may not see them. is_durable: whether what is committed is on
    disk. is_archiving: whether it keeps its log for going back in time."""

    version: str
    encoding: str
    extension: str
    seconds: float
    connections: int
    most: int
    is_standby: bool
    is_durable: bool
    is_archiving: bool
    replicas: tuple[Replica, ...] = ()
    turn: WriteTurn | None = None
