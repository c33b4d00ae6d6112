"""Roles, rosters and privacy over HTTP: the text of a refusal, and that changes apply at once. The whole table of
permissions is in test_matrix.py."""

import pytest

from server.record_types.registry import load
from tests.api.minimal import MINIMAL, made, number
from tests.service import Api

REGISTRY = load()


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


def test_changes_of_rosters_and_privacy_apply_to_the_next_request(actors: dict[str, Api], api: Api) -> None:
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


def test_workers_cannot_extend_their_own_rights(actors: dict[str, Api], api: Api) -> None:
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


def test_only_members_of_both_groups_move_tickets(actors: dict[str, Api], api: Api) -> None:
    group = made(api, "group")
    ticket = made(api, "ticket")
    response = actors["milo"].update("ticket", ticket, group_id=group)
    assert response.status == 403
    assert api.record("ticket", ticket)["group_id"] == api.ids["support"]


def test_responses_contain_no_secrets(api: Api) -> None:
    """Checks names and values of internal data, over all types, expanded."""
    word = f"zxsecret{number()}"
    params = {"username": "kite", "password": word, "host": "mail.example"}
    made(api, "mail_transport", params=params, extension_id="core.mail.transport.smtp")
    made(api, "oauth_app", client_secret=word)
    made(api, "worker", password=word)
    made(api, "connected_account", params={"token": word})
    made(api, "connected_service", params={"client_secret": word})
    made(api, "mailbox", password=word)
    expand = "_label,custom_,links~25,comments,watchers,address_,worker_,owner_,service_,connected_account_"
    for uri in REGISTRY.uris():
        if not REGISTRY.type(uri).operations["search"]:
            continue
        text = api.search(uri, limit=500, expand=expand).ok().content
        names = ("password_hash", "client_secret", "secret_hash")
        # The activity log names the changed fields; tests/api/test_acts.py searches for their values there.
        for secret in (word, "argon2", '"hash"', "svc_at_", *(() if uri == "activity_log" else names)):
            assert secret.encode() not in text, (uri, secret)


@pytest.mark.parametrize("query", ["client_secret:*", "client_secret_hash:*", "password:*", "params:*", "hash:*",
                                   "sort:client_secret_hash", "sort:password", "sort:params"])  # fmt: skip
@pytest.mark.parametrize(
    "uri", ["oauth_app", "mail_transport", "worker", "connected_account", "connected_service", "mailbox"]
)
def test_secrets_cannot_be_searched_or_sorted_by(uri: str, query: str, api: Api) -> None:
    assert api.search(uri, query).status == 422
