"""Fields that refer to records, by an id in a column or through a joined table."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from server.counting.dimensions.bin_options import Options
from server.counting.dimensions.dimension import NOBODY, NONE, Dimension, Member, Raw
from server.counting.dimensions.sources import Source
from server.search.conditions import ALWAYS
from server.search.filters.named_filter import NONE as NO_NAME

if TYPE_CHECKING:
    from server.record_types.record_type import Record, RecordType
    from server.records.dictionary import Dictionaries


class RecordDimension(Dimension):
    """target: the type of the records, None if it is not installed.

    is_searched_by_id: searched as `<name>:7`, and `<name>:null` for no record; else by a search in parentheses, which
    matches only existing records."""

    def __init__(
        self,
        options: Options,
        name: str,
        source: Source,
        target: "RecordType | None",
        builder: "Dictionaries",
        is_searched_by_id: bool = True,
    ) -> None:
        super().__init__(options, name, source)
        self.target = target
        self.builder = builder
        self.is_searched_by_id = is_searched_by_id

    @property
    def base(self) -> str:
        return self.name.removesuffix(".id") if self.is_searched_by_id else self.name

    @property
    def context(self) -> str:
        return self.target.context if self.target else ""

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        labelled = self.most(hits)
        labels = self.labels(raw[0] for raw in labelled)
        members: dict[Raw, Member | None] = dict.fromkeys(hits)
        for raw in labelled:
            members[raw] = self._member(raw[0], labels)
        return members

    def identities(self, hits: Mapping[Raw, int]) -> dict[Raw, Hashable]:
        ids = {raw[0] for raw in hits if raw[0]}
        if self.target is not None and not self._sees_all():
            ids = self.builder.readable_ids(self.target.uri, ids)
        return {raw: raw[0] if raw[0] in ids else None for raw in hits}

    def labels(self, ids: Iterable[Any]) -> dict[int, str]:
        """Returns the labels of existing readable records; ids if the token may not read the type."""
        if self.target is None:
            return {}
        if not self.builder.covers(self.target.uri):
            return {id: str(id) for id in ids if id}
        records: list[Record] = self.builder.records(self.target.uri, [id for id in ids if id])
        return self.target.labels(self.builder, records) if records else {}

    def _member(self, id: Any, labels: dict[int, str]) -> Member | None:
        if not id:
            return Member(0, self.nothing, 0, lambda: f"{self.name}:null", context=self.context)
        label = labels.get(id)
        if label is None and not (self.is_searched_by_id and self._sees_all()):
            return None
        return Member(id, label or str(id), id, lambda: self._term(id), context=self.context)

    def _sees_all(self) -> bool:
        return self.target is None or self.builder.readable(self.target.uri) is ALWAYS

    def _term(self, id: int) -> str:
        return f"{self.name}:{id}" if self.is_searched_by_id else f"{self.name}:(id:{id})"

    def dictionary(self, member: Member) -> dict[str, Any]:
        name = self.base.replace(".", "_")
        return {f"{name}_id": member.value, f"{name}__context": self.context, f"{name}__label": member.label}

    def columns(self) -> dict[str, dict[str, Any]]:
        return {
            f"{self.name}_label": {
                "label": self.label,
                "type": "context",
                "type_options": {"context": self.context, "context_id_key": self.name},
            }
        }

    def cells(self, member: Member) -> dict[str, Any]:
        return {self.name: member.value, f"{self.name}_label": member.label}


class WatchersDimension(RecordDimension):
    """Watching workers, and no watchers."""

    nothing = NOBODY


class NamedDimension(RecordDimension):
    """Records that are searched by their names, and none."""

    def _member(self, id: Any, labels: dict[int, str]) -> Member | None:
        label = labels.get(id) if id else self.nothing
        if label is None:
            return None
        term = f'{self.name}:"{label}"' if id else f"{self.name}:{NO_NAME}"
        return Member(id or 0, label, id or 0, lambda: term, context=self.context)


class BucketDimension(RecordDimension):
    """Buckets by name; duplicate names include the group."""

    def labels(self, ids: Iterable[Any]) -> dict[int, str]:
        plain = super().labels(ids)
        often = Counter(label.casefold() for label in plain.values())
        alike = [id for id, label in plain.items() if often[label.casefold()] > 1]
        return plain | with_groups(self.builder, alike) if alike else plain


class MaskDimension(RecordDimension):
    """Tickets by mask: `ticket.mask` of messages."""

    @property
    def base(self) -> str:
        return "ticket.mask"

    def labels(self, ids: Iterable[Any]) -> dict[int, str]:
        assert self.target is not None
        return {record["id"]: record["mask"] for record in self.builder.records(self.target.uri, ids)}

    def _member(self, id: Any, labels: dict[int, str]) -> Member | None:
        mask = labels.get(id)
        return None if mask is None else Member(id, mask, mask, lambda: self._term(id))

    dictionary, columns, cells = Dimension.dictionary, Dimension.columns, Dimension.cells


class NameDimension(RecordDimension):
    """Records by name, equal names combined: `ticket.group.name` of messages."""

    def __init__(
        self,
        options: Options,
        name: str,
        source: Source,
        target: "RecordType | None",
        builder: "Dictionaries",
        by_id: str,
    ) -> None:
        super().__init__(options, name, source, target, builder)
        self.by_id = by_id

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        labelled = self.most(hits)
        labels = self.labels(raw[0] for raw in labelled)
        ids: dict[str, list[int]] = {}
        for raw in labelled:
            if raw[0] in labels:
                ids.setdefault(labels[raw[0]].casefold(), []).append(raw[0])
        by_name = {key: self._named(key, same_ids, labels) for key, same_ids in ids.items()}
        return {raw: by_name.get(labels.get(raw[0], "").casefold()) for raw in hits}

    def _named(self, key: str, ids: list[int], labels: dict[int, str]) -> Member:
        label = labels[ids[0]]
        return Member(key, label, label, lambda: f"{self.by_id}:[{','.join(map(str, sorted(ids)))}]")

    dictionary, columns, cells = Dimension.dictionary, Dimension.columns, Dimension.cells


class GroupBucketDimension(RecordDimension):
    """Buckets of tickets, labelled by group and bucket."""

    @property
    def base(self) -> str:
        return "group_bucket"

    def labels(self, ids: Iterable[Any]) -> dict[int, str]:
        return with_groups(self.builder, [id for id in ids if id])


def with_groups(builder: "Dictionaries", bucket_ids: list[int]) -> dict[int, str]:
    """Returns {bucket id: group and bucket}."""
    buckets = builder.records("bucket", bucket_ids)
    groups = builder.records("group", {each["group_id"] for each in buckets})
    names = {each["id"]: each["name"] for each in groups}
    return {each["id"]: f"{names.get(each['group_id'], NONE)}: {each['name']}" for each in buckets}
