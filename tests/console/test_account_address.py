"""The sign-in address end to end: the pages, the mails as sent, and a worker who tries to become an administrator."""

import re
from collections.abc import Iterator

import pytest

from tests.api.post import Post, post_office, text_of
from tests.console.visitor import Visitor, place
from tests.service import PASSWORD

NORA, MILO, NEW, MINE = "nora@desk.example", "milo@desk.example", "milo@kite.example", "mine@kite.example"
ADDRESS = "/account/address"


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    """A server whose mail is received; milo and olga have passwords and every privilege."""
    with post_office(tmp_path_factory.mktemp("post")) as opened:
        api = opened.api
        for name in ("milo", "olga"):
            api.update("worker", api.ids[name], password=PASSWORD).ok()
        api.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no").ok()
        yield opened


@pytest.fixture
def milo(post: Post) -> Visitor:
    visitor = Visitor(post.server.url)
    assert visitor.sign_in(MILO).status_code == 303
    return visitor


def taken(post: Post, count: int) -> dict[str, str]:
    """Returns the next mails as {recipient: text}."""
    found = {}
    for _ in range(count):
        _, (to,), mail = post.take()
        found[to] = text_of(mail)
    return found


def link_in(text: str, post: Post) -> str:
    """Returns the path of the link in a mail."""
    found = re.search(rf"{post.server.url}(/[a-z-]+/[A-Za-z0-9_-]+)", text)
    assert found is not None, text
    return found[1]


def test_a_worker_cannot_become_an_administrator(post: Post) -> None:
    """The attack: milo changes nora's address to his own, and gets the link for her password."""
    milo, [nora] = post.api.as_("milo"), post.api.found("address", f"email:{NORA}")
    tries = [
        milo.update("address", nora, email=MINE), milo.upsert("address", f"email:{NORA}", email=MINE),
        milo.put(f"/rest/addresses/{nora}.json", email=MINE), milo.update("worker", post.api.ids["nora"], email=MINE),
        milo.update("address", nora, worker_id=post.api.ids["milo"]),
    ]  # fmt: skip
    assert [each.status for each in tries] == [403] * len(tries)
    visitor = Visitor(post.server.url)
    for email in (MINE, NORA):
        assert visitor.send("/forgotten", {"email": email}).status_code == 200
    [(to, text)] = taken(post, 1).items()
    assert to == NORA and visitor.get(link_in(text, post)).status_code == 200


def test_an_administrator_changes_the_address_and_the_worker_confirms_it(post: Post, milo: Visitor) -> None:
    api = post.api
    [id] = api.found("address", f"email:{MILO}")
    api.update("address", id, email=NEW).ok()
    mails = taken(post, 2)
    assert set(mails) == {MILO, NEW} and "instead of" in mails[MILO] and "/confirm-address/" not in mails[MILO]
    path, stranger = link_in(mails[NEW], post), Visitor(post.server.url)
    assert place(stranger.get(path)).startswith("/login?")
    assert stranger.sign_in("olga@desk.example").status_code == 303 and stranger.get(path).status_code == 404
    assert stranger.post(path, {"_xsrf": stranger.token("/account")}).status_code == 404
    assert Visitor(post.server.url).sign_in(NEW).status_code != 303
    Visitor(post.server.url).send("/forgotten", {"email": NEW})  # it cannot be used to sign in yet
    Visitor(post.server.url).send("/forgotten", {"email": MILO})
    assert list(taken(post, 1)) == [MILO]
    assert NEW in milo.get("/account").text and NEW in milo.get(path).text
    assert place(milo.send(path)) == "/account#address" and milo.get(path).status_code == 404
    assert Visitor(post.server.url).sign_in(NEW).status_code == 303
    assert Visitor(post.server.url).sign_in(MILO).status_code != 303
    Visitor(post.server.url).send("/forgotten", {"email": NEW})
    assert list(taken(post, 1)) == [NEW]
    api.update("address", id, email=MILO).ok()
    milo.send(link_in(taken(post, 2)[MILO], post))


def test_changing_ones_own_address_requires_the_password(post: Post, milo: Visitor) -> None:
    cases = {
        "current": {"email": NEW, "current": "wrong horse"},
        "email": {"email": "nowhere", "current": PASSWORD},
    }
    for field, form in cases.items():
        refused = milo.send(ADDRESS, form)
        assert refused.status_code == 422 and f'id="{field}-error"' in refused.text, field
    taken_by = milo.send(ADDRESS, {"email": NORA, "current": PASSWORD})
    assert taken_by.status_code == 422 and "belongs to worker" in taken_by.text
    assert place(milo.send(ADDRESS, {"email": NEW, "current": PASSWORD})) == "/account#address"
    first = taken(post, 2)
    assert set(first) == {MILO, NEW} and "email with a link is on its way to" in milo.get("/account").text
    milo.send(f"{ADDRESS}/again", page=ADDRESS)
    path = link_in(taken(post, 2)[NEW], post)
    assert milo.get(link_in(first[NEW], post)).status_code == 404  # replaced
    assert post.api.record("worker", post.api.ids["milo"], "address_").ok()["address_email"] == MILO
    milo.send(f"{ADDRESS}/drop", page=ADDRESS)
    assert milo.get(path).status_code == 404 and NEW not in milo.get(ADDRESS).text


def test_administrators_see_and_cancel_pending_changes(post: Post, milo: Visitor) -> None:
    nora, page = Visitor(post.server.url), f"/admin/people/{post.api.ids['milo']}"
    nora.sign_in()
    fields = ("first_name", "last_name", "at_mention_name", "timezone", "language")
    worker = post.api.record("worker", post.api.ids["milo"]).ok()
    form = {name: str(worker[name]) for name in fields} | {"email": NEW}
    assert nora.send(page, form).status_code == 303
    assert "once they confirm it" in nora.get("/admin/people").text
    taken(post, 2)
    shown = nora.get(page).text
    assert f"{NEW} is waiting to be confirmed" in shown and f"Keep {MILO}" in shown
    assert nora.send(f"{page}/address/again", page=page).status_code == 303
    path = link_in(taken(post, 2)[NEW], post)
    assert nora.send(f"{page}/address/drop", page=page).status_code == 303
    assert "is waiting to be confirmed" not in nora.get(page).text and milo.get(path).status_code == 404
    assert milo.send(f"{page}/address/drop", page="/account").status_code == 403
