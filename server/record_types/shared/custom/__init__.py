"""Custom fields, defined by data. A value is one row of `custom_value`, or several for kinds with several values."""

from server.record_types.shared.custom.custom_filters import CustomFilter, countable, filter_named
from server.record_types.shared.custom.definitions import (
    GEO,
    KINDS,
    LINKS,
    SLIDER,
    Definitions,
    FieldDefinition,
    currency_id,
    definitions,
    deleted_fields_of,
)
from server.record_types.shared.custom.intake import ValueSetChange, coerce, take, write
from server.record_types.shared.custom.keys import (
    load_by_id,
    load_by_uri,
    records_with,
    shown_text,
    shown_value,
    values_of,
)
from server.record_types.shared.custom.notified_workers import notified_workers

__all__ = [
    "ValueSetChange",
    "FieldDefinition",
    "CustomFilter",
    "Definitions",
    "GEO",
    "KINDS",
    "LINKS",
    "SLIDER",
    "coerce",
    "countable",
    "currency_id",
    "definitions",
    "deleted_fields_of",
    "filter_named",
    "load_by_id",
    "load_by_uri",
    "records_with",
    "shown_text",
    "shown_value",
    "take",
    "notified_workers",
    "values_of",
    "write",
]
