"""What any record can have, shown on request for many records at once: links, watchers, comments, files."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import peewee

from server.records.shared.forms import Form, read_form
from server.records.shared.tables import ATTACHED, LINK
from server.store.statements import in_list, slot
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.records.base import RecordType
    from server.records.parts import Loader, Record, Shown

WORKER = "svc.contexts.worker"


def links(record_type: "RecordType") -> "Loader":
    """`links`: {context: [ids]}; its further forms: [{_context, id, ...}]."""

    def load(shown: "Shown", records: "list[Record]", text: str) -> dict[int, dict[str, Any]]:
        form = read_form(text)
        table = LINK.sql
        rows = shown.tx.rows(
            lambda: (
                table.select(table.from_id, table.to_context, table.to_id)
                .where(table.from_context == slot(0), in_list(table.from_id, slot(1)))
                .order_by(table.from_id, table.to_context, table.to_id)
            ),
            (record_type.context, ids_text(records)),
        )
        found = readable_pairs(shown, records, rows, form, form.many)
        if form.plain:
            return {own: {"links": _by_context(pairs)} for own, pairs in found.items()}
        return {own: {"links": shown_list} for own, shown_list in listed(shown, found, form).items()}

    return load


def readable_pairs(
    shown: "Shown", records: "list[Record]", rows: list[tuple[Any, ...]], form: Form, most: int
) -> dict[int, list[tuple[str, int]]]:
    """{own id: [(context, id)]} of rows (own id, context, id), of the type that the form asks for, at most `most` each;
    without those that the caller may not read. Of an unknown type there are none."""
    found: dict[int, list[tuple[str, int]]] = {record["id"]: [] for record in records}
    wanted = shown.find_type(form.type) if form.type else None
    if form.type and wanted is None:
        return found
    listed_ids: dict[str, set[int]] = {}
    for _, context, id in rows:
        if wanted is None or wanted.context == context:
            listed_ids.setdefault(context, set()).add(id)
    readable = {context: shown.readable_ids(context, ids) for context, ids in listed_ids.items()}
    for own, context, id in rows:
        if len(found[own]) < most and id in readable.get(context, ()):
            found[own].append((context, id))
    return found


def _by_context(pairs: list[tuple[str, int]]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for context, id in pairs:
        grouped.setdefault(context, []).append(id)
    return grouped


def listed(shown: "Shown", found: dict[int, list[tuple[str, int]]], form: Form) -> dict[int, list[dict[str, Any]]]:
    """Each pair as {_context, id} and, for a type or key asked for, the record's keys; unreadable ones are left out."""
    needed: dict[str, set[int]] = {}
    for pairs in found.values():
        for context, id in pairs:
            needed.setdefault(context, set()).add(id)
    loaded: dict[tuple[str, int], dict[str, Any]] = {}
    for context, ids in needed.items():
        uri = shown.type(context).uri
        records = shown.records(uri, ids)
        dictionaries = shown.dictionaries(uri, records, form.key)
        for record, dictionary in zip(records, dictionaries, strict=True):
            if form.type or form.key:
                loaded[context, record["id"]] = dictionary
            else:
                loaded[context, record["id"]] = {"_context": context, "id": record["id"]}
    return {own: [loaded[pair] for pair in pairs if pair in loaded] for own, pairs in found.items()}


def watchers(record_type: "RecordType") -> "Loader":
    """`watchers`: {worker id: worker}."""

    def load(shown: "Shown", records: "list[Record]", text: str) -> dict[int, dict[str, Any]]:
        table = LINK.sql
        rows = shown.tx.rows(
            lambda: table.select(table.from_id, table.to_id).where(
                table.from_context == slot(0), in_list(table.from_id, slot(1)), table.to_context == WORKER
            ),
            (record_type.context, ids_text(records)),
        )
        workers = shown.records("worker", {worker for _, worker in rows})
        by_id = {
            record["id"]: dictionary
            for record, dictionary in zip(workers, shown.dictionaries("worker", workers), strict=True)
        }
        found: dict[int, dict[str, Any]] = {record["id"]: {} for record in records}
        for own, worker in rows:
            if worker in by_id:
                found[own][str(worker)] = by_id[worker]
        return {own: {"watchers": each} for own, each in found.items()}

    return load


def comments(record_type: "RecordType") -> "Loader":
    """`comments`: {comment id: comment}, the newest ten, newest first."""

    def load(shown: "Shown", records: "list[Record]", text: str) -> dict[int, dict[str, Any]]:
        form = read_form(text)
        newest = table_named("comment").alias("newest")

        def build() -> Any:
            rank = peewee.fn.ROW_NUMBER().over(partition_by=[newest.c.target_id], order_by=[newest.c.id.desc()])
            ranked = (
                newest.select(newest.c.id, newest.c.target_id, rank.alias("place"))
                .where(newest.c.target__context == slot(0), in_list(newest.c.target_id, slot(1)))
                .alias("ranked")
            )
            return (
                peewee.Select([ranked], [ranked.c.target_id, ranked.c.id])
                .where(ranked.c.place <= slot(2))
                .order_by(ranked.c.id.desc())
            )

        rows = shown.tx.rows(build, (record_type.context, ids_text(records), form.many))
        comment_records = shown.records("comment", [id for _, id in rows])
        dictionaries = shown.dictionaries("comment", comment_records, form.key)
        by_id = {each["id"]: dictionary for each, dictionary in zip(comment_records, dictionaries, strict=True)}
        found: dict[int, dict[str, Any]] = {record["id"]: {} for record in records}
        for own, id in rows:
            if id in by_id:
                found[own][str(id)] = by_id[id]
        return {own: {"comments": each} for own, each in found.items()}

    return load


def comment_count(record_type: "RecordType") -> "Loader":
    """`comment_count`: how many comments."""

    def load(shown: "Shown", records: "list[Record]", text: str) -> dict[int, dict[str, Any]]:
        comment = table_named("comment").alias("counted")
        rows = shown.tx.rows(
            lambda: (
                comment.select(comment.c.target_id, peewee.fn.COUNT(comment.c.id))
                .where(comment.c.target__context == slot(0), in_list(comment.c.target_id, slot(1)))
                .group_by(comment.c.target_id)
            ),
            (record_type.context, ids_text(records)),
        )
        counts = {row[0]: row[1] for row in rows}
        return {record["id"]: {"comment_count": counts.get(record["id"], 0)} for record in records}

    return load


def attachments(record_type: "RecordType") -> "Loader":
    """`attachments`: a list of files; on comments and messages {id: {id, file_name, file_size, file_type}}."""
    as_map = record_type.uri in ("comment", "message")

    def load(shown: "Shown", records: "list[Record]", text: str) -> dict[int, dict[str, Any]]:
        form = read_form(text)
        table = ATTACHED.sql
        rows = shown.tx.rows(
            lambda: (
                table.select(table.record_id, table.attachment_id)
                .where(table.context == slot(0), in_list(table.record_id, slot(1)))
                .order_by(table.record_id, table.attachment_id)
            ),
            (record_type.context, ids_text(records)),
        )
        files = shown.records("attachment", {file for _, file in rows})
        by_id = {
            each["id"]: (each, dictionary)
            for each, dictionary in zip(files, shown.dictionaries("attachment", files, form.key), strict=True)
        }
        found: dict[int, list[int]] = {record["id"]: [] for record in records}
        for own, file in rows:
            if file in by_id and (as_map or len(found[own]) < form.many):
                found[own].append(file)
        if as_map:
            return {own: {"attachments": {str(id): _brief(by_id[id][0]) for id in ids}} for own, ids in found.items()}
        return {own: {"attachments": [by_id[id][1] for id in ids]} for own, ids in found.items()}

    return load


def _brief(file: "Record") -> dict[str, Any]:
    return {"id": file["id"], "file_name": file["name"], "file_size": file["size"], "file_type": file["mime_type"]}


def ids_text(records: "Sequence[Record]") -> str:
    """The ids of records as JSON, for one slot of `in_list`."""
    return json.dumps([record["id"] for record in records])
