"""Shell commands on pages of the help, typed exactly: each page in one shell, on a separate service.

Blocks ```bash run are typed; a following block ```text shows has the expected output."""

import doctest
import itertools
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.service import Api, Server
from tests.telling import telling
from tests.test_tour import typed

ROOT = Path(__file__).resolve().parent.parent
HELP = ROOT / "resources" / "help"
BLOCK = re.compile(r"^```bash run\n(.*?)^```$(?:\n\n```text shows\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PAGES = {path.stem: found for path in sorted(HELP.glob("*.md")) if (found := BLOCK.findall(path.read_text("utf-8")))}


@pytest.fixture
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of the shell: the address of a service, and the folder of its programs."""
    folder = tmp_path_factory.mktemp("examples")
    programs = {"helpdesk": f"PYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} -m server"}
    if not shutil.which("curl"):
        programs["curl"] = f"exec {sys.executable} {shlex.quote(str(ROOT / 'tests' / 'tour' / 'curl.py'))}"
    for name, text in programs.items():
        (folder / name).write_text(f'#!/bin/sh\n{text} "$@"\n')
        (folder / name).chmod(0o755)
    server = Server(folder / "data")
    nora = server.set_up()
    yield {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HELPDESK_URL": nora.url, "HELPDESK_TOKEN": nora.token,
        "HELPDESK_DATA": str(server.data),
    }  # fmt: skip
    assert server.stop() == 0


@pytest.mark.parametrize("page", telling(list(PAGES), ("operating",), "every page with examples"))
def test_a_page_shows_what_it_says(page: str, here: dict[str, str], tmp_path: Path) -> None:
    steps = PAGES[page]
    shown = typed([text for text, _ in steps], tmp_path, here)
    compared = doctest.OutputChecker()
    for (text, expected), got in zip(steps, shown, strict=True):
        assert compared.check_output(expected, got, doctest.ELLIPSIS), f"{text}\nshows:\n{got}\nnot:\n{expected}"


OF_A_DATABASE_SERVER = re.compile(r"helpdesk_database_(connections|connections_most|replicas|(lag|latency)_seconds)")


def test_every_metric_of_the_service_is_documented(here: dict[str, str]) -> None:
    told = requests.get(f"{here['HELPDESK_URL']}/metrics", timeout=60).text
    named = dict(re.findall(r"^# HELP (helpdesk\w*) (.*)$", told, re.MULTILINE))
    page = (HELP / "metrics.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `(helpdesk\w*)` \| (.*) \|$", page, re.MULTILINE))
    assert listed.pop("helpdesk_backup_timestamp_seconds")  # exists, with a folder for backups only
    of_server = {name for name in listed if OF_A_DATABASE_SERVER.fullmatch(name)}
    assert len(of_server) == 5
    listed = {name: about for name, about in listed.items() if name not in of_server}
    assert listed == named


def test_every_block_that_is_marked_is_run() -> None:
    assert {"mail", "operating", "packages"} <= PAGES.keys()
    for name, steps in PAGES.items():
        assert (HELP / f"{name}.md").read_text("utf-8").count("```bash run") == len(steps) >= 2


SAMPLE = re.compile(r"^```bash sample\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The records that requests of the pages refer to, with the same ids and names.
BEHAVIOR = {
    "uid": "status", "title": "Order status", "uri": "example_order_status", "is_disabled": False,
    "is_private": False, "priority": 50,
    "event": {"key": "event.api.custom_request", "label": "Custom API request", "params": []},
    "variables": {"var_order": {"label": "Order", "type": "S", "is_private": "0", "params": {"widget": "single"}}},
    "nodes": [],
}  # fmt: skip
BOT = {"uid": "bot", "name": "Shop", "owner": {"context": "app", "id": 0}, "is_disabled": False, "params": {},
       "behaviors": [BEHAVIOR]}  # fmt: skip
PACKAGE = {"package": {
    "name": "Pump", "revision": 1, "requires": {"svc_version": "1.0.0", "plugins": []},
    "configure": {"prompts": [{"type": "text", "label": "Name", "key": "name", "params": {}}], "placeholders": []},
}, "records": [{"uid": "made", "_context": "task", "title": "{{{name}}}"}]}  # fmt: skip
SCRIPT = "start:\n  return:\n    body: thanks"


DELETION = re.compile(r" -X DELETE [^\n]*/rest/(?:records|invitations)/")


def test_the_request_of_each_endpoint_is_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sends every sample request of the pages of endpoints as curl would; deletions come last."""
    folder = tmp_path_factory.mktemp("samples")
    server = Server(folder / "data")
    nora = Api(server.url, server.set_up().token, is_checked=False)
    files = {"mail.eml": mail(0), "plan.pdf": "%PDF-1.7", "package.json": json.dumps(PACKAGE)}
    for name in ("Acme", "Acme Ltd"):
        nora.create("org", name=name).ok()
        nora.create("contact", first_name=name).ok()
    for number in (1, 2, 3):
        nora.parse(mail(number)).ok()
    nora.create("calendar", name="Opening hours", owner__context="app", owner_id=0).ok()
    for name in ("billing", "invoices"):
        nora.create("tag", name=name).ok()
    nora.create("automation", name="first", extension_id="svc.trigger.mail.sent", script="start:\n  log: x").ok()
    nora.create("automation", name="a", extension_id="svc.trigger.webhook.respond", script=SCRIPT).ok()
    macro = {"extension_id": "svc.trigger.ticket.macro", "script": "start:\n  return:\n    note: x"}
    nora.create("automation", name="macro.callBack", **macro).ok()
    hook = nora.create("webhook_listener", name="Hook", automations_kata="automation/a:\n  uri: svc:automation:a").ok()
    assert requests.post(f"{server.url}/webhooks/{hook['guid']}", data="x", timeout=60).text == "thanks"
    told = {"name": "Shop", "url": "http://127.0.0.1:9/hooks", "events": "currency.created"}
    nora.post(f"/rest/outgoing_webhooks/{nora.create('outgoing_webhook', **told).ok()['id']}/test.json").ok()
    nora.post("/rest/packages/import.json", package_json=json.dumps({"package": PACKAGE["package"], "bots": [BOT]}),
              **{"prompts[name]": "x"}).ok()  # fmt: skip
    nora.post("/rest/attachments/upload.json", file_name="plan.pdf", content="x").ok()
    samples = [each for page in sorted((HELP / "api").glob("*.md")) for each in SAMPLE.findall(page.read_text("utf-8"))]
    for sample in sorted(samples, key=lambda each: (bool(DELETION.search(each)), "merge" in each)):
        method, path, form, is_query = curl(sample, files)
        sent = {"params" if is_query else "data": form}
        response = nora.session.request(method, server.url + path, timeout=60, **sent)
        assert response.status_code == 200, f"{sample}{response.text}"
    assert (
        server.stop() == 0
        and len(samples) == sum(page.read_text("utf-8").count("\n## ") for page in (HELP / "api").glob("*.md")
                                if page.stem not in ("of-one-type", "outside-rest"))  # which have no sample
    )  # fmt: skip


def mail(number: int) -> str:
    return f"From: ana@example.com\nSubject: Pump {number}\nMessage-ID: <{number}@example.com>\n\nIt leaks.\n"


def curl(sample: str, files: dict[str, str]) -> tuple[str, str, list[tuple[str, str]], bool]:
    """Method, path, form and whether the form is sent as the query."""
    words = shlex.split(sample.replace("\\\n", " "))
    form, method = [], "POST" if "-d" in words or "--data-urlencode" in words else "GET"
    method = words[words.index("-X") + 1] if "-X" in words else "GET" if "-G" in words else method
    (url,) = (each for each in words if each.startswith("$HELPDESK_URL"))
    for flag, value in itertools.pairwise(words):
        if flag in ("-d", "--data-urlencode"):
            name, sign, text = value.partition("@" if "@" in value.partition("=")[0] else "=")
            form.append((name, files[text] if sign == "@" else text))
    return method, url.removeprefix("$HELPDESK_URL"), form, "-G" in words
