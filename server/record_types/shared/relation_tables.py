"""Tables between record types: links, attached files, requesters, members."""

from typing import Any

import peewee

from server.store.tables import Column, Index, Table

LINK = Table(
    "link",
    [
        Column("from_context", "TEXT"),
        Column("from_id"),
        Column("to_context", "TEXT"),
        Column("to_id"),
    ],
    [Index(("to_context", "to_id", "from_context"), "a worker's watched records, a deleted record's links")],
    key=("from_context", "from_id", "to_context", "to_id"),
)  # every link has two rows, one from each side

ATTACHED = Table(
    "attached",
    [Column("attachment_id"), Column("context", "TEXT"), Column("record_id")],
    [Index(("context", "record_id"), "the files of a record")],
    key=("attachment_id", "context", "record_id"),
)

IS_LINE = 'length("text") <= 255'  # SQL text, as SQLite needs it to choose the partial index

CUSTOM_VALUE = Table(
    "custom_value",
    [
        Column("field_id"),
        Column("record_id"),
        Column("place"),
        Column("number", null=True),
        Column("text", "TEXT", null=True, nocase=True),
    ],
    [
        Index(("field_id", "number"), "searches by numbers, dates and records", where='"number" IS NOT NULL'),
        Index(("field_id", "text"), "searches by texts", where=IS_LINE),
    ],
    key=("field_id", "record_id", "place"),
)
# The kind of the field decides whether number or text holds the value; the other is NULL.


def is_line(table: Any) -> Any:
    """The condition that a row is in the index of texts. table: a handle of CUSTOM_VALUE."""
    return peewee.Expression(peewee.fn.length(table.text), "<=", peewee.SQL("255"))


DELETED_FIELD = Table(
    "deleted_field", [Column("field_id"), Column("record", "TEXT"), Column("deleted_at")], key=("field_id",)
)  # custom fields that can be restored: record is JSON; their values stay in custom_value

REMAINS = Table(
    "remains", [Column("context", "TEXT"), Column("record_id")], key=("context", "record_id")
)  # deleted records with more comments and files than one transaction deletes

FIELDSET_USE = Table(
    "fieldset_use",
    [Column("context", "TEXT"), Column("record_id"), Column("fieldset_id")],
    [Index(("fieldset_id", "context"), "the records of a fieldset")],
    key=("context", "record_id", "fieldset_id"),
)

REQUESTER = Table(
    "requester",
    [Column("ticket_id"), Column("address_id")],
    [Index(("address_id", "ticket_id"), "the tickets of an address")],
    key=("ticket_id", "address_id"),
)

TICKET_TAG = Table(
    "ticket_tag",
    [Column("ticket_id"), Column("tag_id")],
    [Index(("tag_id", "ticket_id"), "the tickets of a tag")],
    key=("ticket_id", "tag_id"),
    summary=("tag_id",),
)

CONTACT_TAG = Table(
    "contact_tag",
    [Column("contact_id"), Column("tag_id")],
    [Index(("tag_id", "contact_id"), "the contacts of a tag")],
    key=("contact_id", "tag_id"),
    summary=("tag_id",),
)

ORG_TAG = Table(
    "org_tag",
    [Column("org_id"), Column("tag_id")],
    [Index(("tag_id", "org_id"), "the organizations of a tag")],
    key=("org_id", "tag_id"),
    summary=("tag_id",),
)

TAGGED = (TICKET_TAG, CONTACT_TAG, ORG_TAG)

TAG_NAME = Table(
    "tag_name",
    [Column("name_key", "TEXT"), Column("tag_id")],
    [Index(("tag_id",), "the names of a tag")],
    key=("name_key",),
)  # the names of tags, also former ones and those of merged tags, without regard to case; see tags.name_key

TICKET_STATUS_NAME = Table(
    "ticket_status_name",
    [Column("name_key", "TEXT"), Column("ticket_status_id")],
    key=("name_key",),
    bumps={"ticket_statuses": ()},
)  # the names of ticket statuses, also former ones; id 0: of a deleted one

GROUP_MEMBER = Table(
    "group_member",
    [Column("group_id"), Column("worker_id"), Column("is_manager")],
    [Index(("worker_id", "group_id"), "the groups of a worker")],
    key=("group_id", "worker_id"),
    bumps={"access": ()},
)

ROLE_WORKER = Table(
    "role_worker",
    [Column("role_id"), Column("worker_id"), Column("part", "TEXT")],
    [Index(("worker_id", "part"), "the roles of a worker")],
    key=("role_id", "part", "worker_id"),
    bumps={"access": ()},
)  # part: member, editor or reader; computed from the role's worker queries

SNIPPET_USE = Table(
    "snippet_use",
    [Column("snippet_id"), Column("worker_id"), Column("hour"), Column("uses")],
    [Index(("worker_id", "snippet_id"), "how often a worker used each snippet")],
    key=("snippet_id", "worker_id", "hour"),
)  # hour: the first second, in Unix seconds

CHANGE = Table(
    "change_log",
    [
        Column("at"),
        Column("context", "TEXT"),
        Column("record_id"),
        Column("event", "TEXT"),
        Column("owner__context", "TEXT"),
        Column("owner_id"),
    ],
    is_log=True,
)
# event: created, updated or deleted. owner: of a deleted record, if read access depends on it.

SHARED = (
    LINK, ATTACHED, CUSTOM_VALUE, DELETED_FIELD, REMAINS, FIELDSET_USE, REQUESTER, *TAGGED, TAG_NAME,
    TICKET_STATUS_NAME, GROUP_MEMBER, ROLE_WORKER, SNIPPET_USE, CHANGE,
)  # fmt: skip
