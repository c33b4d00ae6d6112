"""Ids of other records, and the record types they belong to."""

from collections.abc import Sequence
from typing import Any

from server.contexts import APP, short_context
from server.dataclass import dataclass
from server.digits import id_in
from server.fields.field import Field, Intake, as_text, beginning, camel_case, split_sign
from server.search.filters import BelongsTo, ChooserFilter, ContextFilter, DeepFilter, Filter
from server.translation import lazy_gettext


class Id(Field):
    """The id of a record of type `target`, or of the type in the field `target_from`.

    Also accepts `svc:<type>:<id or name>`. zero_ok: 0 means no record.

    If the field is shown, the dictionary contains the linked record under the name of the field without `_id`. nested:
    another name for that record, None for the bare id. nested_note: its description, by default the first words of the
    note. deep: the note of the filter by a query on the linked record, if there is one."""

    type = "id"
    kind = "INTEGER"
    filter_kind = ChooserFilter

    def __init__(
        self,
        note: str,
        target: str = "",
        *,
        target_from: str = "",
        zero_ok: bool = False,
        nested: str | None = "",
        nested_note: str = "",
        deep: str = "",
        **options: Any,
    ) -> None:
        super().__init__(note, **options)
        self.target = target
        self.target_from = target_from
        self.zero_ok = zero_ok
        self.nested = nested if self.shown else None
        self.nested_note = nested_note or beginning(note)
        self.deep = deep
        self.shown = self.shown and not self.has_nested

    @property
    def has_nested(self) -> bool:
        """Returns whether the dictionary can show the keys of the linked record."""
        return self.stored and bool(self.target or self.target_from) and self.nested is not None

    @property
    def prefix(self) -> str:
        """Returns the dictionary key of the linked record."""
        return self.nested or self.name.removesuffix("_id")

    def filters(self) -> list[Filter]:
        filters = super().filters() if self.target else []
        if self.deep:
            name = (self.filter or self.usual_filter()).removesuffix(".id")
            filters.append(DeepFilter(name, self.deep, self.target, BelongsTo(self.name)))
        return filters

    def usual_filter(self) -> str:
        """Returns `org.id` for `org_id`."""
        return f"{camel_case(self.name.removesuffix('_id'))}.id"

    def filter_options(self) -> dict[str, Any]:
        return {"target": self.target}

    def usual_filter_note(self) -> str:
        return "By id; comparison and sets as for numbers."

    def initial(self) -> Any:
        return self.default or 0

    def read(self, raw: Any, intake: Intake) -> int:
        text = as_text(raw).strip()
        target = self._target(intake)
        if not text and self.zero_ok:
            return 0
        if text.startswith("svc:") and target:
            linked_id = intake.lookup.reference(target, text)
            if linked_id is None:
                raise self.bad(lazy_gettext("no {type} is named '{value}'", value=text[:80], type=target))
            return linked_id
        id = id_in(text)
        if id is None:
            raise self.bad(lazy_gettext("'{value}' is not an id", value=text[:50]))
        if id == 0:
            if self.zero_ok:
                return 0
            raise self.bad("must be a record id, not 0")
        if target and not intake.lookup.exists(target, id):
            raise self.bad(lazy_gettext("there is no {type} {id}", type=target.rpartition(".")[2], id=id))
        return id

    def is_blank(self, raw: Any) -> bool:
        return super().is_blank(raw) or (not self.zero_ok and as_text(raw).strip() == "0")

    def _target(self, intake: Intake) -> str:
        if self.target_from:
            return str(intake.values.get(self.target_from) or "")
        return self.target

    def limits(self) -> dict[str, Any]:
        limits: dict[str, Any] = {"zero_ok": self.zero_ok}
        if self.target or self.target_from:
            limits["target"] = self.target or "*"
        if self.target_from:
            limits["target_from"] = self.target_from
        return limits

    def schema(self) -> dict[str, Any]:
        return {"type": ["integer", "string"], "description": self.note}


class ContextName(Field):
    """A record type: its uri, an alias or its full context; stored as the full context."""

    type = "context"
    filter_kind = ContextFilter

    def __init__(self, note: str, *, allowed: tuple[str, ...] = (), blank_ok: bool = False, **options: Any) -> None:
        super().__init__(note, **options)
        self.allowed = allowed
        self.blank_ok = blank_ok

    def initial(self) -> Any:
        return self.default or ""

    def read(self, raw: Any, intake: Intake) -> str:
        name = as_text(raw).strip()
        if not name and self.blank_ok:
            return ""
        context = APP if name.lower() in ("app", APP) else intake.lookup.context(name.lower())
        if context is None:
            raise self.bad(lazy_gettext("'{value}' is not a record type", value=name[:80]))
        if self.allowed and context not in self.allowed:
            short = ", ".join(short_context(each) for each in self.allowed)
            raise self.bad(lazy_gettext("'{value}' must be one of {known}", value=name[:80], known=short))
        return context

    def limits(self) -> dict[str, Any]:
        return {"blank_ok": True} if self.blank_ok else {}


@dataclass(frozen=True, slots=True)
class IdSetChange:
    """The ids to add to a set, and those to remove; `replaces`: the added ids replace the set."""

    adds: tuple[int, ...]
    removes: tuple[int, ...] = ()
    replaces: bool = True

    @classmethod
    def from_signed(cls, signed: Sequence[tuple[str, int]]) -> "IdSetChange":
        """Creates the change for ids with signs; of a repeated id, the last sign counts. Ignores 0."""
        last = {id: sign for sign, id in signed}
        adds = tuple(id for id, sign in last.items() if id and sign != "-")
        removes = tuple(id for id, sign in last.items() if id and sign == "-")
        return cls(adds, removes, not any(sign for sign, _ in signed))

    def applied_to(self, present: set[int]) -> set[int]:
        """Returns the set after the change."""
        return set(self.adds) if self.replaces else (present | set(self.adds)) - set(self.removes)


class IdList(Field):
    """A list of ids of records of type `target`, which replaces the set; ids with a leading `+` or `-` change it
    instead."""

    type = "id_list"
    takes_lists = True

    def __init__(self, note: str, target: str, **options: Any) -> None:
        super().__init__(note, stored=False, **options)
        self.target = target

    def read(self, raw: Any, intake: Intake) -> IdSetChange:
        if raw == "":
            return IdSetChange(())
        if not isinstance(raw, list):
            raise self.bad("takes a list of ids")
        one = Id(self.note, self.target)
        one.name = self.name
        signed = [split_sign(as_text(item)) if isinstance(item, str) else ("", item) for item in raw]
        return IdSetChange.from_signed([(sign, one.coerce(item, intake)) for sign, item in signed])

    def limits(self) -> dict[str, Any]:
        return {"target": self.target}

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["integer", "string"]}, "description": self.note}
