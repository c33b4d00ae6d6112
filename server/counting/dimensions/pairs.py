"""Fields that refer to records of any type, such as an owner, an author or a target, stored as context and id."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from server.counting.dimensions.bin_options import Options
from server.counting.dimensions.dimension import NONE, Dimension, Member, Raw
from server.counting.dimensions.sources import Source
from server.search.conditions import ALWAYS
from server.search.filters.service_filter import APP

if TYPE_CHECKING:
    from server.records.dictionary import Dictionaries

SERVICE = "App"


class PairDimension(Dimension):
    """A pair of columns, `<name>__context` and `<name>_id`, searched as `owner:"worker:5"`."""

    def __init__(self, options: Options, name: str, source: Source, builder: "Dictionaries") -> None:
        super().__init__(options, name, source)
        self.builder = builder

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        pairs = self.most(hits)
        labels = self._labels(pairs)
        members: dict[Raw, Member | None] = dict.fromkeys(hits)
        for raw in pairs:
            members[raw] = self._member(raw[0], raw[1], labels)
        return members

    def _labels(self, pairs: list[Raw]) -> dict[Raw, str]:
        ids: dict[str, list[int]] = {}
        for context, id in pairs:
            ids.setdefault(context, []).append(id)
        found_labels: dict[Raw, str] = {}
        for context, context_ids in ids.items():
            target = self.builder.find_type(context) if context else None
            if target is not None and not self.builder.covers(target.uri):
                found_labels |= {(context, id): str(id) for id in context_ids if id}
            elif target is not None:
                records = self.builder.records(target.uri, [id for id in context_ids if id])
                labels = target.labels(self.builder, records) if records else {}
                found_labels |= {(context, id): label for id, label in labels.items()}
        return found_labels

    def _member(self, context: str, id: int, labels: dict[Raw, str]) -> Member | None:
        if not context:
            return Member(("", 0), NONE, 0, lambda: f"{self.name}:none")
        label = labels.get((context, id))
        target = self.builder.find_type(context)
        if context == APP:
            label = SERVICE
        elif label is None and id and target is not None and self.builder.readable(target.uri) is not ALWAYS:
            return None
        short = target.uri if target is not None else context
        return Member(
            (context, id),
            label or (str(id) if id else NONE),
            id,
            lambda: f'{self.name}:"{short}:{id}"',
            context=context,
        )

    def dictionary(self, member: Member) -> dict[str, Any]:
        name = self.base.replace(".", "_")
        return {f"{name}_id": member.value, f"{name}__context": member.context, f"{name}__label": member.label}

    def columns(self) -> dict[str, dict[str, Any]]:
        return {
            f"{self.name}_label": {
                "label": self.label,
                "type": "context",
                "type_options": {"context_key": f"{self.name}__context", "context_id_key": self.name},
            }
        }

    def cells(self, member: Member) -> dict[str, Any]:
        return {self.name: member.value, f"{self.name}__context": member.context, f"{self.name}_label": member.label}


class LinkDimension(PairDimension):
    """The linked records as `<context>:<id>`, searched as `links.org:(id:55)`."""

    def _member(self, context: str, id: int, labels: dict[Raw, str]) -> Member | None:
        label, target = labels.get((context, id)), self.builder.find_type(context)
        if label is None or target is None:
            return None
        term = f"{self.name}.{target.uri}:(id:{id})"
        return Member((context, id), label, f"{context}:{id}", lambda: term, context=context)

    def dictionary(self, member: Member) -> dict[str, Any]:
        return super().dictionary(self._by_id(member))

    def cells(self, member: Member) -> dict[str, Any]:
        return super().cells(self._by_id(member))

    def _by_id(self, member: Member) -> Member:
        """Returns the member with the id alone as value, for places that have the context separately."""
        assert isinstance(member.key, tuple)
        return replace(member, value=member.key[1])


class ContextDimension(Dimension):
    """The record types of a pair or of links: `actor.type`, `subtotals[]=links`. term: the filter that accepts their
    names."""

    def __init__(self, options: Options, name: str, term: str, source: Source, builder: "Dictionaries") -> None:
        super().__init__(options, name, source)
        self.by = term
        self.builder = builder

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        return {raw: self._member(raw[0]) for raw in hits}

    def _member(self, context: str) -> Member:
        if not context:
            return Member("", NONE, "", lambda: f"{self.by}:none")
        target = self.builder.find_type(context)
        label = target.label_names[0] if target else SERVICE if context == APP else context
        return Member(context, label, context, lambda: f'{self.by}:"{context}"')
