"""No one can impersonate others through a field, over HTTP: each row of identity_fields.py as a worker with all
privileges and as a manager, by create, update and upsert."""

from collections.abc import Callable
from typing import Any

import pytest

from server.access.parents import PARENTS
from server.record_types.registry import load
from tests.api.families import CHILDREN, belonging, owned
from tests.api.identity_fields import (
    ADMINS,
    ITS_OWNER,
    ITS_PARENT,
    ITS_WORKER,
    MANAGERS,
    ROWS,
    TICKET,
    WRITERS,
    Row,
    is_sensitive,
)
from tests.api.minimal import APP, MINIMAL, made, number
from tests.service import Api, Reply
from tests.telling import telling

REGISTRY = load()
pytestmark = pytest.mark.usefixtures("as_before")
WITHHELD = {"admins", "nobody"}
ORDINARY = ("milo", "max")  # a member with all privileges, and a manager
Value = Callable[[Api], Any]
# The value to try, where 1 would not be understood. nora is the worker whom milo would impersonate.
VALUES: dict[str, Value] = {
    "address.worker_id": lambda api: api.ids["nora"],
    "address.mail_transport_id": lambda api: made(api, "mail_transport"),
    "address.email": lambda api: f"ana{number()}@kite.example",
    "behavior.event_point": lambda api: "event.webhook.received",
    "calendar.params": lambda api: "{}",
    "connected_account.params": lambda api: '{"token": "x"}',
    "connected_account.service_id": lambda api: made(api, "connected_service"),
    "connected_account.uri": lambda api: f"kite{number()}",
    "contact.email": lambda api: f"ana{number()}@kite.example",
    "contact.email_id": lambda api: made(api, "address"),
    "comment.target__context": lambda api: "org",
    "comment.target_id": lambda api: made(api, "org"),
    "custom_field.context": lambda api: "call",
    "custom_fieldset.context": lambda api: "call",
    "draft.params": lambda api: '{"content": "x"}',
    "draft.token": lambda api: "abcdefghij",
    "notification.params": lambda api: '{"message": "x"}',
    "org.email_id": lambda api: made(api, "address"),
    "org.website": lambda api: "https://kite.example/",
    "project_board.cards_kata": lambda api: "automation/a:",
    "project_board.params": lambda api: "{}",
    "project_board_column.cards_kata": lambda api: "automation/a:",
    "project_board_column.functions_kata": lambda api: "automation/a:",
    "project_board_column.params": lambda api: "{}",
    "project_board_column.toolbar_kata": lambda api: "interaction/a:",
    "task.owner_id": lambda api: api.ids["nora"],
}


def value(row: Row, api: Api) -> Any:
    return VALUES.get(str(row), lambda api: "1")(api)


def rows(who: str) -> list[Row]:
    return [row for row in ROWS if row.who == who]


def refused(*replies: Reply) -> None:
    """Asserts that all are refused, by the rules or because the caller cannot see the target."""
    for reply in replies:
        assert reply.status == 403 or (reply.status == 422 and "there is no " in reply["message"]), reply


def owner_fields(name: str) -> Value:
    """Returns the owner fields of a worker."""
    return lambda api: {"owner__context": "worker", "owner_id": api.ids[name]}


def record_of(name: str, uri: str, api: Api) -> int:
    """Creates a record that belongs to somebody: by its worker, author, owner or parent."""
    known = REGISTRY.type(uri).fields
    fields: dict[str, Any] = MINIMAL[uri](api)
    if uri in CHILDREN:
        fields = belonging(uri, owner_fields(name))(api)
    elif uri == "custom_field":
        fields |= {"custom_fieldset_id": made(api, "custom_fieldset", **owner_fields(name)(api))}
    elif uri == "email_signature":  # signatures belong to groups, not to workers
        group = {"milo": "support", "nora": "private"}[name]
        fields |= {"owner__context": "group", "owner_id": api.ids[group]}
    elif "owner_id" in known and "owner__context" in known:
        fields = owned(uri, owner_fields(name))(api)
    elif "author_id" in known:
        fields |= {"author__context": "worker", "author_id": api.ids[name]}
    elif "worker_id" in known:
        fields |= {"worker_id": api.ids[name]}
    return int(api.create(uri, **fields).ok()["id"])


def test_every_sensitive_field_is_in_the_table() -> None:
    """A new field needs an entry in identity_fields.py with its writers and the reason."""
    found = {
        f"{each.uri}.{name}" for each in REGISTRY for name, field in each.fields.items()
        if is_sensitive(each, field)
    }  # fmt: skip
    assert found == {str(row) for row in ROWS}


OF_ADMINISTRATORS = telling(
    {str(row): row for row in rows(ADMINS)},
    (
        "worker.is_superuser", "worker.password", "worker.email", "group.members", "automation.script",
        "mailbox.host", "mail_transport.params", "oauth_app.scopes", "role.privs", "webhook_listener.guid",
    ),
    "every field that only administrators write",
)  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("row", OF_ADMINISTRATORS)
def test_fields_that_administrators_write(row: Row, name: str, actors: dict[str, Api], api: Api) -> None:
    if row.type == "currency":
        api.create("currency", **MINIMAL["currency"](api) | {"is_default": 1}).ok()
    actor, fields = actors[name], {row.field: value(row, api)}
    minimal = MINIMAL.get(row.type, lambda api: {"name": "Kite"})(api)
    if WITHHELD & set(REGISTRY.type(row.type).access.create):
        id = made(api, row.type)
    else:  # which they may write apart from this field
        minimal |= owner_fields(name)(api) if "owner_id" in minimal else {}
        id = actor.create(row.type, **minimal).ok()["id"]
        minimal |= _anew(row.type, api)
    before = api.record(row.type, id).ok().json
    refused(
        actor.create(row.type, **minimal | fields), actor.upsert(row.type, "id:0", **minimal | fields),
        actor.update(row.type, id, **fields), actor.upsert(row.type, f"id:{id}", **fields),
    )  # fmt: skip
    assert api.record(row.type, id).ok().json == before


def _anew(uri: str, api: Api) -> dict[str, Any]:
    """Returns new values for fields that must be unique."""
    made_anew, names = MINIMAL[uri](api), {"name", "email", "uri"}
    return {name: text for name, text in made_anew.items() if name in names}


@pytest.mark.parametrize("row", rows(ITS_WORKER), ids=str)
def test_fields_that_its_worker_writes(row: Row, actors: dict[str, Api], api: Api) -> None:
    milo, own, foreign = actors["milo"], record_of("milo", row.type, api), record_of("nora", row.type, api)
    pair = {"author__context": "worker", "author_id": api.ids["nora"]}
    is_whose = row.field in ("worker_id", *pair)
    whose = pair if row.field in pair else {"worker_id": api.ids["nora"]}
    if is_whose:
        minimal = MINIMAL[row.type](api)
        refused(
            milo.create(row.type, **minimal | whose), milo.upsert(row.type, "id:0", **minimal | whose),
            milo.update(row.type, own, **whose), milo.upsert(row.type, f"id:{own}", **whose),
        )  # fmt: skip
        mine = {name: api.ids["milo"] if name.endswith("_id") else text for name, text in whose.items()}
        refused(milo.update(row.type, foreign, **mine))
        milo.update(row.type, own, **mine).ok()
    else:
        milo.update(row.type, own, **{row.field: value(row, api)} | _with(row, api)).ok()
        refused(milo.update(row.type, foreign, **{row.field: value(row, api)} | _with(row, api)))


def _with(row: Row, api: Api) -> dict[str, Any]:
    """Returns the other half of a pair of fields."""
    if row.field in ("target_id", "target__context"):
        return {"target__context": "org", "target_id": made(api, "org")}
    if row.field in ("owner_id", "owner__context") and row.type == "project_board":
        return owner_fields("nora")(api)
    return {}


@pytest.mark.parametrize("row", rows(ITS_OWNER), ids=str)
def test_fields_that_its_owner_writes(row: Row, actors: dict[str, Api], api: Api) -> None:
    milo, foreign = actors["milo"], record_of("nora", row.type, api)
    if row.field not in ("owner__context", "owner_id"):
        refused(milo.update(row.type, foreign, **{row.field: value(row, api)}))
        return
    own, minimal = made(api, row.type, **_milos(row.type, api)), MINIMAL[row.type](api)
    for owner in (APP, {"owner__context": "group", "owner_id": api.ids["private"]}):
        refused(
            milo.create(row.type, **minimal | owner), milo.upsert(row.type, "id:0", **minimal | owner),
            milo.update(row.type, own, **owner), milo.upsert(row.type, f"id:{own}", **owner),
        )  # fmt: skip
    refused(milo.update(row.type, foreign, **_milos(row.type, api)))


def _milos(uri: str, api: Api) -> dict[str, Any]:
    """Returns owner fields that let milo change a record of a type; for signatures a group that he manages."""
    if uri != "email_signature":
        return dict(owner_fields("milo")(api))
    group = made(api, "group", members={"manager": str(api.ids["milo"])})
    return {"owner__context": "group", "owner_id": group}


@pytest.mark.parametrize("row", rows(ITS_PARENT), ids=str)
def test_fields_that_writers_of_the_parent_write(row: Row, actors: dict[str, Api], api: Api) -> None:
    milo, foreign = actors["milo"], record_of("nora", row.type, api)
    if row.field not in {each.column for each in PARENTS.values()}:
        refused(milo.update(row.type, foreign, **{row.field: value(row, api)}))
        return
    own, minimal = record_of("milo", row.type, api), MINIMAL[row.type](api)
    parent = {row.field: api.record(row.type, foreign).ok()[row.field]}
    refused(
        milo.create(row.type, **minimal | parent), milo.upsert(row.type, "id:0", **minimal | parent),
        milo.update(row.type, own, **parent), milo.upsert(row.type, f"id:{own}", **parent),
    )  # fmt: skip


@pytest.mark.parametrize("row", rows(TICKET), ids=str)
def test_fields_that_workers_on_its_ticket_write(row: Row, actors: dict[str, Api], api: Api) -> None:
    milo, hidden = actors["milo"], made(api, "ticket", group_id=api.ids["private"])
    if row.type == "ticket":
        refused(milo.update("ticket", hidden, **{row.field: "1"}), actors["olga"].update(
            "ticket", made(api, "ticket"), **{row.field: "1"}))  # fmt: skip
        return
    minimal, whose = MINIMAL[row.type](api), {"worker_id": api.ids["milo"]} if row.type == "draft" else {}
    minimal |= whose
    own = made(api, row.type, **whose)
    refused(
        milo.create(row.type, **minimal | {"ticket_id": hidden}),
        milo.update(row.type, own, ticket_id=hidden),
        milo.upsert(row.type, f"id:{own}", ticket_id=hidden),
    )
    foreign = {} if row.type == "message" else {"worker_id": api.ids["nora"]}
    refused(milo.update(row.type, made(api, row.type, ticket_id=hidden, **foreign), **{row.field: "1"}))


@pytest.mark.parametrize("row", rows(MANAGERS), ids=str)
def test_fields_that_managers_write(row: Row, actors: dict[str, Api], api: Api) -> None:
    fields = {"group_id": api.ids["support"], "is_default": 0, "reply_address_id": 0}
    own, foreign = made(api, "bucket"), made(api, "bucket", group_id=api.ids["private"])
    changed = {row.field: fields[row.field]}
    refused(actors["milo"].update("bucket", own, **changed), actors["max"].update("bucket", foreign, **changed))
    actors["max"].update("bucket", own, **changed).ok()
    refused(actors["max"].update("bucket", own, group_id=api.ids["private"]))


@pytest.mark.parametrize("row", rows(WRITERS), ids=str)
def test_harmless_fields(row: Row, actors: dict[str, Api], api: Api) -> None:
    milo, fields = actors["milo"], {row.field: value(row, api)} | _with(row, api)
    id = milo.create(row.type, **MINIMAL[row.type](api) | fields).ok()["id"]
    milo.update(row.type, id, **{row.field: value(row, api)} | _with(row, api)).ok()


# -- rules that span several fields ------------------------------------------------------------------------------------


def _of_worker(api: Api) -> int:
    return int(api.record("worker", made(api, "worker")).ok()["address_id"])


def _further(api: Api) -> int:
    id = made(api, "address")
    api.update("worker", made(api, "worker"), email_ids=[id]).ok()
    return id


def _sending(api: Api) -> int:
    return made(api, "address", mail_transport_id=made(api, "mail_transport"))


def _of_group(api: Api) -> int:
    id = _sending(api)
    made(api, "group", reply_address_id=id)
    api.update("address", id, mail_transport_id=0).ok()  # the group has it anyway
    return id


def _of_bucket(api: Api) -> int:
    id = _sending(api)
    made(api, "bucket", reply_address_id=id)
    api.update("address", id, mail_transport_id=0).ok()
    return id


def _default(api: Api) -> int:
    return api.found("address", "email:support@localhost")[0]


OURS = [_of_worker, _further, _sending, _of_group, _of_bucket, _default]


@pytest.mark.parametrize("ours", OURS, ids=lambda each: each.__name__.strip("_"))
def test_our_addresses_are_changed_by_administrators_only(
    ours: Callable[[Api], int], actors: dict[str, Api], api: Api
) -> None:
    id = ours(api)
    before = api.record("address", id).ok()
    email = before["email"]
    for name in ORDINARY:
        actor, other = actors[name], f"mine{number()}@kite.example"
        for fields in ({"email": other}, {"host": "kite.example"}, {"is_banned": 1}, {"is_defunct": 1}):
            refused(
                actor.update("address", id, **fields),
                actor.upsert("address", f"id:{id}", **fields),
                actor.upsert("address", f'email:"{email}"', **fields),
            )
        refused(
            actor.put(f"/rest/addresses/{id}.json", email=other),
            actor.create("contact", first_name="Ana", email=email),
            actor.create("contact", first_name="Ana", email_id=id),
            actor.update("contact", made(api, "contact"), email=email),
        )
    after = api.record("address", id).ok()
    assert {name: after[name] for name in ("email", "host", "is_banned", "is_defunct", "contact_id")} == {
        name: before[name] for name in ("email", "host", "is_banned", "is_defunct", "contact_id")
    }
    api.update("address", id, is_trusted=1).ok()


def test_mail_of_unreadable_tickets_cannot_be_redirected(actors: dict[str, Api], api: Api) -> None:
    email = f"ana{number()}@kite.example"
    ticket = made(api, "ticket", group_id=api.ids["private"], participants=email)
    [id] = api.found("address", f"email:{email}")
    refused(actors["milo"].update("address", id, email="mine@kite.example"))
    actors["milo"].update("address", id, email=email.upper(), is_trusted=1).ok()
    api.update("ticket", ticket, group_id=api.ids["support"]).ok()
    actors["milo"].update("address", id, email=f"ana{number()}@kite.example").ok()


def test_managers_choose_bucket_senders_among_those_of_their_group(actors: dict[str, Api], api: Api) -> None:
    foreign, own = _sending(api), _sending(api)
    manager = actors["max"]
    group = made(api, "group", reply_address_id=own, members={"manager": str(api.ids["max"])})
    bucket = made(api, "bucket", group_id=group)
    refused(
        manager.update("bucket", bucket, reply_address_id=foreign),
        manager.update("bucket", bucket, replyto_id=foreign),
        manager.create("bucket", name="Other", group_id=group, reply_address_id=foreign),
    )
    manager.update("bucket", bucket, reply_address_id=own).ok()
    elsewhere = made(api, "group", members={"manager": str(api.ids["max"])})
    refused(manager.update("bucket", bucket, group_id=elsewhere))  # which does not send from it
    api.update("bucket", bucket, reply_address_id=foreign).ok()
    manager.create("bucket", name="Second", group_id=group, reply_address_id=foreign).ok()


def test_a_changed_address_is_in_the_log(actors: dict[str, Api], api: Api) -> None:
    before, after = f"ana{number()}@kite.example", f"ana{number()}@kite.example"
    id = made(api, "address", email=before)
    actors["milo"].update("address", id, email=after).ok()
    entries = api.search("activity_log", "activity:address.email.changed sort:-id", limit=1).ok()["results"]
    assert entries[0]["target_id"] == id and entries[0]["params"]["variables"]["before"] == before
    assert entries[0]["actor_id"] == api.ids["milo"]
