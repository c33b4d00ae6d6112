"""The queue's own columns of a draft: who is sending it, and the mail as it was decided.

Clients can change drafts, so values that they may not decide (From, Message-Id, whether it was checked) are stored
here. The row is deleted with its draft."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import peewee

from server.jobs import processes
from server.jobs.job_queue import furthest, new_claim, run_name
from server.record_types.record_type import Change, Record, Writing
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction

CLAIM_SECONDS = 1800  # longer than a slow mail server needs; claims of a killed process are released earlier

OUTGOING = Table(
    "outgoing",
    [
        Column("draft_id", references="draft(id)"),
        Column("claimed_by", "TEXT"),
        Column("claimed_until"),
        Column("is_parked"),
        Column("from_address_id"),
        Column("message_id"),
        Column("mail", "TEXT"),
        Column("checked", "TEXT"),
        Column("last_error", "TEXT"),
        Column("reopened", "TEXT"),
        Column("held_by"),
        Column("failing_since"),
        Column("settled", "TEXT"),
    ],
    [
        Index(("is_parked", "from_address_id"), "mail that waits for a mail server"),
        Index(("held_by", "from_address_id"), "mail that waits for its transport to be reached"),
    ],
    key=("draft_id",),
)
# is_parked: its sender has no transport. mail: JSON, see deliver.MailSpec; "" until ticket and message exist.
# reopened: JSON, the ticket as it was before a failure opened it, see ticket_status.py; "" for none.
# held_by: the transport that is unavailable at present, see holds.py. failing_since: time of the first failed attempt
# since the mail was queued, Unix seconds. settled: JSON, {recipient: "" if the mail was accepted, else the refusal}.
# checked: digest of the params that were checked when a worker sent them; other params are checked again.

FREE: dict[str, Any] = {"claimed_by": "", "claimed_until": 0}


def digest(params: dict[str, Any]) -> str:
    """A digest of params, which shows whether they are still those that were checked."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()


def text_of(data: dict[str, Any]) -> str:
    """The JSON text for the column `mail`."""
    return json.dumps(data, ensure_ascii=False)


def put(tx: Transaction, draft_id: int, values: dict[str, Any]) -> None:
    """Adds the row of a draft, or changes it."""
    if not tx.add(OUTGOING, {"draft_id": draft_id, **values}):
        change(tx, draft_id, values)


def change(tx: Transaction, draft_id: int, values: dict[str, Any]) -> None:
    """Changes columns of a row."""
    table: Any = OUTGOING.sql
    names = tuple(values)
    tx.run(
        lambda: table.update({getattr(table, name): slot(place) for place, name in enumerate(names)}).where(
            table.draft_id == slot(len(names))
        ),
        (*values.values(), draft_id),
    )


def get(tx: Transaction, draft_id: int) -> Record | None:
    """The row by column name, `mail` and `settled` decoded ({} if empty)."""
    row = tx.first(OUTGOING, draft_id=draft_id)
    if row is None:
        return None
    values = dict(zip(OUTGOING.names, row, strict=True))
    for name in ("mail", "settled"):
        values[name] = json.loads(values[name]) if values[name] else {}
    return values


def settle(answers: Mapping[str, str]) -> dict[str, str]:
    """Returns the responses by lower-case address, as in the column `settled`."""
    return {address.lower(): answer for address, answer in answers.items()}


def unsettled(settled: Mapping[str, str], recipients: Iterable[str], *, is_queued_anew: bool) -> tuple[str, ...]:
    """The recipients who still have to get a mail. is_queued_anew: refused recipients are tried again."""
    done = {address for address, answer in settled.items() if not (answer and is_queued_anew)}
    return tuple(each for each in recipients if each.lower() not in done)


def is_partly_sent(settled: Mapping[str, str]) -> bool:
    """Whether some recipients have the mail already."""
    return "" in settled.values()


def follow_queueing(writing: Writing, written: Change) -> None:
    """Clears earlier failures after a draft was put into the queue, or removed from it, through the records API."""
    if written.changes("is_queued") and not written.is_create:
        change(writing.tx, written.id, {"last_error": "", "held_by": 0, "failing_since": 0})


def new_claim_values(now: int) -> dict[str, Any]:
    """Columns of a new row that the calling thread claims as it writes the row."""
    return {"claimed_by": new_claim(), "claimed_until": now + CLAIM_SECONDS}


def claim(writing: RecordWriter, draft_id: int) -> str | None:
    """Claims a queued draft for sending. Returns None if it is no longer queued, claimed by another thread, or an
    earlier mail on the same ticket has to leave first."""
    tx, now = writing.tx, writing.now
    draft = writing.record("draft", draft_id)
    if draft is None or not draft["is_queued"] or draft["queue_delivery_date"] > now or is_held_up(writing, draft_id):
        return None
    tx.add(OUTGOING, {"draft_id": draft_id})
    name = new_claim()
    table: Any = OUTGOING.sql
    count = tx.run(
        lambda: table.update({table.claimed_by: slot(0), table.claimed_until: slot(1)}).where(
            table.draft_id == slot(2), is_free(table, 3)
        ),
        (name, now + CLAIM_SECONDS, draft_id, now, furthest(tx.store, now, CLAIM_SECONDS)),
    )
    return name if count else None


def is_held_up(writing: RecordWriter, draft_id: int) -> bool:
    """Whether an earlier mail on the same ticket has to leave first."""
    draft, now = table_named("draft"), writing.now
    return bool(
        writing.tx.value(
            lambda: draft.select(draft.c.id).where(draft.c.id == slot(0), has_earlier(draft, 1, 2)),
            (draft_id, now, now + writing.ctx.service.settings.mail_retry_seconds),
        )
    )


def has_earlier(draft: Any, now: int, retry: int) -> Any:
    """Whether an earlier mail on the ticket of a draft is still to leave: one that is due, or that failed and is tried
    again within `mail_retry_seconds`. Mail that is scheduled, that has no mail server, or that reached some recipients
    already does not delay later mail.

    now, retry: places of the values `now`, and `now` plus `mail_retry_seconds`."""
    earlier, outgoing = table_named("draft").alias("earlier"), OUTGOING.sql.alias("held")
    parked = outgoing.select(outgoing.draft_id).where(
        outgoing.draft_id == earlier.c.id, (outgoing.is_parked == 1) | (outgoing.settled != "")
    )
    tried_again = (earlier.c.queue_fails > 0) & (earlier.c.queue_delivery_date <= slot(retry))
    return peewee.fn.EXISTS(
        earlier.select(earlier.c.id).where(
            draft.c.ticket_id > 0,
            earlier.c.ticket_id == draft.c.ticket_id,
            earlier.c.id < draft.c.id,
            earlier.c.is_queued == 1,
            (earlier.c.queue_delivery_date <= slot(now)) | tried_again,
            ~peewee.fn.EXISTS(parked),
        )
    )


def wake_others(writing: RecordWriter, ticket_id: int) -> None:
    """Wakes the scheduler for mail on a ticket that waited for an earlier mail."""
    if ticket_id and writing.find("draft", ticket_id=ticket_id, is_queued=1) is not None:
        writing.wake()


def holds(tx: Transaction, draft_id: int, name: str) -> bool:
    """Whether a claim is still valid."""
    row = tx.first(OUTGOING, draft_id=draft_id)
    return row is not None and row[OUTGOING.position["claimed_by"]] == name


def release_lost(tx: Transaction) -> int:
    """Releases the claims of earlier processes and returns their number. Does nothing if several processes share the
    store: jobs/processes.py releases the claims of each process that ends."""
    if tx.store.is_shared:
        return 0
    table: Any = OUTGOING.sql
    return tx.run(
        lambda: table.update({table.claimed_by: "", table.claimed_until: 0}).where(
            table.claimed_by != "", ~table.claimed_by.startswith(run_name())
        ),
    )


@processes.releases
def _release(tx: Transaction, name: str) -> None:
    table: Any = OUTGOING.sql
    tx.run(
        lambda: table.update({table.claimed_by: "", table.claimed_until: 0}).where(
            processes.claimed_by(table.claimed_by, 0)
        ),
        (processes.claims_of(name),),
    )


def is_free(table: Any, place: int) -> Any:
    """A condition: not claimed, or the claim has expired. Values: `now` and `furthest`."""
    return (table.claimed_by == "") | (table.claimed_until < slot(place)) | (table.claimed_until > slot(place + 1))
