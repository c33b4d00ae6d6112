"""Accepted forms of the console, so that a form that is submitted twice is processed once.

A form is claimed in its own transaction before it is processed, and its outcome is stored afterwards. A repeated
submission finds the row, also in another process, after a restart, or from a browser without scripts."""

import json
import time
from collections.abc import Sequence
from typing import Any, Literal

from server.context import Context
from server.dataclass import dataclass
from server.jobs.expiry import expire
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

RETAINED_SECONDS = 30 * 86400
RUNNING_SECONDS = 120  # a form without an outcome after this time was interrupted
POLL_SECONDS, WAIT_SECONDS = 0.05, 20.0  # waiting for a form that is being processed
TWIN_SECONDS = 600  # period in which the same content in another form is suspicious

ACCEPTED_FORM = Table(
    "accepted_form",
    [
        Column("worker_id", references="worker(id)"),
        Column("path", "TEXT"),
        Column("form", "TEXT"),
        Column("digest", "TEXT"),
        Column("outcome", "TEXT"),
        Column("claimed_at"),
    ],
    [
        Index(("claimed_at",), "rows that are too old"),
        Index(("worker_id", "path", "digest"), "the same content in another form"),
    ],
    key=("worker_id", "path", "form"),
)  # outcome: JSON, "" while the form is processed
State = Literal["claimed", "accepted", "running", "interrupted", "changed", "twin"]


@dataclass(frozen=True, slots=True)
class Claim:
    """The state of a form. `claimed`: the caller processes it. `accepted`: it has the result `outcome`. `changed`: it
    was accepted with other content. `twin`: another form with the same content was accepted recently. is_by_draft:
    whether the accepted form is the draft that this form names."""

    state: State
    outcome: dict[str, Any]
    is_by_draft: bool = False


def claim(ctx: Context, path: str, names: Sequence[str], digest: str, *, finds_twins: bool, repeats: bool) -> Claim:
    """Claims a form under its names: its own number, and the draft and revision if it sends them.

    repeats: the caller wants the form processed again even if it was accepted before."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> Claim:
        for number, name in enumerate(names if not repeats else ()):
            row = tx.first(ACCEPTED_FORM, worker_id=worker_id, path=path, form=name)
            if row is not None:
                return _known(row, digest, ctx.now, bool(number))
        if finds_twins and not repeats and _has_twin(tx, worker_id, path, digest, ctx.now):
            return Claim("twin", {})
        for name in names:
            tx.put(ACCEPTED_FORM, _values(worker_id, path, name, digest, "", ctx.now))
        return Claim("claimed", {})

    return ctx.service.store.write(write)


def claim_or_wait(
    ctx: Context, path: str, names: Sequence[str], digest: str, *, finds_twins: bool, repeats: bool
) -> Claim:
    """Claims a form as `claim` does, after waiting for the outcome of one that is being processed. Without
    finds_twins, a changed form is claimed as well."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        result = claim(ctx, path, names, digest, finds_twins=finds_twins, repeats=repeats)
        if result.state == "changed" and not finds_twins:
            repeats = True
        elif result.state != "running" or time.monotonic() > until:
            return result
        else:
            time.sleep(POLL_SECONDS)


def finish(ctx: Context, path: str, names: Sequence[str], digest: str, outcome: dict[str, Any]) -> None:
    """Stores the outcome of a claimed form."""
    text = json.dumps(outcome)
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        for name in names:
            tx.put(ACCEPTED_FORM, _values(worker_id, path, name, digest, text, ctx.now))

    ctx.service.store.write(write)


def release(ctx: Context, path: str, names: Sequence[str]) -> None:
    """Releases a claim: the form was refused, and may be submitted again unchanged."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        for name in names:
            tx.delete(ACCEPTED_FORM, worker_id=worker_id, path=path, form=name)

    ctx.service.store.write(write)


def forget(ctx: Context, path: str) -> None:
    """Deletes the caller's forms of a path, whose effect was undone, so that they may be submitted again."""
    worker_id = ctx.actor.worker_id
    ctx.service.store.write(lambda tx: tx.delete(ACCEPTED_FORM, worker_id=worker_id, path=path))


def _known(row: Sequence[Any], digest: str, now: int, is_by_draft: bool) -> Claim:
    at = ACCEPTED_FORM.position
    outcome = str(row[at["outcome"]])
    if row[at["digest"]] != digest:
        return Claim("changed", json.loads(outcome) if outcome else {}, is_by_draft)
    if outcome:
        return Claim("accepted", json.loads(outcome), is_by_draft)
    is_running = row[at["claimed_at"]] + RUNNING_SECONDS > now
    return Claim("running" if is_running else "interrupted", {}, is_by_draft)


def _has_twin(tx: Transaction, worker_id: int, path: str, digest: str, now: int) -> bool:
    rows = tx.find(ACCEPTED_FORM, worker_id=worker_id, path=path, digest=digest)
    return any(row[ACCEPTED_FORM.position["claimed_at"]] + TWIN_SECONDS > now for row in rows)


def _values(worker_id: int, path: str, form: str, digest: str, outcome: str, now: int) -> dict[str, Any]:
    return {
        "worker_id": worker_id,
        "path": path,
        "form": form,
        "digest": digest,
        "outcome": outcome,
        "claimed_at": now,
    }


forget_old = expire(
    N_("old accepted forms"),
    N_("Forgets forms that were processed a month ago."),
    ACCEPTED_FORM,
    "claimed_at",
    RETAINED_SECONDS,
)
