"""Who may do what, through HTTP: every kind of caller, every family of record types, every operation."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.minimal import MINIMAL, made, number
from tests.service import Api

ACTORS = ("nora", "max", "milo", "olga", "tina", "dora", "reader")
READ_ONLY = '"read": {label: Read, endpoints: ["*": GET]}'
EVERYBODY, PRIVILEGED = "nora max milo olga tina reader", "nora max milo olga"


@pytest.fixture(scope="module")
def actors(nora: Api) -> dict[str, Api]:
    """nora administers; max manages Support and milo is its member; olga belongs nowhere; tina has no privileges;
    dora is disabled; reader is nora with a token that may only read."""
    everyone = nora.found("role", 'name:"Everyone"')[0]
    nora.update("role", everyone, member_query_worker="isDisabled:no title:!Trainee").ok()
    found = {name: nora.as_(name) for name in ("nora", "milo", "olga", "dora")}
    for name, title in (("max", "Lead"), ("tina", "Trainee")):
        fields = MINIMAL["worker"](nora) | {"first_name": name.capitalize(), "title": title}
        nora.ids[name] = nora.create("worker", **fields).ok()["id"]
        token = nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids[name]).ok()
        found[name] = Api(nora.url, token["access_token"])
    nora.update("group", nora.ids["support"], members={"manager": str(nora.ids["max"])}).ok()
    app = made(nora, "oauth_app", scopes=READ_ONLY)
    token = nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids["nora"], app_id=app, scopes="read").ok()
    found["reader"] = Api(nora.url, token["access_token"])
    return found


Fields = Callable[[Api], dict[str, Any]]


def owned(uri: str, owner: str, id: Callable[[Api], int]) -> Fields:
    return lambda api: MINIMAL[uri](api) | {"owner__context": owner, "owner_id": id(api)}


# family, type, what it is made of, then who may read, create, change and delete it.
ROWS: list[tuple[str, str, Fields, str, str, str, str]] = [
    ("open", "org", MINIMAL["org"], EVERYBODY, PRIVILEGED, PRIVILEGED, PRIVILEGED),
    ("open", "task", MINIMAL["task"], EVERYBODY, PRIVILEGED, PRIVILEGED, PRIVILEGED),
    ("open", "address", MINIMAL["address"], EVERYBODY, PRIVILEGED, PRIVILEGED, ""),
    ("reference", "worker", MINIMAL["worker"], EVERYBODY, "nora", "nora", "nora"),
    ("reference", "role", MINIMAL["role"], EVERYBODY, "nora", "nora", "nora"),
    ("group", "group", MINIMAL["group"], EVERYBODY, "nora", "nora", "nora"),
    ("bucket", "bucket", MINIMAL["bucket"], EVERYBODY, "nora max", "nora max", "nora max"),
    ("secret", "oauth_app", MINIMAL["oauth_app"], "nora reader", "nora", "nora", "nora"),
    ("secret", "mail_transport", MINIMAL["mail_transport"], "nora reader", "nora", "nora", "nora"),
    ("log", "activity_log", MINIMAL["activity_log"], EVERYBODY, "nora", "nora", "nora"),
    ("owned by the service", "asset", owned("asset", "app", lambda api: 0), EVERYBODY, "nora", "nora", "nora"),
    ("owned by a group", "asset", owned("asset", "group", lambda api: api.ids["support"]), EVERYBODY, "nora max",
     "nora max", "nora max"),
    ("owned by a private group", "email_signature",
     owned("email_signature", "group", lambda api: api.ids["private"]), "nora reader", "nora", "nora", "nora"),
    ("owned by a worker", "custom_fieldset", owned("custom_fieldset", "worker", lambda api: api.ids["milo"]),
     "nora milo reader", "nora milo", "nora milo", "nora milo"),
    ("owned by nobody", "asset", MINIMAL["asset"], EVERYBODY, PRIVILEGED, PRIVILEGED, PRIVILEGED),
    ("a template", "html_template", owned("html_template", "worker", lambda api: api.ids["milo"]), "nora milo reader",
     "nora", "nora", "nora milo"),
    ("ticket", "ticket", MINIMAL["ticket"], EVERYBODY, PRIVILEGED, "nora max milo", "nora max milo"),
    ("hidden ticket", "ticket", lambda api: {"subject": "Pump", "group_id": api.ids["private"]}, "nora reader", "nora",
     "nora", "nora"),
    ("message", "message", MINIMAL["message"], EVERYBODY, "nora max milo", "nora max milo", "nora max milo"),
    ("draft", "draft", lambda api: {"type": "mail.compose", "worker_id": api.ids["milo"]}, "nora milo reader",
     "nora milo", "nora milo", "nora milo"),
    ("notification", "notification", lambda api: MINIMAL["notification"](api) | {"worker_id": api.ids["milo"]},
     "nora milo reader", "nora milo", "nora milo", "nora milo"),
    ("field of a type", "custom_field", MINIMAL["custom_field"], EVERYBODY, "nora", "nora", "nora"),
    ("file on nothing", "attachment", MINIMAL["attachment"], "nora reader", PRIVILEGED, "nora", "nora"),
    ("comment", "comment", lambda api: MINIMAL["comment"](api) | {
        "author__context": "worker", "author_id": api.ids["milo"]}, EVERYBODY, "nora milo", "nora milo", "nora milo"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_matrix(row: tuple[Any, ...], actors: dict[str, Api], api: Api) -> None:
    _, uri, fields, *allowed = row
    readers, creators, changers, deleters = (set(names.split()) for names in allowed)
    shared = api.create(uri, **fields(api)).ok()["id"]
    for name, actor in actors.items():
        found = actor.record(uri, shared)
        assert found.status == refusal(name, readers, reads=True), (name, "read", found)
        search = actor.search(uri, f"id:{shared}")
        assert search.status == (401 if name == "dora" else 200)
        if search.status == 200:
            expected = [shared] if name in readers else []
            assert ([each["id"] for each in search["results"]], search["total"]) == (expected, len(expected)), name
        create = actor.create(uri, **fields(api))
        is_hidden = name not in creators and create.status == 422 and "there is no" in create["message"]
        assert is_hidden or create.status == refusal(name, creators), (name, "create", create)
        update = actor.update(uri, shared)
        assert update.status == refusal(name, changers), (name, "update", update)
        fresh = api.create(uri, **fields(api)).ok()["id"]
        remove = actor.remove(uri, fresh)
        assert remove.status == refusal(name, deleters), (name, "delete", remove)
        assert api.record(uri, fresh).status == (404 if remove.status == 200 and uri != "ticket" else 200)


def refusal(name: str, allowed: set[str], reads: bool = False) -> int:
    """200, or the status of a refusal."""
    if name == "dora":
        return 401
    if name == "reader":
        return 200 if reads and name in allowed else 403
    return 200 if name in allowed else 403


def test_a_refused_write_says_what_is_missing(actors: dict[str, Api], api: Api) -> None:
    assert "contexts.svc.contexts.org.create" in actors["tina"].create("org", name="Kite")["message"]
    assert "only administrators" in actors["milo"].create("worker", **MINIMAL["worker"](api))["message"]
    ticket = made(api, "ticket")
    assert "only members of its group" in actors["olga"].update("ticket", ticket, importance=1)["message"]
    assert actors["reader"].create("org", name="Kite")["__error"] == "ERROR_SCOPE"


def test_itemized_privileges_allow_what_they_name(actors: dict[str, Api], api: Api) -> None:
    email = api.record("worker", api.ids["tina"], "address_").ok()["address_email"]
    role = api.create(
        "role", name="Trainees", privs_mode="itemized", privs=["contexts.svc.contexts.org.create"],
        member_query_worker=f'email:(email:"{email}")',
    ).ok()["id"]  # fmt: skip
    tina = actors["tina"]
    id = tina.create("org", name="Kite").ok()["id"]
    assert tina.update("org", id, name="Kites").status == 403
    assert tina.remove("org", id).status == 403
    api.update("role", role, privs=["contexts.svc.contexts.org.update", "contexts.svc.contexts.org.delete"]).ok()
    assert tina.create("org", name="Kite").status == 403
    tina.update("org", id, name="Kites").ok()
    tina.remove("org", id).ok()
    api.remove("role", role).ok()
    assert tina.update("org", made(api, "org"), name="x").status == 403


def test_changes_of_rosters_and_privacy_count_from_the_next_request(actors: dict[str, Api], api: Api) -> None:
    olga, group = actors["olga"], made(api, "group", is_private=1)
    ticket = made(api, "ticket", group_id=group)
    assert olga.record("ticket", ticket).status == 403
    api.update("group", group, members={"member": str(api.ids["olga"])}).ok()
    olga.record("ticket", ticket).ok()
    olga.update("ticket", ticket, importance=1).ok()
    api.update("group", group, members={"remove": str(api.ids["olga"])}).ok()
    assert olga.record("ticket", ticket).status == 403
    api.update("group", group, is_private=0).ok()
    olga.record("ticket", ticket).ok()
    assert olga.update("ticket", ticket, importance=1).status == 403
    api.update("ticket", ticket, group_id=api.ids["private"]).ok()
    assert olga.record("ticket", ticket).status == 403


def test_a_worker_cannot_give_themself_anything(actors: dict[str, Api], api: Api) -> None:
    milo = actors["milo"]
    for fields in ({"is_superuser": 1}, {"is_disabled": 0}, {"password": "correct horse"}, {"first_name": "Root"}):
        assert milo.update("worker", api.ids["milo"], **fields).status == 403
    assert milo.update("group", api.ids["private"], members={"manager": str(api.ids["milo"])}).status == 403
    assert milo.update("role", api.found("role", "name:Everyone")[0], privs_mode="all").status == 403
    assert milo.create("comment", **MINIMAL["comment"](api) | {
        "author__context": "worker", "author_id": api.ids["nora"]}).status == 403  # fmt: skip
    assert milo.create("notification", **MINIMAL["notification"](api)).status == 403
    assert milo.create("draft", **MINIMAL["draft"](api)).status == 403
    assert milo.post("/rest/oauth/tokens/create.json", worker_id=api.ids["nora"]).status == 403
    assert milo.update("address", made(api, "address"), mail_transport_id=made(api, "mail_transport")).status in (
        403,
        422,
    )


def test_tickets_are_moved_by_members_of_both_groups_only(actors: dict[str, Api], api: Api) -> None:
    group = made(api, "group")
    ticket = made(api, "ticket")
    answer = actors["milo"].update("ticket", ticket, group_id=group)
    assert answer.status == 403
    assert api.record("ticket", ticket)["group_id"] == api.ids["support"]


def test_secrets_are_in_no_answer(api: Api) -> None:
    """Names and values of what is kept for the service alone, over all types, expanded."""
    word = f"zxsecret{number()}"
    made(
        api,
        "mail_transport",
        params={"username": "kite", "password": word, "host": "mail.example"},
        extension_id="core.mail.transport.smtp",
    )
    made(api, "oauth_app", client_secret=word)
    made(api, "worker", password=word)
    for uri in MINIMAL:
        text = (
            api.search(uri, limit=500, expand="_label,custom_,links~25,comments,watchers,address_,worker_").ok().content
        )
        for secret in (word, "password_hash", "client_secret", "secret_hash", "argon2", '"hash"', "svc_at_"):
            assert secret.encode() not in text, (uri, secret)


@pytest.mark.parametrize("query", ["client_secret:*", "client_secret_hash:*", "password:*", "params:*", "hash:*",
                                   "sort:client_secret_hash", "sort:password", "sort:params"])  # fmt: skip
@pytest.mark.parametrize("uri", ["oauth_app", "mail_transport", "worker"])
def test_secrets_cannot_be_searched_or_sorted_by(uri: str, query: str, api: Api) -> None:
    assert api.search(uri, query).status == 422
