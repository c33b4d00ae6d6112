"""Kinds of filter, one file each: the values that `name:value` accepts, and the condition it compiles to."""

from server.search.filters.by_id import ByIdFilter
from server.search.filters.choice import ChoiceFilter, NamedChoiceFilter
from server.search.filters.context_filter import ContextFilter
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.filter import Filter
from server.search.filters.flag_filter import FlagFilter, RareFlagFilter
from server.search.filters.hidden import HiddenFilter
from server.search.filters.link_filters import LinksFilter, TypeFilter
from server.search.filters.named_filter import NamedFilter
from server.search.filters.number import BytesFilter, ChooserFilter, DecimalFilter, DurationFilter, NumberFilter
from server.search.filters.relations import (
    BelongsTo,
    BelongsToContext,
    HasMany,
    HasManyThrough,
    HasOne,
    Relation,
    SameRecord,
)
from server.search.filters.service_filter import AppFilter
from server.search.filters.text_filters import AllWords, Match, TextFilter
from server.search.filters.usable import UsableByFilter, UsableRecords
from server.search.filters.word_filters import WordsFilter
from server.search.filters.worker_filters import WatchersFilter, WorkerFilter

__all__ = [
    "AllWords", "AppFilter", "BelongsTo", "BelongsToContext", "ByIdFilter", "BytesFilter", "ChoiceFilter",
    "ChooserFilter", "ContextFilter", "DateFilter", "DecimalFilter", "DeepFilter", "DurationFilter", "Filter",
    "FlagFilter", "HasMany", "HasManyThrough", "HasOne", "HiddenFilter", "LinksFilter", "Match", "NamedChoiceFilter",
    "NamedFilter", "NumberFilter", "RareFlagFilter", "Relation", "SameRecord", "TextFilter", "TypeFilter",
    "UsableByFilter", "UsableRecords", "WatchersFilter", "WordsFilter", "WorkerFilter",
]  # fmt: skip
