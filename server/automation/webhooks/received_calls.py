"""Stores the requests and responses of webhooks, to inspect them and to run them again.

Secret headers, parameters and values in bodies, recognized by their names, are never written; see secret_requests.py
and redacting.py."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import peewee

from server.automation.engine import RunResult
from server.automation.types.webhook_listener import KEPT_DAYS
from server.automation.webhooks import webhook_tokens
from server.automation.webhooks.redacting import redacted
from server.automation.webhooks.secret_requests import HIDDEN, hidden, hidden_headers, hidden_query, withheld
from server.automation.webhooks.webhook_tokens import record_use
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Invalid, NotFound, nearest
from server.jobs.scheduler import periodic
from server.store.expressions import by_place
from server.store.statements import ordering, slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_

DOING = "see what webhooks received"  # completes the message of AdminOnly

if TYPE_CHECKING:
    from server.automation.webhooks.responding import WebhookRequest

CHANNEL = "deliveries"
DAY_SECONDS, HOUR_SECONDS = 86400, 3600
KEPT_FAILURES = 5  # last failures of each webhook that are retained regardless of age
MAX_KEPT = 10_000  # deliveries of all webhooks; the oldest are deleted first
MAX_KEPT_BYTES = 1024 * 1024 * 1024  # all requests and responses together; the oldest are deleted first
MAX_BODY_BYTES = 1024 * 1024  # stored bytes of a request or response; a longer request cannot be run again
TIMED = 500  # last calls of a webhook in the statistics
MAX_STEPS = 200  # stored commands of a trace
BATCH = 50  # deliveries removed per transaction
FAILED = 400  # lowest status of a failure, of the caller or of the service
LISTED = (
    "id",
    "at",
    "method",
    "path",
    "size",
    "client",
    "replay_of",
    "automation",
    "state",
    "message",
    "ms",
    "status",
    "run_id",
)
SORTS = ("at", "status", "size", "ms")
ANSWERS = ("done", "failed")

DELIVERY = Table(
    "webhook_delivery",
    [
        Column("listener_id", references="webhook_listener(id)"), Column("at"), Column("method", "TEXT"),
        Column("path", "TEXT"), Column("query", "TEXT"), Column("headers", "TEXT"), Column("body", "BLOB"),
        Column("size"), Column("client", "TEXT"), Column("replay_of"), Column("automation", "TEXT"),
        Column("state", "TEXT"), Column("message", "TEXT"), Column("status"), Column("answer_headers", "TEXT"),
        Column("answer", "BLOB"), Column("answer_size"), Column("trace", "TEXT"), Column("ms"), Column("run_id"),
        Column("notes", "TEXT"),
    ],
    [Index(("listener_id", "at", "status", "size", "answer_size"), "those of a webhook, and which of them to keep, "
           "without a look at the bodies"),
     Index(("at", "listener_id"), "calls by the hour, and all deliveries by time")],
)  # fmt: skip
# notes: one sentence per line about parts of the request that could not be parsed

_LISTENER: Any = table_named("webhook_listener")


@dataclass
class WebhookDelivery:
    """A delivery to be stored. former_token_id: the old address that the request used, 0 for none. ms: duration of the
    automation."""

    listener_id: int
    at: int
    received: "WebhookRequest"
    former_token_id: int = 0
    automation: str = ""
    state: str = ""
    message: str = ""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    kept_body: bytes = b""
    kept_answer: bytes = b""
    trace: list[dict[str, Any]] = field(default_factory=list)
    ms: int = 0

    @classmethod
    def from_request(
        cls, listener_id: int, received: "WebhookRequest", now: int, former_token_id: int = 0
    ) -> "WebhookDelivery":
        # Computed here to keep the writer thread free.
        kept_body = redacted(received.body[:MAX_BODY_BYTES], _type_of(received.headers))
        return cls(listener_id, now, received, former_token_id, kept_body=kept_body)

    def answer(self, name: str, result: RunResult, status: int, headers: dict[str, str], body: bytes) -> None:
        """Records the result of a run and its response."""
        self.automation, self.state, self.message = name, result.state, result.message
        self.status, self.headers, self.body = status, headers, body
        self.kept_answer = redacted(body[:MAX_BODY_BYTES], _type_of(headers.items()))
        self.trace = [vars(step) for step in result.trace]

    def values(self) -> dict[str, Any]:
        """Returns the stored values, without the secrets of request and response."""
        received = self.received
        answer_headers = {name: hidden(name, value) for name, value in self.headers.items()}
        return {
            "listener_id": self.listener_id,
            "at": self.at,
            "method": received.method,
            "path": received.path,
            "query": hidden_query(received.query),
            "headers": json.dumps(hidden_headers(received.headers)),
            "body": self.kept_body,
            "size": len(received.body),
            "client": received.client,
            "replay_of": received.replay_of,
            "automation": self.automation,
            "state": self.state,
            "message": self.message,
            "status": self.status,
            "answer_headers": json.dumps(answer_headers),
            "answer": self.kept_answer,
            "answer_size": len(self.body),
            "trace": json.dumps(self.trace),
            "ms": self.ms,
            "notes": "\n".join(received.notes),
        }

    def holds_back(self, values: dict[str, Any]) -> bool:
        """Returns whether the stored values are incomplete: a secret or the end of a long body is missing."""
        received = self.received
        came = (json.dumps(received.headers), received.query, received.body)
        return came != (values["headers"], values["query"], values["body"])


def keep(tx: Transaction, each: WebhookDelivery, values: dict[str, Any]) -> int:
    """Stores a delivery; returns its id, 0 if its webhook was deleted. values: as returned by
    WebhookDelivery.values()."""
    if (
        tx.value(
            lambda: _LISTENER.select(_LISTENER.c.id).where(_LISTENER.c.id == slot(0)),
            (each.listener_id,),
        )
        is None
    ):
        return 0
    if each.former_token_id:
        record_use(tx, each.former_token_id, each.at)
    return tx.insert(DELIVERY, values)


def row_of(tx: Transaction, id: int) -> dict[str, Any]:
    """Returns the stored values of a delivery. Raises NotFound."""
    row = tx.get(DELIVERY, id)
    if row is None:
        raise NotFound(f"there is no delivery {id}; it may have been deleted")
    return dict(zip(DELIVERY.names, row, strict=True))


def list_deliveries(tx: Transaction, listener_id: int, limit: int, page: int) -> tuple[list[dict[str, Any]], int]:
    """Returns deliveries of a listener, newest first, without bodies and traces; and their total number."""
    table: Any = DELIVERY.sql
    rows = tx.rows(
        lambda: (
            table.select(*(getattr(table, name) for name in LISTED))
            .where(table.listener_id == slot(0))
            .order_by(table.at.desc(), table.id.desc())
            .limit(slot(1))
            .offset(slot(2))
        ),
        (listener_id, limit, limit * page),
    )
    total = tx.value(
        lambda: table.select(peewee.fn.COUNT(table.id)).where(table.listener_id == slot(0)),
        (listener_id,),
    )
    return [dict(zip(LISTED, row, strict=True)) for row in rows], int(total or 0)


def last_id(tx: Transaction, listener_id: int) -> int:
    """Returns the id of a listener's last delivery, 0 for none."""
    table: Any = DELIVERY.sql
    return int(
        tx.value(
            lambda: table.select(peewee.fn.MAX(table.id)).where(table.listener_id == slot(0)),
            (listener_id,),
        )
        or 0
    )


def latest(tx: Transaction) -> dict[int, dict[str, Any]]:
    """Returns the last delivery and the count of each listener that has any: {listener id: {id, at, status, count}}."""
    table: Any = DELIVERY.sql
    rows = tx.rows(
        lambda: table.select(table.listener_id, peewee.fn.MAX(table.id), peewee.fn.COUNT(table.id)).group_by(
            table.listener_id
        )
    )
    counts = {id: (listener_id, count) for listener_id, id, count in rows}
    at = DELIVERY.position
    return {
        counts[row[0]][0]: {"id": row[0], "at": row[at["at"]], "status": row[at["status"]], "count": counts[row[0]][1]}
        for row in tx.get_many(DELIVERY, counts)
    }


def by_hour(tx: Transaction, since: int, hours: int) -> dict[int, list[int]]:
    """Returns the number of deliveries of each listener per hour since an instant, without empty hours."""
    table: Any = DELIVERY.sql

    def build() -> Any:
        hour = (table.at - slot(0)) / HOUR_SECONDS
        query = table.select(table.listener_id, hour, peewee.fn.COUNT(table.id)).where(table.at >= slot(0))
        return query.group_by(*by_place(2))

    rows = tx.rows(build, (since,))
    counts: dict[int, list[int]] = {}
    for listener_id, place, count in rows:
        if place < hours:
            counts.setdefault(listener_id, [0] * hours)[place] = count
    return counts


def redacted_delivery(values: dict[str, Any]) -> dict[str, Any]:
    """Returns a delivery for display: secrets hidden, bodies as text."""
    # Hidden again: older versions stored them in plain text.
    headers = hidden_headers([(name, value) for name, value in json.loads(values["headers"])])
    answer_headers = {name: hidden(name, value) for name, value in json.loads(values["answer_headers"]).items()}
    return {
        "id": values["id"],
        "webhook_id": values["listener_id"],
        "at": values["at"],
        "client_ip": values["client"],
        "replay_of": values["replay_of"],
        "automation": values["automation"],
        "state": values["state"],
        "message": values["message"],
        "ms": values["ms"],
        "run_id": values["run_id"],
        "request": {
            "method": values["method"],
            "path": values["path"],
            "query": hidden_query(values["query"]),
            "headers": [list(each) for each in headers],
            "body": _text(redacted(values["body"] or b"", _type_of(headers))),
            "size": values["size"],
            "notes": (values["notes"] or "").splitlines(),
        },
        "response": {
            "status": values["status"],
            "headers": answer_headers,
            "body": _text(redacted(values["answer"] or b"", _type_of(answer_headers.items()))),
            "size": values["answer_size"],
        },
        "trace": json.loads(values["trace"]),
    }


def is_redacted(delivery: dict[str, Any]) -> bool:
    """Returns whether secrets are hidden in the request of a delivery for display."""
    request = delivery["request"]
    texts = (*(value for _name, value in request["headers"]), unquote(request["query"]), unquote(request["body"]))
    return any(HIDDEN in text for text in texts)


def _type_of(headers: Iterable[tuple[str, str]]) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


@periodic(N_("old webhook deliveries"), N_("Removes deliveries that no retention rule keeps."), deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Deletes deliveries past their webhook's retention, and the oldest of all beyond MAX_KEPT or MAX_KEPT_BYTES."""
    ids = service.store.read(lambda tx: _old_ids(service, tx, now))
    for begin in range(0, len(ids), BATCH):
        batch = [(id,) for id in ids[begin : begin + BATCH]]
        service.store.write(
            lambda tx, batch=batch: tx.run_many(  # type: ignore[misc]
                lambda: DELIVERY.sql.delete().where(DELIVERY.sql.id == slot(0)), batch
            )
        )


def _old_ids(service: Service, tx: Transaction, now: int) -> list[int]:
    """Returns deliveries past the retention of their webhook, except its last ones and its last failures."""
    table: Any = DELIVERY.sql
    rows = tx.rows(
        lambda: table.select(table.id, table.listener_id, table.at, table.status, table.size, table.answer_size)
    )
    listeners = service.registry.type("webhook_listener").table
    at = listeners.position
    rules = {row[0]: (row[at["kept_days"]], row[at["kept_last"]]) for row in tx.find(listeners)} if rows else {}
    ids, kept_bytes = set(), 0
    counts: Counter[int] = Counter()
    failures: Counter[int] = Counter()
    for place, (id, listener_id, came_at, status, *both) in enumerate(sorted(rows, reverse=True)):
        days, last = rules.get(listener_id, (KEPT_DAYS, 0))
        counts[listener_id] += 1
        failures[listener_id] += status >= FAILED
        is_failure = status >= FAILED and failures[listener_id] <= KEPT_FAILURES
        kept_bytes += sum(min(size, MAX_BODY_BYTES) for size in both)
        is_old = came_at < now - days * DAY_SECONDS and counts[listener_id] > last
        if ((is_old or place >= MAX_KEPT) and not is_failure) or kept_bytes > MAX_KEPT_BYTES:
            ids.add(id)
    return sorted(ids)


def one(ctx: Context, id: int) -> dict[str, Any]:
    """Returns a delivery with request, response and trace. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    return redacted_delivery(ctx.service.store.read(lambda tx: row_of(tx, id), steps=ctx.steps))


def of_listener(ctx: Context, listener_id: int, limit: int, page: int) -> tuple[list[dict[str, Any]], int]:
    """Returns the same as list_deliveries(). Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> tuple[list[dict[str, Any]], int]:
        webhook_tokens.require(ctx, tx, listener_id)
        return list_deliveries(tx, listener_id, limit, page)

    return ctx.service.store.read(read, steps=ctx.steps)


def all_of(
    ctx: Context, listener_id: int, answer: str, limit: int, page: int, sort: str = "-at"
) -> tuple[list[dict[str, Any]], int]:
    """Returns deliveries of all webhooks without bodies and traces, and their total number. listener_id: restricts them
    to one webhook, 0 for all. answer: one of ANSWERS, or "" for both. sort: one of SORTS, with "-" in front to
    reverse it. Raises AdminOnly, Invalid."""
    ctx.require_admin(DOING)
    if answer and answer not in ANSWERS:
        raise Invalid(
            f"answer: '{answer[:60]}' is not valid{nearest(answer, ANSWERS)}; use done or failed", field="answer"
        )
    has_listener = bool(listener_id)
    values = (listener_id,) if has_listener else ()

    def read(tx: Transaction) -> tuple[list[dict[str, Any]], int]:
        rows = tx.rows(lambda: _page(has_listener, answer, sort), (*values, limit, limit * page))
        total = tx.value(lambda: _answered(has_listener, answer, peewee.fn.COUNT(DELIVERY.sql.id)), values)
        return [dict(zip(("listener_id", *LISTED), row, strict=True)) for row in rows], int(total or 0)

    return ctx.service.store.read(read, steps=ctx.steps)


def _answered(has_listener: bool, answer: str, *columns: Any) -> Any:
    table: Any = DELIVERY.sql
    query = table.select(*columns)
    if has_listener:
        query = query.where(table.listener_id == slot(0))
    if answer:
        query = query.where(table.status >= FAILED if answer == "failed" else table.status < FAILED)
    return query


def _page(has_listener: bool, answer: str, sort: str) -> Any:
    table: Any = DELIVERY.sql
    order = ordering({name: getattr(table, name) for name in SORTS}, sort)
    columns = [getattr(table, name) for name in ("listener_id", *LISTED)]
    query = _answered(has_listener, answer, *columns).order_by(*order, table.id.desc())
    return query.limit(slot(has_listener)).offset(slot(has_listener + 1))


@dataclass(frozen=True, slots=True)
class WebhookSpeed:
    """Response times of recent calls. times: milliseconds, oldest first. failed: number of responses with status 400 or
    more, whether the caller or the service was at fault."""

    times: tuple[int, ...] = ()
    failed: int = 0

    def within(self, share: float) -> int:
        """Returns the milliseconds that this share of the calls did not exceed; 0 without calls.

        >>> WebhookSpeed((1, 9, 2, 4)).within(0.5), WebhookSpeed((1, 9, 2, 4)).within(0.95), WebhookSpeed().within(0.5)
        (2, 9, 0)"""
        durations = sorted(self.times)
        return durations[max(0, ceil(len(durations) * share) - 1)] if durations else 0


def speed(ctx: Context, listener_id: int) -> WebhookSpeed:
    """Returns the durations of the last TIMED calls of a webhook. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    table: Any = DELIVERY.sql

    def read(tx: Transaction) -> WebhookSpeed:
        webhook_tokens.require(ctx, tx, listener_id)
        rows = tx.rows(
            lambda: (
                table.select(table.ms, table.status)
                .where(table.listener_id == slot(0))
                .order_by(table.at.desc(), table.id.desc())
                .limit(TIMED)
            ),
            (listener_id,),
        )
        return WebhookSpeed(tuple(round(ms) for ms, _ in reversed(rows)), sum(status >= 400 for _, status in rows))

    return ctx.service.store.read(read, steps=ctx.steps)


def newest(ctx: Context, listener_id: int) -> int:
    """Returns the id of the last delivery of a webhook, 0 for none. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: last_id(tx, listener_id))


def overview(ctx: Context, since: int, hours: int) -> tuple[dict[int, dict[str, Any]], dict[int, list[int]]]:
    """Returns latest() and by_hour() for all webhooks. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: (latest(tx), by_hour(tx, since, hours)))


def is_forgotten(ctx: Context, id: int) -> bool:
    """Returns whether the hidden parts of a delivery's request are no longer in memory, so that it cannot be run again.
    Raises AdminOnly."""
    ctx.require_admin(DOING)
    return withheld(ctx.service.store).request(id) is None
