"""Merges two tags, and undoes that for a day. Records are changed a few at a time, so that other writes run in between;
an interrupted merge leaves both tags, and is repeated."""

import json
from functools import partial
from typing import Any

import peewee

from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.jobs.scheduler import periodic
from server.record_types.shared import tags
from server.record_types.shared.relation_tables import CONTACT_TAG, ORG_TAG, TAG_NAME, TICKET_TAG
from server.record_types.shared.tags import record_id
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

BATCH = 500  # records in one transaction
RETAINED_SECONDS = 86400

TAG_MERGE = Table(
    "tag_merge",
    [
        Column("into_id"),
        Column("name", "TEXT"),
        Column("color", "TEXT"),
        Column("names", "TEXT"),
        Column("merged_at"),
    ],
    [Index(("into_id", "merged_at"), "merges into a tag"), Index(("merged_at",), "merges that are too old")],
)  # name, color: of the tag that is gone. names: JSON, the keys by which it was found; "" until the merge is complete


@dataclass(frozen=True)
class _Tagged:
    """The tags of a record type, and the records that a merge moved. Both tables have the same column for the id of the
    record. had_both: whether the record had both tags before."""

    tags: Table
    merged: Table


def _tagged(tags: Table, name: str) -> _Tagged:
    record_id = tags.names[0]
    columns = [Column("merge_id", references="tag_merge(id)"), Column(record_id), Column("had_both")]
    return _Tagged(tags, Table(name, columns, key=("merge_id", record_id)))


TICKETS = _tagged(TICKET_TAG, "tag_merge_ticket")
CONTACTS = _tagged(CONTACT_TAG, "tag_merge_contact")
ORGS = _tagged(ORG_TAG, "tag_merge_org")
TAG_MERGE_TICKET, TAG_MERGE_CONTACT, TAG_MERGE_ORG = TICKETS.merged, CONTACTS.merged, ORGS.merged
TAGGED = (TICKETS, CONTACTS, ORGS)


def merge(ctx: Context, old: int, new: int) -> str:
    """Puts a tag on the records of another one, which is deleted; its names then find this one. Returns the name of the
    remaining tag. Raises NotFound, Forbidden, Invalid."""
    write = ctx.service.store.write
    merge_id = write(lambda tx: _begin(RecordWriter(ctx, tx), old, new))
    for tagged in TAGGED:
        while write(partial(_move, tagged, merge_id, old, new)):
            pass
    return write(lambda tx: _end(RecordWriter(ctx, tx), merge_id, old, new))


def undo(ctx: Context, into: int) -> tuple[int, str]:
    """Brings the tag back that was merged into this one last, and returns its id and name. Records that lost the other
    tag since stay as they are. Raises NotFound, Forbidden, Conflict if there is no merge of the last day."""
    write = ctx.service.store.write
    merge_id, name, restored = write(lambda tx: _restore(RecordWriter(ctx, tx), into))
    for tagged in TAGGED:
        while write(partial(_move_back, tagged, merge_id, into, restored)):
            pass
    write(lambda tx: tx.delete(TAG_MERGE, id=merge_id))
    return restored, name


def _begin(writing: RecordWriter, old: int, new: int) -> int:
    """Checks the rights of the caller, and returns the id of the merge."""
    tag, source, target = writing.registry.type("tag"), writing.retrieve("tag", old), writing.retrieve("tag", new)
    writing.rules.require(writing.tx, "delete", tag, source)
    writing.rules.require(writing.tx, "update", tag, target)
    if old == new:
        raise Invalid(N_("choose another tag"), field="into")
    values = {"into_id": new, "name": source["name"], "color": source["color"], "names": "", "merged_at": writing.now}
    return writing.tx.insert(TAG_MERGE, values)


def _move(tagged: _Tagged, merge_id: int, old: int, new: int, tx: Transaction) -> bool:
    """Replaces a tag on some records; returns whether there are more."""
    ids = [row[0] for row in tx.some(tagged.tags, BATCH, tag_id=old)]
    both = _with_tag(tx, tagged.tags, ids, new)
    rows = [(merge_id, id, int(id in both)) for id in ids]
    if rows:
        tx.put_many(tagged.merged, tagged.merged.names, rows)
    _untag(tx, tagged.tags, both, old)
    _retag(tx, tagged.tags, [id for id in ids if id not in both], old, new)
    return len(ids) == BATCH


def _end(writing: RecordWriter, merge_id: int, old: int, new: int) -> str:
    """Deletes the merged tag, and logs the merge. Returns the name of the other."""
    tx, tag = writing.tx, writing.registry.type("tag")
    source, target = writing.retrieve("tag", old), writing.retrieve("tag", new)
    for tagged in TAGGED:
        while _move(tagged, merge_id, old, new, tx):
            pass
    keys = [row[TAG_NAME.position["name_key"]] for row in tx.find(TAG_NAME, tag_id=old)]
    _rename(tx, keys, new)
    writing.delete("tag", old)
    tx.update(TAG_MERGE, merge_id, {"names": json.dumps(keys)})
    writing.log("tag.merged", tag.context, new, {"target": str(target["name"]), "tag": str(source["name"])})
    return str(target["name"])


def _restore(writing: RecordWriter, into: int) -> tuple[int, str, int]:
    """Creates the tag of the newest merge again; returns the id of the merge, and the name and id of the tag."""
    tx, tag = writing.tx, writing.registry.type("tag")
    target = writing.retrieve("tag", into)
    writing.rules.require(tx, "update", tag, target)
    table: Any = TAG_MERGE.sql
    rows = tx.rows(
        lambda: (
            table.select(table.id, table.name, table.color, table.names)
            .where(table.into_id == slot(0), table.names != "", table.merged_at > slot(1))
            .order_by(table.id.desc())
            .limit(1)
        ),
        (into, writing.now - RETAINED_SECONDS),
    )
    if not rows:
        raise Conflict(lazy_gettext("no tag was merged into {name} within a day", name=target["name"]))
    merge_id, name, color, names = rows[0]
    restored = writing.create_sent(tag, {"name": name, "color": color})
    _rename(tx, json.loads(names), restored)
    tx.update(TAG_MERGE, merge_id, {"into_id": 0})  # it is undone once
    return merge_id, name, restored


def _move_back(tagged: _Tagged, merge_id: int, into: int, restored: int, tx: Transaction) -> bool:
    """Gives some records their tag back; returns whether there are more."""
    rows = tx.some(tagged.merged, BATCH, merge_id=merge_id)
    ids = [row[1] for row in rows]
    has_tag = _with_tag(tx, tagged.tags, ids, into)
    both = {row[1] for row in rows if row[2]} & has_tag
    _retag(tx, tagged.tags, [id for id in ids if id in has_tag - both], into, restored)
    for id in sorted(both):
        tags.add(tx, tagged.tags, id, [restored])
    _forget(tx, tagged.merged, merge_id, ids)
    return len(rows) == BATCH


def _forget(tx: Transaction, moved: Table, merge_id: int, ids: list[int]) -> None:
    def build() -> Any:
        id = getattr(moved.sql, moved.names[1])
        return moved.sql.delete().where(moved.sql.merge_id == slot(0), in_list(id, slot(1)))

    tx.run(build, (merge_id, json.dumps(ids)))


def _with_tag(tx: Transaction, table: Table, ids: list[int], tag_id: int) -> set[int]:
    def build() -> Any:
        id = record_id(table)
        return table.sql.select(id).where(in_list(id, slot(0)), table.sql.tag_id == slot(1))

    return {row[0] for row in tx.rows(build, (json.dumps(ids), tag_id))}


def _untag(tx: Transaction, table: Table, ids: set[int], tag_id: int) -> None:
    tx.run(
        lambda: table.sql.delete().where(in_list(record_id(table), slot(0)), table.sql.tag_id == slot(1)),
        (json.dumps(sorted(ids)), tag_id),
    )


def _retag(tx: Transaction, table: Table, ids: list[int], old: int, new: int) -> None:
    def build() -> Any:
        pair = table.sql
        query = pair.update({pair.tag_id: slot(0)})
        return query.where(in_list(record_id(table), slot(1)), pair.tag_id == slot(2))

    tx.run(build, (new, json.dumps(ids), old))


def _rename(tx: Transaction, keys: list[str], tag_id: int) -> None:
    """Lets these names find a tag."""
    for key in keys:
        tx.put(TAG_NAME, {"name_key": key, "tag_id": tag_id})


@periodic(N_("old undo of merged tags"), N_("Removes data older than a day."), deletes=True)
def forget_old(service: Service, now: int) -> int | None:
    """Removes merges that are too old for an undo, and returns when the next will be."""
    table: Any = TAG_MERGE.sql
    for merge_id, merged_at in service.store.read(lambda tx: tx.rows(lambda: table.select(table.id, table.merged_at))):
        if merged_at + RETAINED_SECONDS <= now:
            while service.store.write(partial(_forget_some, merge_id)):
                pass
    oldest = service.store.read(lambda tx: tx.value(lambda: table.select(peewee.fn.MIN(table.merged_at))))
    return None if oldest is None else int(oldest) + RETAINED_SECONDS


def _forget_some(merge_id: int, tx: Transaction) -> bool:
    """Removes some records of a merge; returns whether there are more."""
    for tagged in TAGGED:
        ids = [row[1] for row in tx.some(tagged.merged, BATCH, merge_id=merge_id)]
        _forget(tx, tagged.merged, merge_id, ids)
        if len(ids) == BATCH:
            return True
    tx.delete(TAG_MERGE, id=merge_id)
    return False
