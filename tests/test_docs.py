"""What users are told, held against the code: every setting, endpoint, command and limit stands where users look.

The tables of README.md are made from the code (build/reference.py); here is what a generator cannot see.
"""

import argparse
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from server import app
from server.__main__ import description, parser
from server.settings import SETTINGS
from server.web.routes import ENDPOINTS
from tests.service import Api, command

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SOURCES = {path: path.read_text("utf-8") for top in ("server", "console") for path in (ROOT / top).rglob("*.py")}
LIMIT = re.compile(r"^(MAX_\w+|DEFAULT_MAX)(?:: \w+)? = ", re.MULTILINE)

# Bounds that nobody meets: on our own memory and loops, on what is only shown shorter, or the end of a number's range.
INTERNAL = frozenset("""
    access.rules.MAX_DEPTH access.tokens.MAX_TOKEN_CHARS
    console.site.MAX_FORM_BYTES
    desk.mailroom.routing.MAX_RECIPIENTS desk.mailroom.sender.MAX_ADDED desk.mailroom.sender.MAX_SENT_LOOKED_AT
    desk.mailroom.threading.MAX_MERGES desk.outbox.deliver.MAX_ERROR_CHARACTERS desk.outbox.deliver.MAX_RECIPIENTS
    desk.records.MAX_PAGE desk.reminders.MAX_BATCHES desk.reopening.MAX_BATCHES desk.tickets.letter.MAX_NAME
    desk.tickets.parameters.MAX_ID desk.tickets.recipients.MAX_LOOKED_AT desk.writing.MAX_FOUND
    fields.link.MAX_ID fields.number.MAX_NUMBER fields.number.MAX_UINT fields.structure.MAX_ID_DIGITS
    jobs.queue.MAX_ATTEMPTS jobs.queue.MAX_ERROR_CHARACTERS jobs.queue.MAX_RETRY_SECONDS jobs.scheduler.MAX_ROUNDS
    mail.compose.MAX_FILES_BYTES mail.compose.MAX_FILE_NAME_CHARACTERS mail.compose.MAX_ID_CHARACTERS
    mail.compose.MAX_RECIPIENTS mail.compose.MAX_REFERENCES mail.compose.MAX_WORD_CHARACTERS
    mail.transports.smtp.MAX_ANSWER_CHARACTERS
    markup.balance.MAX_DEPTH markup.clean.MAX_DATA_IMAGE_CHARACTERS markup.links.MAX_LINKED_CHARACTERS
    markup.links.MAX_WORD_CHARACTERS markup.text.MAX_INDENT markup.tokens.MAX_ATTRIBUTES
    markup.tokens.MAX_REFERENCE_DIGITS
    outbound.connection.MAX_ADDRESSES outbound.tokens.MAX_TOKEN_BYTES outbound.urls.MAX_HOST_CHARS
    records.comment.MAX_LABEL_CHARS records.message.MAX_MERGES records.shared.entries.MAX_MESSAGE_CHARS
    records.shared.mentions.MAX_CHARS records.shared.resolve.MAX_REINDEXED records.shared.scopes.MAX_LABEL_CHARS
    records.ticket.MAX_DRAWS
    search.filters.worker.MAX_NAME_CHARS search.parser.MAX_CACHED_CHARS search.values.MAX_INTEGER
    store.statements.MAX_STATEMENTS
    times.limits.MAX_SECOND times.limits.MAX_SHOWN times.zones.MAX_NAME
    web.call.MAX_ID
""".split())


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


def test_the_tables_of_readme_say_what_the_code_does() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "build" / "reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_every_limit_is_told_or_known_as_internal() -> None:
    told = {place for place, _, _ in reference().LIMITS}
    named = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("server.") + f".{name}"
        for path, text in SOURCES.items()
        for name in LIMIT.findall(text)
    }
    assert named - told - INTERNAL == set(), "tell users of it in build/reference.py, or name it in INTERNAL above"
    assert INTERNAL - named == set(), "is no more; take it out of INTERNAL above"
    assert told & INTERNAL == set()


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


def test_links_inside_readme_lead_somewhere() -> None:
    headings = {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
                for title in re.findall(r"^#+ (.*)$", README, re.MULTILINE)}  # fmt: skip
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target[1:] in headings if target.startswith("#") else (ROOT / target).exists(), target


def test_every_make_target_in_readme_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for name in re.findall(r"^(?: {4})?make ([a-z]+)|`make ([a-z]+)", README, re.MULTILINE):
        assert f"\n{''.join(name)}:" in makefile, name
