"""Comments on a record."""

from typing import TYPE_CHECKING, Any

import peewee

from server.record_types.parts import DictionaryContext, Expand, Loader, Record, Writing
from server.record_types.shared import maps
from server.record_types.shared.collections import ids_text
from server.record_types.shared.expand_forms import read_form
from server.record_types.traits.trait import Trait
from server.store.statements import in_list, slot
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType

COMMENT = "comment"


class Comments(Trait):
    """Comments on a record."""

    name = "comments"

    def expands(self, record_type: "RecordType") -> list[Expand]:
        newest, count = _newest(record_type), _count(record_type)
        return [
            Expand("comments", "records", "The newest ten comments.", newest, COMMENT, common=True),
            Expand("comment_count", "number", "Number of comments.", count, "", common=True),
        ]

    def clear(self, context: str, id: int, room: int, writing: Writing) -> int:
        table = writing.registry.type(COMMENT).table
        rows = writing.tx.some(table, room, target__context=context, target_id=id)
        for row in rows:
            writing.delete(COMMENT, row[0])
        return len(rows)


def _newest(record_type: "RecordType") -> Loader:
    """`comments`: {comment id: comment}, the newest ten, newest first."""

    def load(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, Any]]:
        form = read_form(text)
        newest = table_named(COMMENT).alias("newest")

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

        rows = view.tx.rows(build, (record_type.context, ids_text(records), form.many))
        others = maps.by_id(view, COMMENT, [id for _, id in rows], form.key)
        return maps.as_map("comments", records, rows, others)

    return load


def _count(record_type: "RecordType") -> Loader:
    """`comment_count`: the number of comments."""

    def load(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, Any]]:
        comment = table_named(COMMENT).alias("counted")
        rows = view.tx.rows(
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
