"""Automation log: entries written by running automations. Administrators can read them; they cannot be changed."""

from typing import Any

from server.errors import Invalid, nearest
from server.record_types.record_type import Access, Change, DictionaryContext, Key, Record, RecordType, Writing
from server.record_types.traits import Search
from server.search.ast import BareWord, BooleanGroup, Node, Subquery, Term
from server.search.compile import SearchScope, compile_group
from server.search.conditions import Condition
from server.search.filters import ChoiceFilter, DateFilter, NumberFilter, TextFilter
from server.store.tables import Column, Index
from server.translation import lazy_gettext

LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")  # 0 to 7
CHANNEL = "automation log"
NAME_CHARS, TEXT_CHARS = 255, 1024  # stored characters; longer texts are cut
PARTS = ("name", "node")


def level_name(record: Record, context: DictionaryContext) -> str:
    """Returns the word for the level of an entry."""
    return LEVELS[record["level"]]


class LevelFilter(ChoiceFilter):
    """A filter on the level by word or number; prefixes are ambiguous (error, emergency)."""

    def stored(self, word: str) -> Any:
        level = word.strip().lower()
        if level in self.choices:
            return self.choices[level]
        if level in map(str, self.choices.values()):
            return int(level)
        raise Invalid(
            lazy_gettext(
                "'{value}' is not one of {known}{nearest}",
                value=word[:50],
                known=", ".join(self.words),
                nearest=nearest(level, self.choices),
            )
        )


class AutomationFilter(TextFilter):
    """A filter on the name of the automation, or a group of name: and node:."""

    def meaning(self, term: Term, scope: SearchScope) -> Condition:
        if isinstance(term.value, Subquery):
            return compile_group(scope.registry.type("automation_log"), self._named(term, term.value.root), scope)
        return super().meaning(term, scope)

    def _named(self, term: Term, group: BooleanGroup) -> BooleanGroup:
        """Returns the group with the filter names of the log."""
        return BooleanGroup(
            group.op, tuple(self._part(term, each) for each in group.children), group.negated, group.position
        )

    def _part(self, term: Term, node: Node) -> Node:
        if isinstance(node, BooleanGroup):
            return self._named(term, node)
        if isinstance(node, BareWord):
            return Term("automation.name", node.text, node.negated, node.position)
        if node.field not in PARTS:
            raise self.bad(
                term,
                lazy_gettext(
                    "'{value}' is not one of {known}{nearest}",
                    value=node.field[:50],
                    known=", ".join(PARTS),
                    nearest=nearest(node.field, PARTS),
                ),
            )
        return Term(f"automation.{node.field}", node.value, node.negated, node.position)


class AutomationLog(RecordType):
    """An entry that an automation wrote. Texts that are too long are cut."""

    uri, context = "automation_log", ""  # no record links to an entry
    aliases = ()
    is_silent = True
    traits = (Search(),)
    operations = {"retrieve": False, "search": True, "create": False, "update": False, "delete": False}
    access = Access(read="admins", write=("nobody",))
    columns = (
        Column("automation_name", "TEXT", nocase=True),
        Column("automation_node", "TEXT", nocase=True),
        Column("automation_version"),
        Column("created_at"),
        Column("level"),
        Column("message", "TEXT", nocase=True),
        Column("run_id"),  # id of the first entry of the same run
    )
    indexes = (
        Index(("automation_name",), "the entries of one automation"),
        Index(("level",), "the entries of a level, newest first"),
        Index(("created_at",), "entries of a time, and clearing out old ones"),
        Index(("run_id",), "the entries of one run"),
    )
    keys = (
        Key("automation_name", "text", "Name of the automation that wrote it.", column="automation_name"),
        Key("automation_node", "text", "Where in the script, as a path such as start:log.", column="automation_node"),
        Key("created_at", "timestamp", "When it was written.", column="created_at"),
        Key("level", "number", "From 0 (emergency) to 7 (debug).", column="level"),
        Key("level__label", "text", "Name of the level.", level_name),
        Key("message", "text", "The message.", column="message"),
    )
    filters = (
        AutomationFilter(
            "automation",
            "Exact name of the automation, with * for any characters; or a group: (name:... node:...).",
            "automation_name",
            "exact",
            sortable=False,
        ),
        TextFilter("automation.name", "Exact name of the automation.", "automation_name", "exact", sortable=False),
        TextFilter("automation.node", "Exact path in the script.", "automation_node", "exact", sortable=False),
        DateFilter("created", "When it was written.", "created_at", sortable=False),
        NumberFilter("id", "Id of the entry.", "id", sortable=False),
        LevelFilter(
            "level",
            "The level by name or number; lists and ! are allowed.",
            "level",
            {word: number for number, word in enumerate(LEVELS)},
            sortable=False,
        ),
        TextFilter("message", "Exact message, with * for any characters.", "message", "exact", sortable=False),
    )
    label_column = "message"
    has_url = False

    def prepare(self, change: Change, writing: Writing) -> None:
        new = change.new
        new.setdefault("created_at", writing.now)
        if not 0 <= change.value("level") < len(LEVELS):
            raise Invalid(f"level: {change.value('level')} is not 0 to {len(LEVELS) - 1}", field="level")
        for column, most in (("automation_name", NAME_CHARS), ("automation_node", TEXT_CHARS), ("message", TEXT_CHARS)):
            if column in new:
                new[column] = new[column][:most]

    def after_write(self, change: Change, writing: Writing) -> None:
        """Sets the run of an entry, identified by its first entry, and notifies followers of the log."""
        writing.ctx.service.notify_after(writing.tx, CHANNEL)
        if not change.value("run_id"):
            writing.set(self.uri, change.id, {"run_id": change.id})
