"""Comments of workers on records, and their notifications."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server import contexts
from server.contexts import WORKER
from server.errors import Invalid
from server.fields import Bit, ContextName, CreatedAt, Id, Text
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import paths
from server.record_types.shared.comment_text import COMMENT_TEXT
from server.record_types.shared.mentions import mentioned
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search
from server.search.filters import DeepFilter, HasManyThrough, TypeFilter, WordsFilter
from server.store.tables import Index
from server.translation import about_field, lazy_gettext

if TYPE_CHECKING:
    from server.record_types.registry import Registry

CONTEXT = contexts.COMMENT
MAX_LABEL_CHARS = 128
APP_NAME = "Helpdesk"
_SPACES = re.compile(r"\s+")


def _load_url(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """`record_url`: the page of the commented record, at the comment; absent if the caller may not read that record."""
    urls: dict[int, dict[str, Any]] = {}
    for context in {record["target__context"] for record in records}:
        own = [record for record in records if record["target__context"] == context]
        record_type = view.type(context)
        targets = {each["id"]: each for each in view.records(context, {record["target_id"] for record in own})}
        for record in own:
            target = targets.get(record["target_id"])
            if target is not None:
                page = paths.within(record_type.url_path(target), "comment", record["id"])
                urls[record["id"]] = {"record_url": view.address(page)}
    return urls


class Comment(RecordType):
    """A comment on a record, by a worker or the service."""

    uri = "comment"
    aliases = ("comments", "note", "notes")
    traits = (CustomFields(), Links(), Attachments(), Search())
    access = Access(read="target", write=("privilege", "author"))
    fields = {
        "author__context": ContextName("Record type of the author; worker when omitted.", auto="derived", shown=False),
        "author_id": Id(
            "Id of the author; the caller when omitted. Only administrators can write as somebody else.",
            auto="derived",
            target_from="author__context",
            nested_note="Author.",
        ),
        "comment": Text("Text. Workers mentioned with @ are notified.", 16777215, required=True),
        "created": CreatedAt("When it was written; now when omitted."),
        "is_markdown": Bit("1: the text is Markdown.", filter_note="The text is Markdown."),
        "is_pinned": Bit("1: shown first.", filter_note="Shown first."),
        "target__context": ContextName("Record type commented on.", required=True, shown=False),
        "target_id": Id(
            "Id of the record commented on.",
            required=True,
            target_from="target__context",
            nested_note="Record commented on.",
        ),
    }
    indexes = (
        Index(("target__context", "target_id"), "the comments on a record, the newest last"),
        Index(("author__context", "author_id"), "what a worker has commented on"),
        Index(("created",), "comments in order of time"),
    )
    text = COMMENT_TEXT
    keys = (Key("record_url", "url", "Web address of the comment on its target.", on_expand=True),)
    expands = (Expand("record_url", "url", "Web address of the comment on its target.", _load_url),)
    filters = (
        WordsFilter("text", "Words of the comment.", COMMENT_TEXT, default=True),
        DeepFilter(
            "attachments",
            "Has a matching attachment.",
            "attachment",
            HasManyThrough("attached", "record_id", "attachment_id", (("context", CONTEXT),)),
        ),
        TypeFilter("author", "The author is of these record types.", "author"),
        WordsFilter("comment", "Words of the comment.", COMMENT_TEXT),
        TypeFilter("on", "Commented on are records of these types.", "target"),
    )
    subtotals = Subtotals(search=("author", "fieldset", "links", "on"), virtual=("author", "on"))
    events = (Event("comment.create", "written; the entry's target is the commented record"),)
    has_url = False

    def privileged(self, change: Change, writing: Writing) -> None:
        """Requires read access to the commented record."""
        context, id = change.value("target__context"), change.value("target_id")
        if context and id and (change.changes("target__context") or change.changes("target_id")):
            writing.require("read", context, id)

    def prepare(self, change: Change, writing: Writing) -> None:
        """Sets the caller as author unless one was submitted."""
        new = change.new
        target = self.registry.find(change.value("target__context"))
        if change.is_create and (target is None or not target.has(Comments)):
            raise Invalid(
                f"target__context: {change.value('target__context')[:80]} takes no comments", field="target__context"
            )
        if change.is_create and not new.get("author__context") and not new.get("author_id"):
            new["author__context"], new["author_id"] = writing.actor.context, writing.actor.id
        elif change.is_create and not new.get("author__context"):
            new["author__context"] = WORKER
        elif change.is_create and not new.get("author_id") and new["author__context"] == writing.actor.context:
            new["author_id"] = writing.actor.id
        context, id = change.value("author__context"), change.value("author_id")
        is_named = "author_id" in new or "author__context" in new
        if is_named and self.registry.find(context) is not None and writing.record(context, id) is None:
            raise Invalid(
                about_field(
                    "author_id", lazy_gettext("there is no {type} {id}", type=context.rpartition(".")[2], id=id)
                ),
                field="author_id",
            )

    def after_write(self, change: Change, writing: Writing) -> None:
        """Logs an entry on the commented record, which also notifies the workers mentioned in the text."""
        context, id = change.value("target__context"), change.value("target_id")
        self._touch(context, id, writing)
        if not change.is_create:
            return
        target_type = self.registry.type(context)
        writing.log(
            "comment.create",
            context,
            id,
            {"object": target_type.label_names[0].lower(), "target": writing.label(target_type.uri, id)},
            mentioned(writing, change.value("comment"), target_type.uri, id),
        )

    def after_delete(self, record: Record, writing: Writing) -> None:
        self._touch(record["target__context"], record["target_id"], writing)

    def _touch(self, context: str, id: int, writing: Writing) -> None:
        """Sets the time of the last change of the commented record."""
        target = self.registry.find(context)
        if target is not None and target.changed_column:
            writing.touch(target.uri, id=id)

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        return {"comment": record["comment"]}

    def label(self, record: Record) -> str:
        return _short(record["comment"])

    def labels(self, view: DictionaryContext, records: Sequence[Record]) -> dict[int, str]:
        """`<author>: <beginning of the text>`; one statement per type of author."""
        authors: dict[tuple[str, int], str] = {}
        for context in {record["author__context"] for record in records}:
            record_type = self.registry.find(context)
            if record_type is None:
                continue
            ids = {record["author_id"] for record in records if record["author__context"] == context}
            for row in view.tx.get_many(record_type.table, ids):
                authors[context, row[0]] = record_type.label(record_type.record(row))
        return {
            record["id"]: _short(
                f"{authors.get((record['author__context'], record['author_id']), APP_NAME)}: {record['comment']}"
            )
            for record in records
        }


def _short(text: str) -> str:
    line = _SPACES.sub(" ", text[: 4 * MAX_LABEL_CHARS]).strip()
    return line if len(line) <= MAX_LABEL_CHARS else line[:MAX_LABEL_CHARS].rstrip() + "..."
