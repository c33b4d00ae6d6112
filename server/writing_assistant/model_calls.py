"""Calls of the writing assistant: started by a worker, run on separate threads, cancelled, limited, logged.

What leaves is on disk before it leaves: the row of the call, with the exact text as long as the setting
`writing_assistant_log_days` says, and an entry of the activity log. A call belongs to its ticket, with which it is
deleted."""

import contextvars
import json
import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import peewee

from server import clock, log, outbound
from server.context import Context, Service
from server.contexts import TICKET
from server.dataclass import dataclass
from server.digits import MAX_ID
from server.errors import Conflict, Forbidden, HelpdeskError, NotFound, TooMany
from server.jobs.scheduler import periodic
from server.outbound import Cancellation, RequestLimits
from server.records import records
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext, shown
from server.writing_assistant import model_client, model_provider, ticket_material, writing_acts
from server.writing_assistant.model_client import ModelProvider
from server.writing_assistant.writing_acts import ActInput, ModelTask

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
MAX_OWN_RUNNING = 2  # calls of one worker at once
MINUTE = 60
DAY_SECONDS = 86400
GRACE_SECONDS = 30  # a call that is running this long after its deadline was lost with its process
RESULT_SECONDS = 3600  # how long a result is stored if the exact text is not
POINT = "writing_assistant.called"
CANCEL = "model_call"  # the announcement that a call is cancelled
PAGE_ROWS = 50
TEXTS = ("sent", "before", "result")  # columns that lists leave out
_log = log.get("writing_assistant")

MODEL_CALL = Table(
    "model_call",
    [
        Column("worker_id", references="worker(id)"),
        Column("ticket_id", references="ticket(id)"),
        Column("act", "TEXT"),
        Column("state", "TEXT"),
        Column("message_id"),
        Column("model", "TEXT"),
        Column("host", "TEXT"),
        Column("sent_chars"),
        Column("received_chars"),
        Column("tokens"),
        Column("created_at"),
        Column("deadline_at"),
        Column("ended_at"),
        Column("sent", "TEXT"),
        Column("sources", "TEXT"),
        Column("before", "TEXT"),
        Column("result", "TEXT"),
        Column("error", "TEXT"),
    ],
    [
        Index(("worker_id", "created_at"), "the rate of a worker"),
        Index(("state", "deadline_at"), "the running calls"),
        Index(("created_at",), "those that are too old"),
        Index(("ticket_id",), "those of a deleted ticket"),
    ],
)  # sent: the messages as JSON. sources: JSON. before: the text of the form. deadline_at: Unix seconds


@dataclass(frozen=True, slots=True)
class UsedSource:
    """A source in the list of a call. is_used: whether the reply names it."""

    kind: str
    title: str
    path: str
    is_used: bool = True


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call. sent: its messages as pairs of role and text, () if the text is not stored. before: the text of the
    reply form at its start. result: blank until it is done. error: a sentence, blank for success."""

    id: int
    worker_id: int
    ticket_id: int
    act: str
    state: str
    message_id: int
    model: str
    host: str
    sent_chars: int
    received_chars: int
    tokens: int
    created_at: int
    ended_at: int
    sent: tuple[tuple[str, str], ...]
    sources: tuple[UsedSource, ...]
    before: str
    result: str
    error: str

    @property
    def used(self) -> tuple[UsedSource, ...]:
        return tuple(each for each in self.sources if each.is_used)

    @property
    def tags(self) -> list[str]:
        return self.result.split("\n") if self.act == writing_acts.TAGS and self.result else []


@dataclass(slots=True)
class _Running:
    lock: threading.Lock = field(default_factory=threading.Lock)
    calls: dict[int, Cancellation] = field(default_factory=dict)


_RUNNING: StoreLocal[_Running] = StoreLocal()


def start(ctx: Context, ticket_id: int, submitted: ActInput) -> int:
    """Starts a call and returns its id. Nothing leaves before its entry of the log is on disk.

    Raises NotFound, Forbidden if the assistant is off for the group or the caller may not reply, Invalid with the field
    of a mistake, and TooMany with `retry_after`."""
    ticket = ticket_material.require_offered(ctx, ticket_id)
    _require_rate(ctx)
    task = writing_acts.prepare(ctx, ticket, submitted)
    settings = ctx.service.settings
    sources = [{"kind": each.kind, "title": each.title, "path": each.path} for each in task.sources]

    def write(tx: Transaction) -> tuple[int, ModelProvider]:
        provider = model_provider.stored_in(tx)
        # The provider and the switch may have changed since the ticket was read.
        if not provider.is_set or not _is_on(tx, ticket_id):
            raise Forbidden(N_("the writing assistant was switched off meanwhile"))
        _require_room(ctx, tx)
        id = tx.insert(
            MODEL_CALL,
            {
                "worker_id": ctx.actor.worker_id,
                "ticket_id": ticket_id,
                "act": submitted.act,
                "state": RUNNING,
                "message_id": submitted.message_id,
                "model": provider.model,
                "host": provider.host,
                "sent_chars": task.chars,
                "created_at": ctx.now,
                "deadline_at": ctx.now + settings.writing_assistant_seconds,
                "sent": json.dumps(task.messages, ensure_ascii=False) if settings.writing_assistant_log_days else "",
                "sources": json.dumps(sources, ensure_ascii=False),
                "before": submitted.typed,
            },
        )
        variables = {
            "act": str(writing_acts.ACTS[submitted.act].label),
            "count": str(task.chars),
            "model": provider.model,
            "host": provider.host,
            "sources": ", ".join(f"{each.kind} {each.id}" for each in task.sources) or "no sources",
        }
        writing = RecordWriter(ctx, tx)
        writing.silent.add(POINT)  # watchers need no notification of each text
        writing.log(POINT, TICKET, ticket_id, variables)
        return id, provider

    id, provider = ctx.service.store.write(write)
    _run_apart(ctx, id, provider, submitted.act, task)
    return id


def find(ctx: Context, ticket_id: int, id: int) -> ModelCall:
    """Returns a call of the caller on a ticket. Raises NotFound."""
    row = ctx.service.store.read(lambda tx: tx.get(MODEL_CALL, id))
    call = _call(row, ctx.now) if row is not None else None
    if call is None or call.ticket_id != ticket_id or call.worker_id != ctx.actor.worker_id:
        raise NotFound(N_("there is no such result; results are stored for a limited time"))
    return call


def cancel(ctx: Context, ticket_id: int, id: int) -> None:
    """Cancels a call of the caller: its connection ends. Does nothing if it is over. Raises NotFound."""
    find(ctx, ticket_id, id)

    def write(tx: Transaction) -> None:
        if _end(tx, id, ctx.now, state=CANCELLED):
            ctx.service.store.announce_after(tx, f"{CANCEL}:{id}")

    ctx.service.store.write(write)
    hear(ctx.service, str(id))


def hear(service: Service, text: str) -> None:
    """Ends the connection of a call that was cancelled, perhaps in another process. text: its id; "" if announcements
    may have been missed."""
    running = _RUNNING.made(service.store, _Running)
    if text.isdecimal():
        with running.lock:
            cancellation = running.calls.get(int(text))
        if cancellation is not None:
            cancellation.cancel()


def stop(service: Service) -> None:
    """Ends the connections of all calls of this process, which is about to stop."""
    running = _RUNNING.made(service.store, _Running)
    with running.lock:
        cancellations = list(running.calls.values())
    for each in cancellations:
        each.cancel()


def newest_calls(ctx: Context, before_id: int = 0) -> list[ModelCall]:
    """Returns the newest calls of all workers, without texts; PAGE_ROWS at most. before_id: those before this one.
    Raises AdminOnly."""
    ctx.require_admin(model_provider.DOING)

    def read(tx: Transaction) -> list[ModelCall]:
        rows = tx.rows(_newest, (before_id or MAX_ID,))
        return [_call(_without_texts(row), ctx.now) for row in rows]

    return ctx.service.store.read(read)


def opened(ctx: Context, id: int) -> ModelCall:
    """Returns a call with the exact text that left. Raises AdminOnly, NotFound, and Forbidden for an administrator who
    may not read its ticket."""
    ctx.require_admin(model_provider.DOING)
    row = ctx.service.store.read(lambda tx: tx.get(MODEL_CALL, id))
    if row is None:
        raise NotFound(N_("there is no such call; calls are stored for a limited time"))
    call = _call(row, ctx.now)
    if not records.may_read(ctx, "ticket", call.ticket_id):
        raise Forbidden(N_("you may not read the ticket of this call"))
    return call


def bounds(service: Service, seconds: float = 0) -> RequestLimits:
    """Returns the limits of a request to the provider. seconds: 0 for the setting `writing_assistant_seconds`."""
    limits = outbound.limits(service.settings)
    most = seconds or service.settings.writing_assistant_seconds
    return RequestLimits(most, min(limits.max_bytes, model_client.MAX_RESPONSE_BYTES), limits.permitted)


# -- limits ------------------------------------------------------------------------------------------------------------


def _require_rate(ctx: Context) -> None:
    """Raises TooMany before anything is read for a call that would be refused anyway."""
    ctx.service.store.read(lambda tx: _require_room(ctx, tx))


def _require_room(ctx: Context, tx: Transaction) -> None:
    """Raises TooMany if the worker or the installation has reached a limit."""
    settings = ctx.service.settings
    since = ctx.now - GRACE_SECONDS
    own = tx.value(_running_of_worker, (RUNNING, since, ctx.actor.worker_id))
    if own >= MAX_OWN_RUNNING:
        raise TooMany(
            lazy_gettext("the assistant is already working on {count} texts of yours; wait or cancel one", count=own),
            retry_after=5,
        )
    if tx.value(_running_of_all, (RUNNING, since)) >= settings.writing_assistant_parallel:
        raise TooMany(
            lazy_gettext(
                "the assistant is working on {count} texts, as many as it may at once; try again in a moment",
                count=settings.writing_assistant_parallel,
            ),
            retry_after=5,
        )
    most = settings.writing_assistant_per_minute
    times = tx.rows(_times_of_worker, (ctx.actor.worker_id, ctx.now - MINUTE))
    if most and len(times) >= most:
        wait = max(times[-most][0] + MINUTE - ctx.now, 1)
        raise TooMany(
            lazy_gettext(
                "you used the assistant {count} times within a minute; try again in {seconds} s",
                count=len(times),
                seconds=wait,
            ),
            retry_after=wait,
        )


_CALLS: Any = MODEL_CALL.sql


def _running_of_all() -> Any:
    is_running = (_CALLS.state == slot(0)) & (_CALLS.deadline_at > slot(1))
    return _CALLS.select(peewee.fn.COUNT(_CALLS.id)).where(is_running)


def _running_of_worker() -> Any:
    return _running_of_all().where(_CALLS.worker_id == slot(2))


def _times_of_worker() -> Any:
    is_recent = (_CALLS.worker_id == slot(0)) & (_CALLS.created_at > slot(1))
    return _CALLS.select(_CALLS.created_at).where(is_recent).order_by(_CALLS.created_at)


def _newest() -> Any:
    """A page of calls, without their long texts."""
    columns = [getattr(_CALLS, name) for name in MODEL_CALL.names if name not in TEXTS]
    return _CALLS.select(*columns).where(_CALLS.id < slot(0)).order_by(_CALLS.id.desc()).limit(PAGE_ROWS)


def _older_than() -> Any:
    return _CALLS.select(_CALLS.id).where(_CALLS.created_at < slot(0)).limit(1)


def _delete_older_than() -> Any:
    return _CALLS.delete().where(_CALLS.created_at < slot(0))


def _group_switch() -> Any:
    group, ticket = table_named("group"), table_named("ticket")
    joined = group.select(group.c.writing_assistant).join(ticket, on=(ticket.c.group_id == group.c.id))
    return joined.where(ticket.c.id == slot(0))


def _is_on(tx: Transaction, ticket_id: int) -> bool:
    """Returns whether the group of a ticket is switched on."""
    return bool(tx.value(_group_switch, (ticket_id,)))


# -- running -----------------------------------------------------------------------------------------------------------


def _run_apart(ctx: Context, id: int, provider: ModelProvider, act: str, task: ModelTask) -> None:
    """Runs a call on a new thread; `_require_room` bounds their number. The thread has the language of the request, for
    messages of errors."""
    cancellation = Cancellation()
    running = _RUNNING.made(ctx.service.store, _Running)
    with running.lock:
        running.calls[id] = cancellation
    context = contextvars.copy_context()

    def run() -> None:
        try:
            _run(ctx, id, provider, act, task, cancellation)
        except Exception:
            _log.exception("call.failed", call=id)
        finally:
            with running.lock:
                running.calls.pop(id, None)

    threading.Thread(target=context.run, args=(run,), name=f"writing-assistant-{id}", daemon=True).start()


def _run(ctx: Context, id: int, provider: ModelProvider, act: str, task: ModelTask, cancellation: Cancellation) -> None:
    tokens = int(ctx.service.settings.writing_assistant_tokens)
    try:
        reply = model_client.complete(provider, task.messages, bounds(ctx.service), tokens, cancellation)
        text, numbers = writing_acts.result(ctx, act, task, reply.text)
        if not text.strip() and act != writing_acts.TAGS:
            raise Conflict(N_("The model returned no usable text. Try again."))
    except HelpdeskError as error:
        message = shown(error.message)
        if not cancellation.is_cancelled:
            ctx.service.store.write(lambda tx: _end(tx, id, clock.now(), state=FAILED, error=message))
        return
    except Exception:
        _finish_broken(ctx, id)
        raise
    sources = [
        {"kind": each.kind, "title": each.title, "path": each.path, "is_used": number in numbers}
        for number, each in enumerate(task.sources, 1)
    ]
    values = {
        "result": text,
        "received_chars": len(reply.text),
        "tokens": reply.tokens,
        "sources": json.dumps(sources, ensure_ascii=False),
    }
    ctx.service.store.write(lambda tx: _end(tx, id, clock.now(), state=DONE, **values))


def _finish_broken(ctx: Context, id: int) -> None:
    error = shown(N_("Something went wrong in the helpdesk; an administrator finds it in the service log."))
    ctx.service.store.write(lambda tx: _end(tx, id, clock.now(), state=FAILED, error=error))


def _end(tx: Transaction, id: int, now: int, **values: Any) -> bool:
    """Ends a running call. Returns False for one that is over."""
    row = tx.get(MODEL_CALL, id)
    if row is None or row[MODEL_CALL.position["state"]] != RUNNING:
        return False
    tx.update(MODEL_CALL, id, {**values, "ended_at": now})
    return True


@periodic(
    N_("texts of the writing assistant"),
    N_("Deletes what was sent to the language model after the days of the setting, and its results."),
    deletes=True,
)
def forget_old(service: Service, now: int) -> None:
    """Deletes calls older than `writing_assistant_log_days`; without a log, an hour after they began."""
    days = int(service.settings.writing_assistant_log_days)
    before = now - (days * DAY_SECONDS or RESULT_SECONDS)
    if service.store.read(lambda tx: tx.value(_older_than, (before,))):
        service.store.write(lambda tx: tx.run(_delete_older_than, (before,)))


# -- rows --------------------------------------------------------------------------------------------------------------


def _call(row: Sequence[Any], now: int) -> ModelCall:
    """Returns a call as it is now: a running one whose process ended has failed."""
    values = dict(zip(MODEL_CALL.names, row, strict=True))
    messages = json.loads(values.pop("sent") or "[]")
    sources = json.loads(values.pop("sources") or "[]")
    if values["state"] == RUNNING and values.pop("deadline_at") + GRACE_SECONDS <= now:
        values |= {"state": FAILED, "error": shown(N_("The service was restarted meanwhile. Try again."))}
    values.pop("deadline_at", None)
    return ModelCall(
        **values,
        sent=tuple((str(each["role"]), str(each["content"])) for each in messages),
        sources=tuple(
            UsedSource(str(each["kind"]), str(each["title"]), str(each["path"]), bool(each.get("is_used", True)))
            for each in sources
        ),
    )


def _without_texts(row: Sequence[Any]) -> tuple[Any, ...]:
    """Returns a whole row from one of `_newest`."""
    values = iter(row)
    return tuple("" if name in TEXTS else next(values) for name in MODEL_CALL.names)
