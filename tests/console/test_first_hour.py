"""The first hour of a support lead, by keyboard alone, without reading help: tags and statuses, a rule that
a real email runs, round robin, a macro, and last month's report."""

import re
import smtplib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, sign_in
from tests.console.test_support_day import Hands
from tests.records.desk import Desk
from tests.service import Api, Server, people

pytestmark = pytest.mark.exhaustive("a walk through pages that have tests of their own")

LISTENER = {"HELPDESK_LMTP_HOST": "127.0.0.1", "HELPDESK_LMTP_PORT": "0"}
WORKERS = ("milo", "olga", "nora")


class Lead:
    """A service that accepts mail, and its administrator's client and hands."""

    def __init__(self, server: Server, nora: Api, port: int, page: Page) -> None:
        self.server, self.nora, self.port, self.page, self.hands = server, nora, port, page, Hands(page)
        self.number = 0

    def mail(self, subject: str, text: str = "It came broken.") -> dict[str, Any]:
        """Delivers an email to the listener; returns its ticket."""
        self.number += 1
        raw = (
            f"From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: {subject}\n"
            f"Message-ID: <hour{self.number}@kite.example>\n\n{text}\n"
        )
        with smtplib.LMTP("127.0.0.1", self.port, timeout=30) as client:
            client.sendmail("ana@kite.example", ["support@desk.example"], raw)
        [ticket] = self.nora.search("ticket", f'subject:"{subject}"', expand="tags,owner_").ok()["results"]
        return dict(ticket)

    def move_to_last_month(self, subject: str) -> None:
        """Moves the creation of a ticket to the last day of the month before."""
        [ticket] = self.nora.search("ticket", f'subject:"{subject}"').ok()["results"]
        days, desk = datetime.fromtimestamp(ticket["created"], UTC).day, Desk(self.server.data)
        try:
            change = f"UPDATE ticket SET created = created - {days * 86_400} WHERE id = {ticket['id']}"
            desk.store.write(lambda tx: tx.connection.execute(change))
        finally:
            desk.close()

    def open(self, words: str, first: str, path: str) -> None:
        """Opens a page by its name in Ctrl+K."""
        self.hands.press("Escape")
        self.hands.jump(words, first)
        self.page.wait_for_url(f"**{path}")

    def fill(self, label: str, text: str) -> None:
        """Reaches a field by Tab and types over what is there."""
        self.hands.reach(self.page.locator("main").get_by_label(label, exact=True).first)
        self.hands.press("Control+a")
        self.hands.say(text)

    def push(self, name: str) -> None:
        """Reaches a button or link of the page by Tab, and presses it."""
        named = self.page.locator("main").get_by_role("button", name=name, exact=True)
        target = named.or_(self.page.locator("main").get_by_role("link", name=name, exact=True))
        self.hands.reach(target.first)
        self.hands.press("Enter")


@pytest.fixture
def lead(chromium: Browser, tmp_path: Path) -> Iterator[Lead]:
    server = Server(tmp_path / "data", env=LISTENER)
    assert server.process.stdout is not None
    line = server.process.stdout.readline().decode()
    port = re.match(r"mail +\w+://127\.0\.0\.1:(\d+)", line)
    assert port is not None, line
    nora = server.set_up()
    people(nora)
    with chromium.page(nora.url) as page:
        sign_in(page, "nora@desk.example")
        yield Lead(server, nora, int(port[1]), page)
    assert server.stop() == 0


def test_the_first_hour_of_a_lead_by_keyboard_alone(lead: Lead) -> None:
    _name_a_tag(lead)
    _name_a_status(lead)
    _build_a_rule(lead)
    _let_an_email_run_it(lead)
    _assign_by_turns(lead)
    _build_a_macro(lead)
    _read_last_months_report(lead)


def _name_a_tag(lead: Lead) -> None:
    lead.open("tags", "Tags", "/admin/tags")
    lead.push("New tag")
    lead.page.wait_for_url("**/admin/tags/new")
    lead.fill("Name", "damaged")
    lead.hands.press("Enter")
    expect(lead.page.locator("#list")).to_contain_text("damaged")
    assert lead.nora.found("tag", "name:damaged")


def _name_a_status(lead: Lead) -> None:
    lead.open("ticket statuses", "Ticket statuses", "/admin/statuses")
    lead.push("New status below Waiting")
    lead.page.wait_for_url("**/admin/statuses/new**")
    lead.fill("Name", "Waiting for supplier")
    lead.hands.press("Enter")
    expect(lead.page.get_by_role("region", name="Waiting")).to_contain_text("Waiting for supplier")
    assert lead.nora.found("ticket_status", 'name:"Waiting for supplier"')


def _build_a_rule(lead: Lead) -> None:
    page, hands = lead.page, lead.hands
    lead.mail("Quiet pump")  # which the rule leaves alone; a rule that matches every ticket asks first
    tried = lead.mail("Broken lamp")
    lead.open("rules", "Rules", "/admin/rules")
    lead.push("New rule")
    page.wait_for_url("**/admin/rules/new")
    lead.fill("Name", "Damaged goods")
    hands.reach(page.get_by_label("A ticket is created", exact=True))
    hands.press("Space")
    hands.reach(page.get_by_role("combobox", name="Condition 1"))
    hands.say("subject:broken")
    hands.press("Escape")
    hands.reach(page.locator("#added_step"))
    hands.say("Change tags")
    hands.press("Enter")
    _add_step(lead, "Change tags")
    hands.reach(page.locator("#steps-0-tags"))
    hands.say("dam")
    expect(page.get_by_role("option", name="damaged")).to_be_visible()
    hands.press("Enter")
    expect(page.locator("#steps-0-tags")).to_have_value("damaged, ")
    lead.fill("Ticket", tried["mask"])
    lead.push("Try on this ticket")
    trial = page.get_by_role("region", name="What the rule would do")
    expect(trial).to_be_focused()
    expect(trial).to_contain_text("Change tags")
    hands.reach(page.get_by_role("button", name="Save", exact=True), most=10)
    hands.press("Enter")
    page.wait_for_url("**/admin/rules")
    expect(page.locator("main")).to_contain_text("Damaged goods")


def _add_step(lead: Lead, name: str) -> None:
    """Adds the chosen kind of step; the focus is at the step then."""
    step = lead.page.get_by_role("group", name=re.compile(rf"\d\. {name}"))
    if step.count() == 0:
        lead.push("Add step")
    expect(step.last).to_be_visible()


def _let_an_email_run_it(lead: Lead) -> None:
    page = lead.page
    ticket = lead.mail("Broken mirror")
    expect_tags(lead, ticket["id"], ["damaged"])
    lead.open("rules", "Rules", "/admin/rules")
    lead.push("Damaged goods")
    page.wait_for_url(re.compile(r"/admin/rules/\d+"))
    runs = page.get_by_role("region", name="Runs")
    expect(runs).to_contain_text("Broken mirror")
    expect(runs).to_contain_text("A ticket is created")


def expect_tags(lead: Lead, ticket_id: int, tags: list[str]) -> None:
    """Waits for a rule, which runs after the email was accepted: the page of the ticket shows the change at once."""
    mask = lead.nora.record("ticket", ticket_id)["mask"]
    lead.hands.press("Escape")
    lead.hands.jump(mask, mask)
    lead.page.wait_for_url(f"**/tickets/{mask}*")
    expect(lead.page.locator("#panel")).to_contain_text(" ".join(tags))
    assert lead.nora.record("ticket", ticket_id, "tags").ok()["tags"] == tags


def _assign_by_turns(lead: Lead) -> None:
    page, hands, nora = lead.page, lead.hands, lead.nora
    members = ",".join(str(nora.ids[name]) for name in WORKERS)
    nora.update("group", nora.ids["support"], members={"member": members}).ok()
    lead.open("groups", "Groups", "/admin/people/groups")
    lead.push("Support")
    page.wait_for_url(re.compile(r"/admin/people/groups/\d+"))
    hands.reach(page.get_by_label("Assign tickets", exact=True).first)
    hands.say("Round robin")
    lead.push("Save")
    expect(page.locator("#toasts")).to_contain_text(re.compile(r"\w"))
    assert nora.record("group", nora.ids["support"])["assign_way"] != "off"
    nora.update("worker", nora.ids["olga"], away_from="now").ok()
    owners = [lead.mail(f"Turn {number}")["owner_id"] for number in range(4)]
    assert len(set(owners)) == 2 and nora.ids["olga"] not in owners and 0 not in owners, owners


def _build_a_macro(lead: Lead) -> None:
    page, hands = lead.page, lead.hands
    lead.open("macros", "Macros", "/macros")
    lead.push("New macro")
    page.wait_for_url("**/macros/new")
    lead.fill("Name", "Ask the supplier")
    hands.reach(page.get_by_label("Text", exact=True).first)
    hands.say("We have asked our supplier.")
    lead.push("Save")
    expect(page.locator("main")).to_contain_text("Ask the supplier")
    ticket = lead.mail("Loose screw")
    hands.press("Escape")
    hands.jump(ticket["mask"], ticket["mask"])
    page.wait_for_url(f"**/tickets/{ticket['mask']}*")
    hands.press("Control+k")
    hands.say("ask the supplier")
    expect(page.locator("#jump [role=option]").first).to_contain_text("Ask the supplier")
    hands.press("Enter")
    expect(page.locator("#content")).to_have_value(re.compile("We have asked our supplier."))


def _read_last_months_report(lead: Lead) -> None:
    page, hands = lead.page, lead.hands
    lead.move_to_last_month("Quiet pump")
    lead.open("reports", "Reports", "/reports")
    hands.reach(page.get_by_label("Range", exact=True).first)
    hands.say("Last month")
    lead.push("Show")
    page.wait_for_url("**range=last-month**")
    created = page.locator("main").get_by_role("link", name=re.compile("^Created"))
    expect(created).to_contain_text("1")
    hands.reach(created)
    hands.press("Enter")
    page.wait_for_url("**/search/ticket**")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list tbody tr")).to_contain_text("Quiet pump")
