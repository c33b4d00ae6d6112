"""Kinds of filter, one file each: what `name:value` of a search may hold and which condition it means."""

from server.search.filters.app import AppFilter
from server.search.filters.base import Filter
from server.search.filters.by_id import ByIdFilter
from server.search.filters.choice import ChoiceFilter
from server.search.filters.context import ContextFilter
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter, RareFlagFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.hidden import HiddenFilter
from server.search.filters.links import LinksFilter, TypeFilter
from server.search.filters.number import BytesFilter, ChooserFilter, DecimalFilter, DurationFilter, NumberFilter
from server.search.filters.text import AllWords, Match, TextFilter
from server.search.filters.usable import Usable, UsableByFilter
from server.search.filters.ways import Behind, BehindContext, First, Own, PointingHere, Through, Way
from server.search.filters.worker import WatchersFilter, WorkerFilter

__all__ = [
    "AllWords", "AppFilter", "Behind", "BehindContext", "ByIdFilter", "BytesFilter", "ChoiceFilter",
    "ChooserFilter", "ContextFilter", "DateFilter", "DecimalFilter", "DeepFilter", "DurationFilter", "Filter",
    "First", "FlagFilter", "HiddenFilter", "LinksFilter", "Match", "NumberFilter", "Own", "PointingHere",
    "RareFlagFilter", "TextFilter", "Through", "TypeFilter", "Usable", "UsableByFilter", "WatchersFilter", "Way",
    "WordsFilter", "WorkerFilter",
]  # fmt: skip
