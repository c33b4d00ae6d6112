"""DOC"""

from server.fields.flag import Bit
from server.fields.link import ContextName, Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Event, Expand, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.links import TypeFilter
from server.search.filters.number import NumberFilter
from server.search.filters.ways import Through


class Comment(RecordType):
    """DOC"""

    uri, context = "comment", "svc.contexts.comment"
    aliases = ("comments", "note", "notes")
    label_names = ("Comment", "Comments")
    features = frozenset(("attachments", "custom_fields", "links", "search",))
    access = Access(
        read="any worker",
        create="priv + may own as the given author",
        update="its author with the update privilege, or admin",
        delete="priv + its author with the update privilege, or admin",
    )
    fields = {
        "author__context": ContextName("Record type of the author; worker when absent (ours; the reference requires it).", auto="derived", shown=False),
        "author_id": Id("Id of the author; the caller when absent (ours; the reference requires it). Only admins may write as somebody else.", auto="derived", target_from="author__context", shown=False),
        "comment": Text("Text. @mentions notify workers.", 16777215, required=True),
        "created": Timestamp("When it was written; now when omitted.", auto="now"),
        "is_markdown": Bit("1: the text is Markdown."),
        "is_pinned": Bit("1: shown first."),
        "target__context": ContextName("Record type commented on.", required=True, shown=False),
        "target_id": Id("Id of the record commented on.", required=True, target_from="target__context", shown=False),
    }
    nested = (
        Nested("author", "*", "Author."),
        Nested("target", "*", "Record commented on."),
    )
    expands = (
        Expand("record_url", "url", "Web address of the comment on its target.", LOADER),
    )
    filters = (
        WordsFilter("text", "Full text over the comment.", INDEX, default=True),
        DeepFilter("attachments", "Has a matching attachment.", "attachment", Through("attached", "record_id", "attachment_id", (("context", "svc.contexts.comment"),))),
        TypeFilter("author", "Author is of these record types.", "author"),
        WordsFilter("comment", "Text of the comment.", INDEX),
        DateFilter("created", "When the record was made.", "created"),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isMarkdown", "1: the text is Markdown.", "is_markdown"),
        FlagFilter("isPinned", "1: shown first.", "is_pinned"),
        TypeFilter("on", "Target is of these record types.", "on"),
    )
    subtotals = Subtotals(
        search=("author", "fieldset", "links", "on"),
        virtual=("author", "on"),
    )
    events = (
        Event("comment.create", "created through an actor (records API); the target of the entry is the commented record"),
    )
    has_url = False
