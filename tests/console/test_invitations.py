"""Invitations in the console, the API and the command line: from the form to the first page of the new worker."""

import re

from playwright.sync_api import Page, expect

from tests.console.browser import Browser, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of, value
from tests.service import PASSWORD, Api, Server, command
from tests.telling import WALK

BASE = "/admin/people"
FORM = {"language": "en_US", "by": "link", "remark": "", "emails": ""}
OWN = {"first_name": "Ines", "last_name": "Moor", "timezone": "Europe/Zurich"}
CHOSEN = {"password": PASSWORD, "password_again": PASSWORD}
LINK = re.compile(r"<code[^>]*>http://[^<\"]*(/join/[\w-]+)")


def listed(nora: Api, email: str) -> int:
    """Returns the id of an open invitation, 0 if there is none."""
    results = nora.get("/rest/invitations/search.json", limit=250).ok()["results"]
    return next((each["id"] for each in results if each["email"] == email), 0)


def test_an_invited_person_becomes_a_worker_and_is_signed_in(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    sent = FORM | {"emails": "Ines <Ines@invited.example>; kai@invited.example", "groups[]": str(nora.ids["support"])}
    response = signed_in.send(f"{BASE}/invite", sent)
    links = LINK.findall(response.text)
    assert response.status_code == 200 and len(links) == 2 and "shown only once" in response.text
    assert "ines@invited.example" in signed_in.get(f"{BASE}/invitations").text
    assert links[0] not in signed_in.get(f"{BASE}/invitations").text
    page = visitor.get(links[0])
    assert "Nora Berg invited you" in text_of(page.text) and "ines@invited.example" in page.text
    for wrong, words in (
        ({"password_again": "x"}, "do not match"), ({"password": "x", "password_again": "x"}, "Password: "),
        ({"first_name": ""}, "First name"), ({"timezone": "Mars/Olympus"}, "Time zone"),
    ):  # fmt: skip
        refused = visitor.send(links[0], OWN | CHOSEN | {"last_name": HOSTILE} | wrong)
        assert refused.status_code == 422 and words in text_of(refused.text), (wrong, text_of(refused.text)[100:600])
        assert value(refused.text, "last_name") == HOSTILE and PASSWORD not in refused.text
    assert place(visitor.send(links[0], OWN | CHOSEN)) == "/inbox" and visitor.is_in
    assert "Ines" in visitor.get("/account").text
    [id] = nora.found("worker", "email:(email:ines@invited.example)")
    assert list(nora.record("worker", id, expand="groups").ok()["groups"]) == [str(nora.ids["support"])]
    again = visitor.get(links[0])
    assert again.status_code == 404 and "accepted already" in text_of(again.text)
    id = listed(nora, "kai@invited.example")
    assert (
        place(signed_in.send(f"{BASE}/invitations/{id}/withdraw", page=f"{BASE}/invitations")) == f"{BASE}/invitations"
    )
    assert "withdrawn" in text_of(visitor.get(links[1]).text)
    for act in ("withdraw", "again"):
        signed_in.send(f"{BASE}/invitations/{id}/{act}", page=f"{BASE}/invite")
        assert "was withdrawn" in text_of(signed_in.get(f"{BASE}/invitations").text)


def test_addresses_that_cannot_be_invited_are_left_out_on_request(signed_in: Visitor, nora: Api) -> None:
    nora.create("contact", first_name="Ana", email="ana.hired@customer.example").ok()
    emails = "milo@desk.example\nana.hired@customer.example\nfresh@invited.example\nnonsense"
    response = signed_in.send(f"{BASE}/invite", FORM | {"emails": emails})
    words = text_of(response.text)
    assert response.status_code == 422 and "3 addresses cannot be invited" in words
    for reason in ("who works here already", "contact Ana", "'nonsense' is not an email address"):
        assert reason in words
    assert not listed(nora, "fresh@invited.example")
    response = signed_in.send(f"{BASE}/invite", FORM | {"emails": emails, "rest": "1", "contacts": "1"})
    assert len(LINK.findall(response.text)) == 2
    assert listed(nora, "fresh@invited.example") and listed(nora, "ana.hired@customer.example")
    nobody = signed_in.send(f"{BASE}/invite", FORM | {"emails": "nonsense", "rest": "1"})
    assert nobody.status_code == 422 and "at least one" in text_of(nobody.text)


def test_the_api_invites_and_reports_links_once(nora: Api) -> None:
    made = nora.post("/rest/invitations/create.json", emails="a@api.example,b@api.example", link=1).ok()["results"]
    assert [each["email"] for each in made] == ["a@api.example", "b@api.example"]
    assert all("/join/" in each["link"] for each in made)
    shown = nora.get("/rest/invitations/search.json", limit=1).ok()
    assert (shown["results"][0]["email"], shown["results"][0]["is_valid"]) == ("b@api.example", 1)
    assert "link" not in shown["results"][0]
    assert nora.post("/rest/invitations/create.json", emails="a@api.example").status == 422
    again = nora.post(f"/rest/invitations/{made[0]['id']}/resend.json", link=1).ok()
    assert again["link"] != made[0]["link"]
    assert nora.call("DELETE", f"/rest/invitations/{made[0]['id']}.json").status == 200
    assert nora.call("DELETE", f"/rest/invitations/{made[0]['id']}.json").status == 409
    assert nora.call("DELETE", "/rest/invitations/999999.json").status == 404
    assert nora.as_("milo").get("/rest/invitations/search.json").status == 403


def test_the_command_line_prints_a_link(server: Server, visitor: Visitor) -> None:
    ran = command("worker", "invite", "--email", "shell@invited.example", "--group", "Support", data=server.data)
    assert ran.returncode == 0, ran.stderr
    path = "/join/" + ran.stdout.decode().strip().rpartition("/join/")[2]
    assert "Command line invited you" in text_of(visitor.get(path).text)
    ran = command("worker", "invite", "--email", "milo@desk.example", data=server.data)
    assert ran.returncode != 0 and b"works here already" in ran.stderr


def test_the_time_zone_of_the_browser_is_filled_in(signed_in: Visitor, chromium: Browser, server: Server) -> None:
    [link] = LINK.findall(signed_in.send(f"{BASE}/invite", FORM | {"emails": "zone@invited.example"}).text)
    with chromium.page(server.url, timezone_id="Asia/Tokyo") as page:
        page.goto(link)
        expect(page.locator("#timezone")).to_have_value("Asia/Tokyo")


@WALK
def test_an_invitation_in_a_browser(page: Page, chromium: Browser, server: Server) -> None:
    email, size = "browser@invited.example", (320, 640)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(BASE)
    page.get_by_role("link", name="Invite", exact=True).click()
    page.get_by_label("Email addresses").fill(email)
    page.get_by_label("Invitation", exact=True).select_option("link")
    assert violations(page) == []
    page.get_by_role("button", name="Invite", exact=True).click()
    link = page.locator("code", has_text="/join/").inner_text()
    page.get_by_role("link", name="Done").click()
    assert violations(page) == []
    with chromium.page(server.url, size=size, timezone_id="Asia/Tokyo") as own:
        own.goto(link)
        expect(own.locator("#timezone")).to_have_value("Asia/Tokyo")
        own.get_by_label("First name").fill("Kim")
        own.get_by_label("Password", exact=True).fill(PASSWORD)
        own.get_by_label("Password again").fill(PASSWORD)
        assert violations(own) == []
        own.get_by_role("button", name="Accept and sign in").click()
        own.wait_for_url("**/inbox")
        own.go_back()
        expect(own.locator("main")).to_contain_text("accepted already")
