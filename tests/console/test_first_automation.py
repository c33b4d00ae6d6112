"""The first automation of the help page, followed in a browser; its commands are run by tests/test_help_examples.py."""

import re

import pytest
import requests
from playwright.sync_api import expect

from tests.console.browser import Browser
from tests.console.visitor import Visitor
from tests.service import Api, Server
from tests.telling import WALK
from tests.test_help_examples import HELP

PAGE = (HELP / "automations.md").read_text("utf-8").partition("\n## Your first automation")[2].partition("\n## ")[0]
BLOCKS = dict(re.findall(r"^```\w+ first (\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
ORDER = '{"email": "ana@kite.example", "number": 7, "text": "Two pumps, please"}'


def test_the_page_writes_the_same_script_into_a_file() -> None:
    [file] = re.findall(r"cat > order\.kata <<'END'\n(.*?)^END$", PAGE, re.MULTILINE | re.DOTALL)
    [policy] = re.findall(r"printf '(.*)' > order\.policy\.kata", PAGE)
    assert file == BLOCKS["script"] and policy.replace("\\n", "\n") == BLOCKS["policy"]


@WALK
@pytest.mark.parametrize("scripts", [True, False])
def test_the_steps_of_the_console_lead_to_a_ticket(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api, scripts: bool
) -> None:
    name, hook = ("first.order", "Orders of a shop") if scripts else ("first.plain", "Orders of another")
    with chromium.page(server.url, cookies=signed_in.cookies, java_script_enabled=scripts) as page:
        page.goto("/automations")
        page.get_by_role("link", name="New automation").first.click()
        page.get_by_label("Name", exact=True).fill(name)
        if scripts:
            # The role alone would find the list that the line replaces, if the script for it loads late.
            page.locator("input[role=combobox]").and_(page.get_by_label("Trigger")).fill("webhook.respond")
            page.get_by_role("option", name="When a webhook receives a request (webhook.respond)").click()
        else:
            page.get_by_label("Trigger", exact=True).select_option("svc.trigger.webhook.respond")
        page.locator("#script").fill(BLOCKS["script"])
        page.locator("#policy_kata").fill(BLOCKS["policy"])
        values = page.locator("#values")
        if not values.is_visible():  # it is open if the trigger has further values
            page.locator("summary", has_text="Values from the trigger").click()
        values.fill(BLOCKS["values"])
        page.get_by_role("button", name="Simulate", exact=True).click()
        expect(page.get_by_text("SIMULATED").first).to_be_visible()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page).to_have_url(re.compile(r"/automations/[0-9]+$"))
        page.goto("/automations/webhooks/new")
        page.get_by_label("Name", exact=True).fill(hook)
        if page.locator("select#automation").count():
            page.locator("#automation").select_option(label=name)
        else:  # if there are many to choose from
            page.locator("#automation").fill(name)
            page.get_by_role("option", name=name).click()
        page.get_by_role("button", name=re.compile("Create|Save")).first.click()
        expect(page).to_have_url(re.compile(r"/automations/webhooks/[0-9]+"))
        shown = page.content()
    [token] = set(re.findall(r"/webhooks/([A-Za-z0-9_-]{40})", shown))
    called = requests.post(f"{server.url}/webhooks/{token}", data=ORDER, timeout=30)
    assert called.status_code == 200
    found = nora.search("ticket", f"mask:{called.text}").ok()["results"]
    assert [each["subject"] for each in found] == ["Order 7"]
    assert requests.post(f"{server.url}/webhooks/{token}", data='{"number": 8}', timeout=30).status_code == 422
