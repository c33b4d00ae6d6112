"""What users are told, held against the code: every setting, endpoint, command and limit stands where users look.

The tables of README.md and of the help pages are made from the code (build/reference.py); here is what a generator
cannot see.
"""

import argparse
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from server import app, template
from server.__main__ import description, parser
from server.automation import bindings, checker
from server.automation import commands as automation_commands
from server.automation.behaviors import actions
from server.automation.behaviors.action import ACTIONS
from server.automation.command import COMMANDS
from server.automation.program import FLOW
from server.automation.service import MAX_DEPTH
from server.automation.webhooks.deliveries import KEPT_DAYS
from server.automation.webhooks.tokens import DEFAULT_OVERLAP_SECONDS
from server.cli.describe import shipped_files
from server.desk.queries.frame import query_types
from server.kata import parse
from server.kata.annotations import NOTES
from server.records.shared.triggers import EVENTS, OTHERS
from server.settings import SETTINGS
from server.template import registry
from server.web import oauth
from server.web.routes import ENDPOINTS
from tests.service import Api, command

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SOURCES = {path: path.read_text("utf-8") for top in ("server", "console") for path in (ROOT / top).rglob("*.py")}
HELP = ROOT / "resources" / "help"
PAGES = {path.name: path.read_text("utf-8") for path in (ROOT / "README.md", *sorted(HELP.glob("*.md")))}
ASSIGNED = re.compile(r"^([A-Z_0-9]+(?:, [A-Z_0-9]+)*)(?:: \w+)? = ", re.MULTILINE)

# Limits that are no user's concern: why, and which.
INTERNAL = {
    "what is made once and kept to be used again; what is beyond it is made anew": """
        console.pages.explorer.MAX_KEPT
        automation.policy.MAX_KEPT automation.policy.MAX_KEPT_CHARS automation.program.MAX_KEPT
        automation.program.MAX_KEPT_CHARS records.shared.checks.MAX_KEPT search.parser.MAX_CACHED_CHARS
        store.database.MAX_FREE store.statements.MAX_CHARS store.statements.MAX_STATEMENTS template.__init__.MAX_KEPT
        template.__init__.MAX_KEPT_CHARS template.patterns.MAX_KEPT
    """,
    "how much is done at once; the rest follows": """
        desk.mail_import.MAX_WAITING desk.mail_import.MAX_WAITING_BYTES desk.mailboxes.checking.MAX_MAILS
        desk.people.MAX_HANDED_OVER
        desk.reminders.MAX_BATCHES desk.reopening.MAX_BATCHES jobs.scheduler.MAX_ROUNDS
        store.transaction.MAX_QUICK_VALUES
    """,
    "how much a page of the console shows at once; searching shows the rest": """
        console.pages.automations.MAX_SHOWN_STEPS
        console.pages.backups.MAX_SHOWN console.pages.explorer.MAX_FOUND console.pages.mail.MAX_LETTERS
        console.pages.system.MAX_EVENTS desk.mail_setup.MAX_SENDERS
        console.pages.groups.MAX_BUCKETS console.pages.groups.MAX_COLUMNS console.pages.packages.MAX_FOUND
        console.pages.packages.MAX_KEPT console.pages.roles.MAX_MEMBERS
    """,
    "how many names are looked through for one like a wrong one": """
        automation.commands.metrics.MAX_NAMES desk.queries.types.automation_invoke.MAX_NAMES desk.queues.MAX_NAMES
    """,
    "how many mistakes one error tells of; the others are told once these are mended": """
        desk.database_check.MAX_PROBLEMS
        automation.checker.MAX_MISTAKES kata.schema.MAX_PROBLEMS records.shared.checks.MAX_TOLD
        records.shared.scope_check.MAX_MISTAKES
    """,
    "the end of a number's range, or of what the other side of a protocol may send": """
        access.codes.MAX_CODE_CHARS access.password_links.MAX_CODE_CHARS access.sessions.MAX_ID_CHARS
        access.validator.MAX_CLIENT_ID_CHARS automation.commands.pgp.MAX_MESSAGE_CHARS console.cookies.MAX_VALUE_CHARS
        console.visit.MAX_NEXT_CHARS desk.packages.prompts.MAX_ID_DIGITS desk.queries.numbers.MAX_MAGNITUDE
        desk.tickets.parameters.MAX_ID fields.link.MAX_ID fields.number.MAX_NUMBER fields.number.MAX_UINT
        fields.structure.MAX_ID_DIGITS markup.tokens.MAX_REFERENCE_DIGITS outbound.tokens.MAX_TOKEN_BYTES
        outbound.urls.MAX_HOST_CHARS search.values.MAX_INTEGER template.filters.addresses.MAX_PORT
        template.functions.chances.MAX_NUMBER template.operators.MAX_LETTER times.limits.MAX_SECOND web.call.MAX_ID
    """,
    "bounds of our own loops and memory that nothing which is meant well comes near": """
        access.rules.MAX_DEPTH access.tokens.MAX_TOKEN_CHARS console.site.MAX_FORM_BYTES
        desk.export.exporting.MAX_SECONDS
        desk.mailroom.routing.MAX_RECIPIENTS desk.mailroom.sender.MAX_ADDED desk.mailroom.sender.MAX_SENT_LOOKED_AT
        desk.mailroom.threading.MAX_MERGES desk.outbox.deliver.MAX_RECIPIENTS desk.custom_fields.MAX_SUFFIX
        desk.records.MAX_PAGE desk.tickets.recipients.MAX_LOOKED_AT desk.writing.MAX_FOUND jobs.queue.MAX_ATTEMPTS
        jobs.queue.MAX_RETRY_SECONDS mail.compose.MAX_FILES_BYTES mail.compose.MAX_RECIPIENTS
        mail.compose.MAX_REFERENCES markup.balance.MAX_DEPTH markup.clean.MAX_DATA_IMAGE_CHARACTERS
        markup.links.MAX_LINKED_CHARACTERS markup.links.MAX_WORD_CHARACTERS markup.tokens.MAX_ATTRIBUTES
        outbound.connection.MAX_ADDRESSES outbound.dns.MAX_NAME_STEPS outbound.dns.MAX_SERVERS
        outbound.dns.MAX_SERVER_BYTES records.message.MAX_MERGES records.shared.mentions.MAX_CHARS
        records.shared.recurrence.MAX_DAYS records.shared.resolve.MAX_REINDEXED records.ticket.MAX_DRAWS
        search.filters.worker.MAX_NAME_CHARS template.filters.images.MAX_SEGMENTS times.zones.MAX_NAME web.rate.MAX_KEYS
    """,
    "what is only shown shorter": """
        console.pages.automations.MAX_SHOWN_CHARS console.pages.explorer.MAX_SHOWN_CHARS
        desk.scheduled.MAX_PAYLOAD_CHARS
        access.sessions.MAX_DEVICE_CHARS console.lists.MAX_CHOICES console.pages.apps.MAX_SHOWN_ENDPOINTS
        desk.mailboxes.dead_letters.MAX_NAME_CHARACTERS desk.mailboxes.telling.MAX_ERROR_CHARACTERS
        desk.outbox.deliver.MAX_ERROR_CHARACTERS desk.sign_in.MAX_REASON_CHARS desk.tickets.letter.MAX_NAME
        jobs.queue.MAX_ERROR_CHARACTERS mail.compose.MAX_FILE_NAME_CHARACTERS mail.compose.MAX_ID_CHARACTERS
        mail.compose.MAX_WORD_CHARACTERS mail.network.MAX_ANSWER_CHARACTERS markup.text.MAX_INDENT
        desk.export.contents.MAX_NAME_CHARS web.mail_listener.MAX_ANSWER_CHARS
        records.comment.MAX_LABEL_CHARS records.shared.entries.MAX_MESSAGE_CHARS records.shared.scopes.MAX_LABEL_CHARS
        times.limits.MAX_SHOWN
    """,
}


def reference() -> ModuleType:
    """build/reference.py; build/ is no package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "build" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parsers(found: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Every command below a parser, and itself."""
    below = [each for action in found._actions if isinstance(action, argparse._SubParsersAction)
             for each in action.choices.values()]  # fmt: skip
    return [found, *(each for one in below for each in parsers(one))]


def test_the_tables_say_what_the_code_does() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "build" / "reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_every_limit_is_told_or_known_as_internal() -> None:
    told = {place for found in reference().LIMITS.values() for place, _, _ in found}
    internal = {name for names in INTERNAL.values() for name in names.split()}
    named = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("server.") + f".{name}"
        for path, text in SOURCES.items()
        for names in ASSIGNED.findall(text)
        for name in names.split(", ")
        if name.startswith("MAX_") or name == "DEFAULT_MAX"
    }
    assert named - told - internal == set(), "tell users of it in build/limits.py, or name it in INTERNAL above"
    assert internal - named == set(), "is no more; take it out of INTERNAL above"
    assert told & internal == set()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_every_setting_is_explained_and_used(setting) -> None:
    assert setting.help.endswith(".") and (setting.unit or setting.type != "whole")
    used = re.compile(rf"\b{setting.name}\b")
    assert any(used.search(text) for path, text in SOURCES.items() if path.name != "settings.py")


@pytest.mark.parametrize("each", parsers(parser()), ids=lambda each: each.prog)
def test_every_command_and_flag_has_help(each) -> None:
    assert each.description
    assert all(action.help or isinstance(action, argparse._SubParsersAction) for action in each._actions)


def test_every_endpoint_and_parameter_has_a_note() -> None:
    app.endpoints()
    for each in ENDPOINTS:
        assert each.note.endswith("."), each.path
        assert all(parameter.note for parameter in each.parameters), each.path


def test_every_parameter_that_an_endpoint_reads_is_told() -> None:
    """Parameters read by name in the function of an endpoint; what it hands on to others is tested there."""
    app.endpoints()
    read = re.compile(r'call\.params\.\w+\("([a-z_]+)"')
    for each in ENDPOINTS:
        told = {parameter.name.removesuffix("[]") for parameter in each.parameters}
        assert set(read.findall(inspect.getsource(each.function))) <= told, each.path


def test_every_field_and_filter_of_a_record_type_has_a_note() -> None:
    for uri, each in description()["record_types"].items():
        for part in ("fields", "filters"):
            assert all(row["note"] for row in each[part]), (uri, part)


def test_the_settings_that_the_command_lists_are_all_of_them(tmp_path: Path) -> None:
    listed = command("settings", data=tmp_path).stdout.decode()
    assert re.findall(r"^(\w+) = ", listed, re.MULTILINE) == [each.name for each in SETTINGS]


def test_the_search_query_in_readme_is_one(api: Api) -> None:
    query = re.search(r"terms: `(printer .*?)`", README)
    assert query is not None
    api.search("ticket", query[1]).ok()
    api.search("ticket", f"({query[1]}) OR !boat sort:-updated limit:25").ok()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    folder = ROOT if page == "README.md" else HELP
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[page]):
        path, _, heading = target.partition("#")
        assert not path or (folder / path).exists(), target
        assert not heading or heading in headings(PAGES[Path(path).name if path else page]), target


def headings(text: str) -> set[str]:
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_readme_leads_to_every_help_page_and_the_executable_has_them() -> None:
    shipped = shipped_files()
    for page in HELP.glob("*.md"):
        assert f"(resources/help/{page.name})" in README, page.name
        assert shipped[f"resources/help/{page.name}"].samefile(page)


def test_numbers_in_the_text_of_readme_are_those_of_the_code() -> None:
    text = " ".join(README.split())
    assert f"stopped after {MAX_DEPTH} of them" in text
    assert f"for {KEPT_DAYS} days; headers" in text
    assert DEFAULT_OVERLAP_SECONDS == 86400 and "goes on for a day" in text


def test_the_paths_of_oauth_are_told() -> None:
    for path in (oauth.AUTHORIZE, oauth.TOKEN, oauth.REVOKE, oauth.INTROSPECT, oauth.SERVER_METADATA):
        assert f"`{path}`" in README, path


EXAMPLE = re.compile(r"^```kata (\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(kind, text, id=f"{page}-{kind}")
    for page, content in PAGES.items()
    for kind, text in EXAMPLE.findall(content)
]
CHECKS: dict[str, Callable[[str], object]] = {
    "script": checker.check,
    "policy": checker.check_policy,
    "binding": bindings.problems,
    "tree": lambda text: [] if parse(text).tree else ["nothing is in it"],
    "template": lambda text: [] if template.compile(text).render({"tickets": TICKETS}).strip() else ["makes nothing"],
}
TICKETS = [{"status": "open", "subject": "Leaking zeppelin", "updated": 1}]


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_examples_can_be_read(kind: str, text: str) -> None:
    assert CHECKS[kind](text) == []


def test_the_data_query_in_the_help_is_one(api: Api) -> None:
    (query,) = re.findall(r"^type:.*$", PAGES["data-queries.md"], re.MULTILINE)
    api.get("/rest/data/query.json", q=query).ok()


def test_everything_that_people_write_has_a_note() -> None:
    automation_commands.load()
    actions.load()
    noted = [*COMMANDS.values(), *ACTIONS.values(), *(one for each in COMMANDS.values() for one in each.inputs)]
    for each in (*noted, *registry.FILTERS.values(), *registry.FUNCTIONS.values(), *registry.TESTS.values()):
        assert re.search(r"\w.*\.$", each.note), each.name
    for name, note in (FLOW | NOTES).items():
        assert note.endswith("."), name
    for name, query_type in query_types().items():
        assert query_type.description.endswith(".") and all(key.note for key in query_type.keys), name


def test_triggers_tell_whether_anything_starts_them() -> None:
    """One that is kept for a screen is named nowhere but where it is declared; every other one is named by its code."""
    sources = "".join(text for path, text in SOURCES.items() if path.name != "triggers.py")
    for name, each in (EVENTS | OTHERS).items():
        used = re.search(rf"[\"'](?:svc\.trigger\.)?{re.escape(name)}[\"']", sources)
        assert each.when.endswith(".") and bool(used) is not each.is_screen, name
        assert each.is_screen or each.keys, name


def test_every_make_target_in_readme_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for name in re.findall(r"^(?: {4})?make ([a-z]+)|`make ([a-z]+)", README, re.MULTILINE):
        assert f"\n{''.join(name)}:" in makefile, name
