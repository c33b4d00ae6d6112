"""Workers mentioned in a text with @."""

import json
import re
from typing import Any

from server.record_types.parts import Writing
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.store.statements import in_list, slot
from server.store.tables import table_named

MAX_MENTIONS = 50  # workers notified of one text
MAX_CHARS = 100_000  # characters scanned
_MENTION = re.compile(r"(?<![\w@.])@([\w.-]{1,64})")


def names_in(text: str) -> list[str]:
    """The distinct names after @ in a text, in lower case. Mail addresses do not count.

    >>> names_in("@Milo and @nora: ask ana@kite.example, @milo.")
    ['milo', 'nora']
    """
    names = (match[1].rstrip(".-").lower() for match in _MENTION.finditer(text[:MAX_CHARS]))
    return [name for name in dict.fromkeys(names) if name][:MAX_MENTIONS]


def mentioned(writing: Writing, text: str, uri: str, id: int) -> tuple[int, ...]:
    """The ids of the workers mentioned in a text on a record. If its ticket is in a private group, only those who may
    read it."""
    names = names_in(text)
    if not names:
        return ()
    worker = table_named("worker").alias("named")
    rows = writing.tx.rows(
        lambda: worker.select(worker.c.id, worker.c.is_superuser).where(
            in_list(worker.c.at_mention_name, slot(0)), worker.c.is_disabled == 0
        ),
        (json.dumps(names),),
    )
    members = _members_of_private(writing, uri, id)
    return tuple(worker_id for worker_id, is_admin in rows if members is None or is_admin or worker_id in members)


def _members_of_private(writing: Writing, uri: str, id: int) -> set[int] | None:
    """The members of the private group of the record's ticket; None if its group is not private."""
    record: dict[str, Any] | None = writing.record(uri, id)
    if uri == "message" and record is not None:
        record = writing.record("ticket", record["ticket_id"])
    elif uri != "ticket":
        return None
    group = writing.record("group", record["group_id"]) if record else None
    if group is None or not group["is_private"]:
        return None
    return {row[1] for row in writing.tx.find(GROUP_MEMBER, group_id=group["id"])}
