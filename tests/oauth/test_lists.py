"""The lists of tokens that people see: their last use, and ending them."""

import pytest
from tornado.httputil import HTTPHeaders, RequestStartLine

from server import app as application
from server import clock
from server.access import tokens
from server.apps import app_tokens, token_lists
from server.apps.token_lists import TokenSelection
from server.errors import AdminOnly, Invalid, NotFound
from server.records.usage_flush import write_notes
from server.web.rest_site import RestSite
from server.web.site import Request
from tests.oauth.apps import Apps, error_of
from tests.records.desk import NOW, Desk


def test_a_request_records_when_its_token_was_last_used(apps: Apps, desk: Desk, ids, monkeypatch) -> None:
    application.endpoints()
    monkeypatch.setattr(clock, "now", lambda: NOW + 30)
    made = app_tokens.create(desk.context(), ids["milo"], apps.stock.id, label="nightly")
    headers = HTTPHeaders({"Authorization": f"Bearer {made.access_token}"})
    request = Request(RequestStartLine("GET", "/rest/workers/me.json", "HTTP/1.1"), headers, "192.0.2.1", "192.0.2.1")
    site = RestSite(desk.service)
    request.found = site.resolve(request)
    assert site.respond(request, None).status == 200

    def used() -> list[tuple[str, int, str]]:
        return [
            (each.kind, each.last_used_at, each.last_used_from)
            for each in token_lists.all(desk.context())
            if each.label == "nightly"
        ]

    assert used() == [("refresh", 0, ""), ("access", 0, "")]
    write_notes(desk.service, NOW + 60)
    assert used() == [("refresh", 0, ""), ("access", NOW + 30, "192.0.2.1")]


def test_the_creator_of_a_token_is_shown_and_survives_renewals(apps: Apps, desk: Desk, ids) -> None:
    worker = desk.worker("Uma")
    made = app_tokens.create(desk.context(ids["nora"]), worker, apps.stock.id, "read")
    apps.refresh(apps.stock, made.refresh_token)
    apps.exchange(apps.stock, apps.code(apps.stock, worker_id=worker))
    listed = token_lists.all(desk.context(), TokenSelection(worker_id=worker))
    assert [each.created_by for each in listed] == ["", "", "Nora Berg", "Nora Berg"]
    over = token_lists.all(desk.context(), TokenSelection(worker_id=worker, is_over=True))
    assert [(each.kind, each.ending, each.revoked_at) for each in over] == [("access", made.access_token[-4:], NOW)]


def test_the_tokens_of_an_app_or_a_worker_end_together(apps: Apps, desk: Desk, ids) -> None:
    app, (pia, rob) = apps.new(name="Ends"), (desk.worker(name) for name in ("Pia", "Rob"))
    made = {who: app_tokens.create(desk.context(), who, app.id, "read").access_token for who in (pia, rob)}
    other = app_tokens.create(desk.context(), pia, apps.other.id, "read").access_token
    uses = token_lists.in_use(desk.context(), app.id)
    assert [(each.worker, each.scopes, each.tokens) for each in uses] == [("Pia", ("read",), 2), ("Rob", ("read",), 2)]
    assert token_lists.revoke_all(desk.context(), app.id, pia) == 2
    assert [apps.is_good(each) for each in (made[pia], made[rob], other)] == [False, True, True]
    assert token_lists.revoke_all(desk.context(), worker_id=pia) == 2 and not apps.is_good(other)
    assert token_lists.revoke_all(desk.context(), app.id) == 2 and not apps.is_good(made[rob])
    with pytest.raises(Invalid):
        token_lists.revoke_all(desk.context())
    for call in (token_lists.revoke_all, token_lists.in_use):
        with pytest.raises(AdminOnly):
            call(desk.context(ids["milo"]), app.id)


def test_a_login_is_ended_from_the_list(apps: Apps, desk: Desk, ids) -> None:
    found = apps.pair(apps.stock)
    listed = desk.read(lambda tx: tokens.find_token(tx, found["refresh_token"]))
    with pytest.raises(NotFound):
        token_lists.revoke(desk.context(ids["olga"]), listed.id)
    assert apps.is_good(found["access_token"])
    token_lists.revoke(desk.context(ids["milo"]), listed.id)
    assert not apps.is_good(found["access_token"])
    assert error_of(apps.refresh(apps.stock, found["refresh_token"])) == (400, "invalid_grant")
    with pytest.raises(AdminOnly):
        token_lists.all(desk.context(ids["milo"]))


def test_apps_that_act_for_a_worker_are_listed_once(apps: Apps, desk: Desk, ids) -> None:
    worker = desk.worker("Ida")
    apps.exchange(apps.stock, apps.code(apps.stock, worker_id=worker))
    app_tokens.create(desk.context(), worker, apps.stock.id, "write")
    app_tokens.create(desk.context(), worker, apps.other.id, "api")
    listed = token_lists.own_apps(desk.context(worker))
    assert [(each.app_name, each.scopes, each.live_tokens) for each in listed] == [
        ("Other", ("api",), 2),
        ("Stock", ("read",), 4),
    ]
    token_lists.revoke_app(desk.context(worker), apps.stock.id)
    assert [each.app_name for each in token_lists.own_apps(desk.context(worker))] == ["Other"]
