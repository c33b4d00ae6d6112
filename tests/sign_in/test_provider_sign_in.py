"""Signing in with a real provider, over HTTP: there and back, links, new workers, rights, sessions."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from server import clock
from server.access import second_factor, totp
from tests.console.conftest import proven
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server, command, people
from tests.sign_in.provider import CLIENT, Provider, follow, sign_in, target_of

SETTINGS = "/admin/people/sign-in"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("sign-in") / "data", env={"HELPDESK_OUTBOUND_ALLOW": "127.0.0.1"})
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    client = server.set_up()
    people(client)
    for name in ("milo", "olga"):
        client.update("worker", client.ids[name], password=PASSWORD).ok()
    return client


@pytest.fixture(scope="module")
def desk(server: Server, nora: Api) -> Iterator[Desk]:
    """The same database in this process."""
    opened = Desk(server.data)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def provider(server: Server) -> Iterator[Provider]:
    started = Provider(server.url)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def admin(server: Server, nora: Api) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    return visitor


def fields(nora: Api, **changes: Any) -> dict[str, Any]:
    """Returns the form of the provider."""
    return {
        "preset": "keycloak", "label": "Acme", **CLIENT, "scopes": "openid email profile", "links_by_email": "1",
        "domains": "desk.example", "group_ids[]": str(nora.ids["support"]), **changes,
    }  # fmt: skip


@pytest.fixture(scope="module")
def id(admin: Visitor, nora: Api, provider: Provider) -> int:
    """The provider as the console knows it: added, tried and turned on."""
    made = admin.send(f"{SETTINGS}/new", fields(nora, issuer=provider.issuer), f"{SETTINGS}/new?preset=keycloak")
    assert made.status_code == 303, text_of(made.text)
    path = place(made)
    assert admin.send(f"{path}/enable", {}, path).status_code == 303
    assert "sign in on trial first" in text_of(admin.get(path).text).lower()
    provider.order(account="nora")
    left = admin.send(f"{path}/try", {}, path)
    back = admin.get(follow(admin, target_of(left.text)))
    assert place(back) == f"{path}#trial"
    page = text_of(admin.get(path).text)
    assert "A sign-in signs in the worker Nora Berg . Found by the verified address" in page, page
    assert admin.send(f"{path}/enable", {}, path).status_code == 303
    return int(path.rpartition("/")[2])


def signed_in(server: Server, provider: Provider, account: str, **claims: Any) -> tuple[Visitor, Any]:
    """Signs in with an account at the provider, in a new browser."""
    visitor = Visitor(server.url)
    provider.order(account=account, claims=claims, denies=False)
    return visitor, sign_in(visitor)


def save(admin: Visitor, nora: Api, id: int, **changes: Any) -> None:
    path = f"{SETTINGS}/{id}"
    saved = admin.send(path, fields(nora, **changes), path)
    assert saved.status_code == 303, text_of(saved.text)


def worker(nora: Api, email: str) -> dict[str, Any]:
    found = nora.search("worker", f"email:({email})", expand="groups,roles").ok()["results"]
    return found[0] if found else {}


def log(nora: Api, point: str) -> str:
    """Returns the sentence of the newest entry."""
    return str(nora.search("activity_log", f"activity:{point} sort:-created", limit=1).ok()["results"][0]["_label"])


def test_a_worker_with_the_verified_address_is_signed_in_with_one_request(
    id: int, server: Server, provider: Provider, nora: Api
) -> None:
    visitor = Visitor(server.url)
    assert 'href="/sign-in/start/keycloak?next=%2Faccount"' in visitor.get("/login?next=/account").text
    before = provider.order(account="milo", claims={})
    response = sign_in(visitor, next_path="/account")
    assert place(response) == "/account" and visitor.is_in
    assert provider.order() - before == 1
    assert "milo@desk.example at Acme" in log(nora, "worker.linked")


@pytest.mark.parametrize("next_path", ["//evil.example", "https://evil.example", "/\\evil.example", "/account\r\nX: y"])
def test_a_sign_in_leads_to_no_other_site(id: int, server: Server, provider: Provider, next_path: str) -> None:
    visitor = Visitor(server.url)
    provider.order(account="milo", claims={})
    response = visitor.get("/sign-in/start/keycloak", params={"next": next_path})
    response = visitor.get(follow(visitor, response.headers["Location"]))
    assert place(response) == "/inbox"


def test_an_unknown_person_of_a_domain_becomes_a_worker_of_the_default_group(
    id: int, server: Server, provider: Provider, nora: Api
) -> None:
    visitor, response = signed_in(server, provider, "ada", name="Ada Lovelace", locale="de-DE")
    assert place(response) == "/inbox" and visitor.is_in
    ada = worker(nora, "ada@desk.example")
    assert (ada["first_name"], ada["last_name"], ada["language"]) == ("Ada", "Lovelace", "de_DE")
    assert list(ada["groups"]) == [str(nora.ids["support"])] and not ada["is_superuser"]
    assert visitor.get("/account/second-factor").status_code == 200
    assert "became a worker" in log(nora, "worker.provisioned")
    # From then on the account counts, whatever its address says.
    visitor, response = signed_in(server, provider, "ada", email="olga@desk.example", email_verified=False)
    assert place(response) == "/inbox" and "ada@desk.example" in visitor.get("/account").text
    assert "is wrong" in text_of(Visitor(server.url).sign_in("ada@desk.example").text)


REFUSALS = [
    ("eve", {"email_verified": False}, "has not verified your address eve@desk.example"),
    ("eve", {"email_verified": "no"}, "has not verified your address"),
    ("eve", {"email": "eve@other.example"}, "does not belong to a worker here"),
    ("eve", {"email": "eve@desk.example.evil.example"}, "does not belong to a worker here"),
    ("eve", {"email": "milo@desk.example"}, "is linked to another account"),
    ("eve", {"email": "dora@desk.example"}, "is deactivated"),
    ("eve", {"email": None}, "does not belong to a worker here"),
]


@pytest.mark.parametrize(("account", "claims", "sentence"), REFUSALS)
def test_a_refusal_says_what_to_do_and_leaves_the_password(
    account: str, claims: dict[str, Any], sentence: str, id: int, server: Server, provider: Provider, nora: Api
) -> None:
    signed_in(server, provider, "milo")
    visitor, response = signed_in(server, provider, account, **claims)
    assert response.status_code in (403, 422) and sentence in text_of(response.text), text_of(response.text)
    assert 'name="password"' in response.text and not visitor.is_in
    assert not worker(nora, "eve@desk.example")


def test_somebody_who_cancels_at_the_provider_reads_it(id: int, server: Server, provider: Provider) -> None:
    provider.order(denies=True)
    visitor = Visitor(server.url)
    assert "You cancelled at Acme" in text_of(sign_in(visitor).text)
    provider.order(denies=False)


def test_a_callback_works_once_and_in_the_browser_that_began(id: int, server: Server, provider: Provider) -> None:
    provider.order(account="milo", claims={})
    victim, attacker = Visitor(server.url), Visitor(server.url)
    back = follow(attacker, attacker.get("/sign-in/start/keycloak").headers["Location"])
    victim.get("/sign-in/start/keycloak")
    for response in (victim.get(back), Visitor(server.url).get(back)):
        assert "began in another browser" in text_of(response.text)
    assert place(attacker.get(back)) == "/inbox"
    assert "was used" in text_of(attacker.get(back).text)
    assert not victim.is_in


def test_rules_give_and_take_groups_roles_and_the_administrator_right(
    id: int, admin: Visitor, server: Server, provider: Provider, nora: Api
) -> None:
    role = nora.create("role", name="Auditors").ok()["id"]
    private = nora.search("group", "name:Management").ok()["results"][0]["id"]
    rules = [
        ("groups", "bosses", "Manager of Management"), ("groups", "staff", "Member of Management"),
        ("realm_access.roles", "audit", "Role Auditors"), ("groups", "admins", "Administrator"),
    ]  # fmt: skip
    form = {
        f"{name}{place}": text
        for place, rule in enumerate(rules)
        for name, text in zip(("claim", "value", "target"), rule, strict=True)
    }
    save(admin, nora, id, **form)
    claims = {"groups": ["bosses", "admins"], "realm_access": {"roles": ["audit"]}}
    signed_in(server, provider, "rita", **claims)
    rita = worker(nora, "rita@desk.example")
    assert str(private) in rita["groups"] and str(role) in rita["roles"] and rita["is_superuser"]
    signed_in(server, provider, "rita", groups=["staff"])
    rita = worker(nora, "rita@desk.example")
    assert str(private) in rita["groups"] and str(role) not in rita["roles"] and not rita["is_superuser"]
    signed_in(server, provider, "rita", groups="none")
    rita = worker(nora, "rita@desk.example")
    assert str(private) not in rita["groups"] and str(nora.ids["support"]) in rita["groups"]
    # The last administrator stays one, whatever the claims say.
    for each in nora.search("worker", "isAdmin:yes").ok()["results"]:
        if each["id"] != 1:
            nora.update("worker", each["id"], is_superuser=0).ok()
    _visitor, response = signed_in(server, provider, "nora")
    assert place(response) == "/" and nora.record("worker", 1).ok()["is_superuser"]
    save(admin, nora, id)


def test_claims_that_the_id_token_lacks_come_from_the_userinfo_endpoint(
    id: int, server: Server, provider: Provider, nora: Api
) -> None:
    provider.order(userinfo=True)
    visitor, _answer = signed_in(server, provider, "uma", name="Uma Info")
    assert visitor.is_in and worker(nora, "uma@desk.example")["last_name"] == "Info"
    provider.order(userinfo=False)


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
def test_new_keys_of_the_provider_are_found(algorithm: str, id: int, server: Server, provider: Provider) -> None:
    signed_in(server, provider, "milo")
    provider.order(rotates=algorithm)
    visitor, response = signed_in(server, provider, "milo")
    assert visitor.is_in, text_of(response.text)


def test_the_code_of_a_second_factor_is_asked_unless_the_provider_checks_it(
    id: int, admin: Visitor, server: Server, provider: Provider, nora: Api, desk: Desk
) -> None:
    secret = totp.new_secret()
    signed_in(server, provider, "milo")
    now = clock.now()
    step = now // totp.STEP_SECONDS
    desk.store.write(lambda tx: second_factor.turn_on(tx, nora.ids["milo"], secret, totp.code(secret, step), now))
    visitor, response = signed_in(server, provider, "milo")
    assert place(response).startswith("/login/code") and not visitor.is_in
    # Each code works once, so the next one is entered.
    done = visitor.send("/login/code", {"code": totp.code(secret, step + 1)}, "/login/code")
    assert done.status_code == 303 and visitor.is_in
    assert "with Acme" in log(nora, "worker.logged_in")
    save(admin, nora, id, checks_second_factor="1")
    visitor, response = signed_in(server, provider, "milo")
    assert place(response) == "/inbox" and visitor.is_in
    desk.store.write(lambda tx: second_factor.turn_off(tx, nora.ids["milo"]))
    nora.update("worker", nora.ids["milo"], is_mfa_required=1).ok()
    assert visitor.get("/account").status_code == 200
    save(admin, nora, id)
    assert place(visitor.get("/account")).startswith("/account/second-factor")
    nora.update("worker", nora.ids["milo"], is_mfa_required=0).ok()


def test_signing_out_at_the_provider_ends_the_sessions_here(
    id: int, admin: Visitor, server: Server, provider: Provider, nora: Api
) -> None:
    save(admin, nora, id, ends_at_provider="1")
    visitor, _ = signed_in(server, provider, "milo")
    other, _ = signed_in(server, provider, "milo")
    twin = Visitor(server.url)  # another desk session in the same session of the provider
    twin.session.cookies.update({name: text for name, text in visitor.cookies.items() if name.startswith("_")})
    assert place(sign_in(twin)) == "/inbox"
    left = visitor.send("/sign-out", {}, "/account")
    assert not visitor.is_in and other.is_in and twin.is_in
    page = visitor.session.get(target_of(left.text), timeout=60).text
    action, xsrf = re.search(r'action="([^"]+)"', page), re.search(r'name="xsrf" value="([^"]+)"', page)
    assert action is not None and xsrf is not None, page
    confirmed = visitor.session.post(action[1], {"xsrf": xsrf[1], "logout": "yes"}, timeout=60, allow_redirects=False)
    assert confirmed.headers["Location"].startswith(f"{server.url}/sign-in/out")
    assert place(visitor.get("/sign-in/out")) == "/login?out=1"
    save(admin, nora, id)
    assert other.is_in and not twin.is_in
    assert "Acme signed Milo" in log(nora, "worker.provider.signed_out")


def test_a_worker_links_and_unlinks_an_account_while_signed_in(
    id: int, server: Server, provider: Provider, nora: Api
) -> None:
    olga = Visitor(server.url)
    olga.sign_in("olga@desk.example")
    provider.order(account="somebody", claims={"email": "private@home.example", "email_verified": False})
    left = olga.send("/account/sign-in/keycloak/link", {}, "/account")
    assert place(olga.get(follow(olga, target_of(left.text)))) == "/account#providers"
    assert "private@home.example" in olga.get("/account").text
    visitor = Visitor(server.url)
    assert place(sign_in(visitor)) == "/inbox" and visitor.is_in
    taken = Visitor(server.url)
    taken.sign_in()
    left = taken.send("/account/sign-in/keycloak/link", {}, "/account")
    taken.get(follow(taken, target_of(left.text)))
    assert "belongs to another worker" in text_of(taken.get("/account").text)
    page = f"/admin/people/{nora.ids['olga']}"
    assert "private@home.example" in taken.get(page).text
    assert taken.send(f"{page}/unlink", {"link": "999", "_sure": "1"}, page).status_code == 404
    unlink = re.search(r'action="(/account/sign-in/\d+/unlink)"', olga.get("/account").text)
    assert unlink is not None
    assert taken.send(unlink[1], {"_sure": "1"}, "/account").status_code == 404
    assert olga.send(unlink[1], {}, "/account").status_code == 303
    assert not visitor.is_in and olga.is_in
    assert "private@home.example" not in olga.get("/account").text


def test_a_worker_confirms_at_the_provider(id: int, server: Server, provider: Provider, nora: Api, desk: Desk) -> None:
    visitor, _ = signed_in(server, provider, "milo")
    proven(desk, visitor, 1)
    assert place(visitor.get("/account/second-factor")) == "/confirm?next=%2Faccount%2Fsecond-factor"
    assert (
        'href="/confirm/keycloak?next=%2Faccount%2Fsecond-factor"'
        in visitor.get("/confirm?next=/account/second-factor").text
    )
    start = visitor.get("/confirm/keycloak?next=/account/second-factor").headers["Location"]
    assert "prompt=login" in start and "max_age=0" in start
    assert place(visitor.get(follow(visitor, start))) == "/account/second-factor"
    assert visitor.get("/account/second-factor").status_code == 200
    proven(desk, visitor, 1)
    provider.order(account="rita", claims={})
    for name in [each for each in visitor.cookies if each.startswith("_session")]:
        del visitor.session.cookies[name]
    start = visitor.get("/confirm/keycloak").headers["Location"]
    assert "is not linked to yours" in text_of(visitor.get(follow(visitor, start)).text)
    assert visitor.get("/account/second-factor").status_code == 303


def test_only_by_the_provider_and_the_way_back(
    id: int, admin: Visitor, server: Server, provider: Provider, nora: Api
) -> None:
    signed_in(server, provider, "nora")
    assert admin.send(f"{SETTINGS}/only", {"only": "1"}, SETTINGS).status_code == 303
    visitor = Visitor(server.url)
    page = visitor.get("/login").text
    assert 'name="password"' not in page and "Passwords are turned off" in page
    response = visitor.send("/login", {"email": "nora@desk.example", "password": PASSWORD}, "/forgotten")
    assert "turned off" in text_of(response.text) and not visitor.is_in
    for path, form in (("/forgotten", {"email": "milo@desk.example"}), ("/account/password", {"current": PASSWORD})):
        assert "turned off" in text_of(admin.send(path, form, path if path == "/forgotten" else "/account").text)
    path = f"{SETTINGS}/{id}"
    for act in ("disable", "delete"):
        admin.send(f"{path}/{act}", {"_sure": "1"}, path)
    assert "allow passwords first" in text_of(admin.get(path).text)
    link = command("worker", "sign-in-link", "nora@desk.example", data=server.data).stdout.decode().strip()
    assert link.startswith(f"{server.url}/sign-in/link/")
    path = link.removeprefix(server.url)
    assert visitor.get(path).status_code == visitor.get(path).status_code == 200
    assert place(visitor.send(path, {})) == "/" and visitor.is_in
    assert visitor.get(path).status_code == 404
    assert visitor.send(f"{SETTINGS}/only", {"only": ""}, SETTINGS).status_code == 303
    assert "created a link" in log(nora, "worker.sign_in_link") and "passwords again" in log(nora, "sign_in.only.off")
    refused = command("worker", "sign-in-link", "dora@desk.example", data=server.data)
    assert refused.returncode and b"deactivated" in refused.stderr
