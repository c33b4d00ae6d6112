"""What the fields of a record are for. Forms and pages show a record in this order: its name, what it does, who and
where, times, limits, and last what the service itself sets. The API does not depend on it."""

from server.fields import CreatedAt, Field, Id, Number, Text, Timestamp
from server.record_types.record_type import RecordType
from server.translation import N_

NAME, CONTENT, PLACE, TIME, LIMIT, CUSTOM, SYSTEM = range(7)
HEADINGS = ("", "", N_("Who and where"), N_("Times"), N_("Numbers and limits"), N_("Custom fields"), "")
_NAMES = (
    "first_name",
    "last_name",
    "name",
    "full_name",
    "name_plural",
    "subject",
    "title",
    "label",
    "email",
    "email_id",
    "description",
)
_PLACES = (
    "owner",
    "phone",
    "mobile",
    "location",
    "street",
    "postal",
    "city",
    "province",
    "country",
    "timezone",
    "recurring_timezone",
    "tz",
    "language",
    "time_format",
)
_PLACE_TYPES = ("worker", "group", "bucket", "org", "contact", "address", "ticket")  # that a field may point to
_SET_BY_SERVICE = frozenset(
    (
        "uri",
        "guid",
        "token",
        "mask",
        "client_id",
        "num_fails",
        "checked_at",
        "last_login_at",
        "last_ran_at",
        "views",
        "total_uses",
        "storage_size",
        "hash_header_message_id",
        "queue_fails",
        "response_time",
        "was_encrypted",
        "spam_score",
        "spam_training",
    )
)


def role(record_type: RecordType, name: str) -> int:
    """The role of a field, or of a record that it points to.

    name: of the field, or without its `_id`."""
    declared = record_type.fields.get(name) or record_type.fields.get(f"{name}_id")
    if declared is None and name.startswith("custom_"):
        return CUSTOM
    if name in _NAMES:
        return NAME
    if isinstance(declared, CreatedAt) or (name in _SET_BY_SERVICE and not (declared and declared.required)):
        return SYSTEM
    if name in _PLACES or _is_place(declared):
        return PLACE
    if isinstance(declared, Timestamp) or (isinstance(declared, Text) and declared.form == "date"):
        return TIME
    return LIMIT if isinstance(declared, Number) and not declared.words else CONTENT


def order(record_type: RecordType, name: str) -> tuple[int, int, bool]:
    """The sort key of a field among the others; equal for fields whose declarations decide."""
    named = (*_NAMES, *_PLACES)
    place = named.index(name) if name in named else len(named)
    return role(record_type, name), place, name.endswith(("_end", "_until"))


def _is_place(declared: Field | None) -> bool:
    return isinstance(declared, Id) and declared.target in _PLACE_TYPES
