"""The state of a database server, for administrators. A database in a file has none."""

from server.dataclass import dataclass


@dataclass(frozen=True)
class Replica:
    """A replica. seconds: its lag, None if this user may not see it."""

    name: str
    state: str
    seconds: float | None


@dataclass(frozen=True)
class WriteTurn:
    """The holder of the write lock: a process of the program, or another program. seconds: since when. waiting: the
    number of processes that wait for it."""

    holder: str
    seconds: float
    waiting: int


@dataclass(frozen=True)
class ServerState:
    """seconds: the time of one round trip. connections, most: the present and the maximal number, over all programs.
    is_standby: the server is read-only. replicas: () also if this user may not see them. is_durable: whether commits
    are on disk. is_archiving: whether it archives its log for point-in-time recovery."""

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
