"""Reads the state of the PostgreSQL server, as far as the user of one database may."""

import time

from server.store.postgresql.connection import Connection
from server.store.postgresql.schema import EXTENSION
from server.store.server_state import Replica, ServerState, WriteTurn

SIDE_BY_SIDE = 3  # measurements of the latency; the shortest counts

_ABOUT = """SELECT current_setting('server_version'), current_setting('server_encoding'),
    coalesce((SELECT extversion FROM pg_extension WHERE extname = $1), ''),
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint,
    pg_is_in_recovery(), current_setting('fsync'), current_setting('archive_mode')"""
_REPLICAS = """SELECT coalesce(nullif(application_name, ''), 'replica'), coalesce(state, ''),
    extract(epoch FROM replay_lag)::double precision FROM pg_stat_replication ORDER BY 1"""
_TURN = """SELECT coalesce(nullif(application_name, ''), 'another program') || ', process ' || locks.pid
        || coalesce(' from ' || host(client_addr), ''),
    coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::double precision,
    (SELECT count(*) FROM pg_locks AS others WHERE others.locktype = 'advisory' AND NOT others.granted
        AND others.database = locks.database AND others.classid = 0 AND others.objid = locks.objid)
    FROM pg_locks AS locks LEFT JOIN pg_stat_activity AS who ON who.pid = locks.pid
    WHERE locks.locktype = 'advisory' AND locks.granted AND locks.classid = 0 AND locks.objsubid = 1
        AND locks.objid = $1::bigint::oid
        AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


def state_of(connection: Connection, turn: int) -> ServerState:
    """Returns the state of the server. turn: the id of the advisory lock of writers. Raises psycopg.Error."""
    about = connection.execute(_ABOUT, (EXTENSION,))[0]
    replicas = connection.execute(_REPLICAS)
    turns = connection.execute(_TURN, (turn,))
    return ServerState(
        version=about[0],
        encoding=about[1],
        extension=about[2],
        seconds=_latency(connection),
        connections=about[3],
        most=about[4],
        is_standby=bool(about[5]),
        is_durable=about[6] == "on",
        is_archiving=about[7] != "off",
        replicas=tuple(Replica(*row) for row in replicas),
        turn=WriteTurn(*turns[0]) if turns else None,
    )


def _latency(connection: Connection) -> float:
    seconds = []
    for _ in range(SIDE_BY_SIDE):
        began = time.perf_counter()
        connection.execute("SELECT 1")
        seconds.append(time.perf_counter() - began)
    return min(seconds)
