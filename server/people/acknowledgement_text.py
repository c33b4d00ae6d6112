"""Validates the automatic acknowledgement of a group, the reply to the first mail of a ticket, and its request for a
rating. tickets/acknowledging.py and tickets/ratings/ create and send them."""

from typing import TYPE_CHECKING

from server.errors import Invalid, Required, nearest
from server.record_types.record_type import Change, Writing
from server.record_types.shared.points import PLACEHOLDER
from server.records.dictionary import MAX_PATHS, is_key

if TYPE_CHECKING:
    from server.record_types.registry import Registry

ALWAYS, INSIDE, OUTSIDE = HOURS = ("always", "inside", "outside")
MAX_CHARACTERS = 20_000
ABOUT = ("ticket", "group", "bucket")  # records whose keys are placeholders; keys of the ticket need no prefix
# The usual placeholders; any other key of the three records is allowed.
PLACEHOLDERS = (
    "mask",
    "subject",
    "created",
    "status",
    "org_name",
    "group_name",
    "bucket_name",
    "initial_message_sender_email",
    "initial_message_sender_full_name",
    "record_url",
    "ticket_url",
)
RATING_FIELDS = ("rating_subject", "rating_text")  # texts of requests for ratings have the same placeholders
RATING_TEXTS = "rating_texts"  # the same texts in further languages
FIELDS = ("ack_enabled", "ack_subject", "ack_text", "ack_hours", "ack_calendar_id")


def check(change: Change, writing: Writing, registry: "Registry") -> None:
    """Runs before a group is written. Raises Required for a missing text or calendar, Invalid for unknown placeholders.
    Resets the error of the last sending if its cause may have changed."""
    for name in RATING_FIELDS:
        if change.changes(name):
            _check_placeholders(writing, registry, name, change.value(name) or "")
    for each in change.new.get(RATING_TEXTS) or ():
        for text in (each["subject"], each["text"]):
            _check_placeholders(writing, registry, RATING_TEXTS, text)
    if not any(change.changes(name) for name in FIELDS):
        return
    change.new["ack_error"] = ""
    change.new["ack_hours"] = change.value("ack_hours") or ALWAYS
    for name in ("ack_subject", "ack_text"):
        _check_placeholders(writing, registry, name, change.value(name) or "")
    if not change.value("ack_enabled"):
        return
    if not (change.value("ack_text") or "").strip():
        raise Required("ack_text is required while ack_enabled is 1: the text of the acknowledgement", field="ack_text")
    if change.value("ack_hours") != ALWAYS and not change.value("ack_calendar_id"):
        raise Required(
            f"ack_calendar_id is required, unless ack_hours is {ALWAYS}: choose a calendar", field="ack_calendar_id"
        )


def _check_placeholders(writing: Writing, registry: "Registry", field: str, text: str) -> None:
    rest = PLACEHOLDER.sub("", text)
    for mark in ("{{", "}}"):
        if (place := rest.find(mark)) >= 0:
            near = " ".join(rest[max(place - 10, 0) : place + 30].split())
            raise Invalid(f"{field}: '{near}' is not a placeholder; write {{{{mask}}}} or the like", field=field)
    names = list(dict.fromkeys(PLACEHOLDER.findall(text)))
    if len(names) > MAX_PATHS:
        raise Invalid(f"{field}: at most {MAX_PATHS} placeholders", field=field)
    for name in names:
        if not _is_known(writing, registry, name):
            examples = ", ".join(f"{{{{{each}}}}}" for each in PLACEHOLDERS)
            raise Invalid(
                f"{field}: there is no placeholder {{{{{name[:80]}}}}}{nearest(name, PLACEHOLDERS)}; "
                f"there are {examples}, "
                "and the other keys of a ticket, those of its group and bucket behind group_ and bucket_",
                field=field,
            )


def _is_known(writing: Writing, registry: "Registry", name: str) -> bool:
    prefix, _, key = name.partition("_")
    types = [(ABOUT[0], name), *([(prefix, key)] if prefix in ABOUT else [])]
    return any(is_key(registry, registry.type(uri), path, writing.tx) for uri, path in types)
