"""Finds records by a name or mail address instead of an id: organizations, addresses, workers.

For hooks, inside a write. Missing organizations and addresses are created."""

from typing import Any

import peewee

from server.errors import Invalid
from server.mail import addresses
from server.record_types.parts import Writing
from server.store.dialect import fold
from server.store.statements import slot
from server.store.tables import table_named
from server.translation import about_field, lazy_gettext

MAX_REINDEXED = 1000  # records reindexed after a change of a name; more would block the writer


def org_named(writing: Writing, name: str) -> int:
    """The organization with this name, case-insensitive; created if there is none. 0 for a blank name."""
    if not name.strip():
        return 0
    org = writing.find("org", name=name)
    return int(org["id"]) if org else writing.create("org", {"name": name})


def address_of(writing: Writing, email: str, field: str) -> int:
    """The record of a mail address, which may include a display name; created if there is none, 0 for a blank one.
    Raises Invalid naming `field`."""
    if not email.strip():
        return 0
    record = writing.find("address", email=email.strip().lower())
    if record:
        return int(record["id"])
    address = address_in(email, field)
    record = writing.find("address", email=address)
    return int(record["id"]) if record else writing.create("address", {"email": address})


def address_in(text: str, field: str) -> str:
    """The one mail address in a text, in lower case, as in `Joe <joe@example.com>`. Raises Invalid naming `field`."""
    address = addresses.the_one(text)
    if address is None:
        raise Invalid(
            about_field(
                field, lazy_gettext("'{value}' is not an email address, such as ana@example.com", value=text[:80])
            ),
            field=field,
        )
    return address


def worker_named(writing: Writing, name: str, field: str) -> int:
    """The worker with this full name or mail address, case-insensitive; 0 for blank. Raises Invalid unless exactly one
    matches."""
    if not name.strip():
        return 0
    ids = workers_named(writing, name)
    if len(ids) != 1:
        reason = "names no worker" if not ids else f"names several workers; send {field}_id"
        raise Invalid(f"{field}: '{name[:80]}' {reason}", field=field)
    return ids[0]


def workers_named(writing: Writing, name: str) -> list[int]:
    """The workers with this full name or mail address, case-insensitive; two at most."""
    full_name_text = " ".join(name.split())
    worker, address = table_named("worker").alias("named"), table_named("address").alias("its_address")

    def build() -> Any:
        full_name = peewee.NodeList((worker.c.first_name, peewee.SQL("|| ' ' ||"), worker.c.last_name), parens=True)
        matches = (peewee.fn.fold(peewee.fn.TRIM(full_name)) == slot(0)) | (address.c.email == slot(1))
        return (
            worker.select(worker.c.id)
            .join(address, peewee.JOIN.LEFT_OUTER, on=(address.c.id == worker.c.email_id))
            .where(matches)
            .limit(2)
        )

    return [int(id) for (id,) in writing.tx.rows(build, (fold(full_name_text), full_name_text.lower()))]


def reindex(writing: Writing, uri: str, column: str, id: int) -> None:
    """Updates the full-text index of records whose `column` is `id`, the newest first, after the name of that record
    changed."""
    table = table_named(uri).alias("renamed")
    rows = writing.tx.rows(
        lambda: (
            table.select(table.c.id)
            .where(getattr(table.c, column) == slot(0))
            .order_by(table.c.id.desc())
            .limit(MAX_REINDEXED)
        ),
        (id,),
    )
    for (record_id,) in rows:
        writing.texts_changed(uri, record_id)
