"""The documentation against the code: every setting, endpoint, command and limit is documented where users expect it.

The tables of the help pages are generated from the code (build/reference.py); these tests cover the rest."""

import argparse
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from server import app, passwords, template
from server.access import codes, families, known_devices, lockout, password_links, sessions
from server.access.second_factor import RECOVERY_CODES
from server.automation import bindings, checker, queues
from server.automation import commands as automation_commands
from server.automation.automation_service import MAX_DEPTH
from server.automation.behaviors import actions
from server.automation.behaviors.action import ACTIONS
from server.automation.command import COMMANDS
from server.automation.program import FLOW
from server.automation.webhooks.received_calls import KEPT_DAYS
from server.automation.webhooks.webhook_tokens import DEFAULT_OVERLAP_SECONDS
from server.cli.commands import parser
from server.cli.describe import description, shipped_files
from server.first_start import setup
from server.help.articles import slug
from server.kata import parse
from server.kata.annotations import NOTES
from server.mailroom.mailboxes import due_mailboxes, problems
from server.queries.query_run import query_types
from server.record_types.shared import behavior_events
from server.record_types.shared.points import POINTS
from server.record_types.shared.triggers import EVENTS, OTHERS, PREFIX
from server.settings import BY_NAME, SETTINGS
from server.template import registry
from server.web import oauth
from server.web.rest import legacy
from server.web.routes import ENDPOINTS
from tests.service import Api, command

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SOURCES = {path: path.read_text("utf-8") for top in ("server", "console") for path in (ROOT / top).rglob("*.py")}
HELP = ROOT / "resources" / "help"
PAGES = {
    path.relative_to(ROOT if path.name == "README.md" else HELP).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", *sorted(HELP.rglob("*.md")))
}
WRITTEN = {name: text for name, text in PAGES.items() if "/" not in name}  # those in folders are generated
DAY = 86400
FENCES = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ASSIGNED = re.compile(r"^([A-Z_0-9]+(?:, [A-Z_0-9]+)*)(?:: \w+)? = ", re.MULTILINE)

# Limits that do not concern users: reason, and names.
INTERNAL = {
    "what is kept to be looked at, the newest": """
        log.MAX_KEPT log.MAX_KEPT_CHARS log.MAX_KEPT_WARNINGS outgoing.deliveries.MAX_ERROR_CHARS
        access.push_devices.MAX_ERROR_CHARS outbound.web_push.MAX_REASON_CHARS
        console.pages.app_files.MAX_SHORT_NAME_CHARS
        console.pages.automation.outgoing.MAX_SHOWN_CHARS
    """,
    "what is made once and kept to be used again; what is beyond it is made anew": """
        web.openapi.flat_operations.MAX_KEPT
        web.assistants.rpc_messages.MAX_SHOWN_CHARS web.assistants.tool_declarations.MAX_NAME_CHARS
        automation.bindings.MAX_KEPT automation.bindings.MAX_KEPT_CHARS
        automation.policy.MAX_KEPT automation.policy.MAX_KEPT_CHARS automation.program.MAX_KEPT
        automation.program.MAX_KEPT_CHARS record_types.shared.checks.MAX_KEPT record_types.shared.scopes.MAX_KEPT
        tickets.passing_counts.MAX_COUNTS tickets.latest_words.MAX_CACHED
        access.rules.MAX_CACHED records.changes.MAX_RESULTS
        records.scoped_types.MAX_CACHED web.heads.MAX_KEPT
        web.serving.MAX_KEPT_CHARS web.serving.MAX_KEPT_LINES web.serving.MAX_AHEAD_BYTES
        search.query_parser.MAX_CACHED_CHARS search.filters.word_filters.MAX_KEPT_WORDS
        search.filters.word_filters.MAX_KEPT_CHARS
        store.words.MAX_CACHED_RUN search.filters.text_filters.MAX_DOUBLE_S
        kata.kata_parser.MAX_KEPT_KEY kata.kata_parser.MAX_KEPT_KEYS
        counting.bins.MAX_CACHED_DAYS counting.bins.MAX_CACHED_SCALES counting.bins.MAX_CACHED_TEXTS
        store.sqlite.MAX_FREE store.sqlite.MAX_WARM store.postgresql.connection.MAX_PREPARED
        store.postgresql.connection.MAX_HELD store.postgresql.connection.MAX_PENDING
        store.postgresql.connection.MAX_UNSENT_BYTES
        store.known_rows.MAX_ROWS store.postgresql.small_reads.MAX_SLOW
        store.postgresql.schema.MAX_NAME store.postgresql.store.MAX_FREE store.postgresql.store.MAX_READING
        store.postgresql.tsvectors.MAX_PLACE store.statements.MAX_CHARS store.statements.MAX_STATEMENTS
        writing_assistant.model_client.MAX_KNOWN
        template.__init__.MAX_CACHED template.__init__.MAX_CACHED_CHARS template.script_patterns.MAX_CACHED
        console.help_center.page_cache.MAX_PAGES console.help_center.page_cache.MAX_CACHED_BYTES
        console.help_center.help_center_site.MAX_CACHED_CHARS console.help_center.search_pages.MAX_ITEMS
        help_center.article_search.MAX_KNOWN_BITS help_center.visit_counts.MAX_READERS
        help_center.visit_counts.MAX_MISSES help_center.visit_counts.MAX_MISS_CHARS
        help_center.customers.customer_sign_in.MAX_SECRET_CHARS help_center.customers.customer_sign_in.MAX_NEXT_CHARS
        help_center.customers.customer_sessions.MAX_ID_CHARS help_center.customers.request_acts.MAX_FORM_ID_CHARS
        help_center.customers.customer_requests.MAX_MERGES help_center.customers.public_conversation.MAX_INLINE_BYTES
        help_center.customers.public_conversation.MAX_IMAGES_BYTES
        console.help_center.request_pages.MAX_TYPED_CHARS
        help_center.visitor_files.MAX_TYPE_CHARS help_center.form_tokens.MAX_PROOF_CHARS
    """,
    "how much of an untrusted response is read, and of all records is compared; nobody meets its end": """
        writing_assistant.model_client.MAX_REASON_CHARS writing_assistant.model_client.MAX_WAIT_SECONDS
        writing_assistant.model_client.MAX_MODELS writing_assistant.ticket_material.MAX_GROUPS
        writing_assistant.ticket_material.MAX_CANDIDATES writing_assistant.ticket_material.MAX_QUERY_WORDS
    """,
    "how much is done at once; the rest follows": """
        mailroom.mail_import.MAX_WAITING mailroom.mail_import.MAX_WAITING_BYTES mailroom.mailboxes.checking.MAX_MAILS
        mailroom.mailboxes.checking.MAX_IN_A_ROW mailroom.mailboxes.fetch_state.MAX_RETRY_SECONDS
        mailroom.mailboxes.fetch_state.MAX_SINGLE_READS
        notifying.notification_mails.MAX_AT_ONCE notifying.pushing.MAX_AT_ONCE
        sign_in.sign_in_administration.MAX_HANDED_OVER people.unread.MAX_AT_ONCE
        people.due_reminders.MAX_BATCHES tickets.target_alerts.MAX_BATCHES tickets.assign_queue.MAX_BATCHES
        tickets.assign_queue.MAX_ADDED console.pages.groups.MAX_CANDIDATES
        tickets.following.MAX_COUNTED tickets.following.MAX_READ
        tickets.reopening.MAX_BATCHES jobs.job_queue.MAX_RUNS jobs.scheduler.MAX_ROUNDS
        counting.combinations.MAX_QUICK_ROWS cli.doctor.MAX_NAMED search.beginning.MAX_ASKED
        store.moving.MAX_ROWS store.postgresql.faults.MAX_REASON store.transaction.MAX_QUICK_VALUES
    """,
    "how much a page of the console shows at once; searching shows the rest": """
        console.help_center.article_pages.MAX_POPULAR console.help_center.article_pages.MAX_OTHERS
        console.help_center.article_pages.MAX_RELATED console.help_center.search_pages.MAX_SUGGESTED
        console.pages.help_center_settings.MAX_COMMENTS
        console.html.rail.MAX_SHOWN console.tickets.present.MAX_SENTENCES
        console.tickets.interrupting.MAX_NAMED tickets.conversation.MAX_OPEN
        console.pages.sign_in_settings.MAX_OFFERED console.pages.start.MAX_NEW queries.desk_figures.MAX_OWNERS
        tickets.customer.MAX_TICKETS tickets.customer.MAX_COLLEAGUES tickets.customer.MAX_BLANK
        tickets.list_counts.MAX_GROUPS web.trials.MAX_STEPS automation.uses.MAX_USES
        console.pages.automation.log.MAX_EXPORTED console.pages.automation.events.MAX_AUTOMATIONS
        automation.run_values.MAX_CHARS
        console.forms.record_form.MAX_CLASH_CHARS console.html.diffs.MAX_LINES packages.prompts.MAX_NAMED
        apps.app_usage.MAX_NAMED console.pages.apps.MAX_SHOWN_CALLS
        console.pages.jump.MAX_CHOSEN_FROM console.pages.jump.MAX_HITS console.pages.jump.MAX_OF_KIND
        console.pages.record.show.MAX_TEXT_CHARS console.pages.record.show.MAX_TICKETS
        tickets.conversation.MAX_TEXT_CHARS tickets.conversation.MAX_RECIPIENTS_CHARS
        tickets.conversation.MAX_DRAFTS tickets.conversation.MAX_EVENTS
        tickets.latest_words.MAX_CHARS tickets.latest_words.MAX_READ_CHARS
        console.tickets.reply.MAX_ADDRESSES people.presence.MAX_WORKERS
        tickets.types.ticket_parts.merges.MAX_MERGES imports.holidays.MAX_LISTED tickets.target_clocks.MAX_HOLIDAYS
        console.pages.automation.webhooks.MAX_SHOWN_CHARS automation.webhooks.response_preview.MAX_SHOWN_INPUTS
        console.pages.automation.webhooks.MAX_SHOWN_ENTRIES
        console.pages.explorer.MAX_FOUND
        console.html.charts.MAX_DOTTED console.html.charts.MAX_LABEL_CHARS console.html.point_maps.MAX_LINES
        console.html.point_maps.MAX_NAMED console.html.point_maps.MAX_NAME_CHARS
        console.html.point_maps.MAX_OUTLINE_CHARS console.pages.workspaces.map_files.MAX_DEPTH
        console.pages.workspaces.board.MAX_CARDS
        console.pages.workspaces.board.MAX_COLUMNS console.pages.workspaces.build.MAX_CALENDARS
        console.pages.workspaces.chart_widgets.MAX_AFFIX_CHARS console.pages.workspaces.chart_widgets.MAX_BARS
        console.pages.workspaces.chart_widgets.MAX_DATASETS console.pages.workspaces.chart_widgets.MAX_MARK_CHARS
        console.pages.workspaces.chart_widgets.MAX_TILES console.pages.workspaces.drawing.MAX_NAMES
        console.pages.workspaces.drawing.MAX_TEMPLATE_BYTES console.pages.workspaces.drawing.MAX_TEMPLATE_SECONDS
        console.pages.workspaces.drawing.MAX_TEMPLATE_STEPS console.pages.workspaces.list_widgets.MAX_COLUMNS
        console.pages.workspaces.list_widgets.MAX_ROWS console.pages.workspaces.list_widgets.MAX_SUBTOTALS
        console.pages.workspaces.map_widgets.MAX_POINTS console.pages.workspaces.map_widgets.MAX_SERIES
        console.pages.workspaces.query_table.MAX_COLUMNS console.pages.workspaces.query_table.MAX_ROWS
        console.pages.workspaces.record_widgets.MAX_FIELDS console.pages.workspaces.tab_filters.MAX_FILTERS
        console.pages.workspaces.tab_filters.MAX_OPTIONS console.pages.workspaces.tab_filters.MAX_TEXT_CHARS
        console.pages.workspaces.time_widgets.MAX_RECORDS console.pages.workspaces.time_widgets.MAX_SHOWN
        people.workspace_pages.MAX_OFFERED people.workspace_pages.MAX_PLACE people.workspace_pages.MAX_READ
        people.workspace_pages.MAX_TABS_READ
        mailroom.mailboxes.failed_mails.MAX_SHOWN_BYTES mail.dialogue.MAX_LINES mail.dialogue.MAX_LINE_CHARACTERS
        mailroom.mailboxes.dead_letters.MAX_WHY_CHARACTERS
        console.pages.upkeep.system.MAX_EVENTS console.pages.upkeep.system.MAX_LINES
        console.pages.upkeep.system.MAX_TROUBLES
        mailroom.mail_setup.MAX_SENDERS mailroom.mail_dns.MAX_DOMAINS mailroom.mail_dns.MAX_SHOWN_CHARS
        apps.token_lists.MAX_LISTED sign_in.invitations.MAX_LISTED
        console.pages.asides.MAX_ZONES upkeep.backup_plan.MAX_TIMES console.pages.automation.jobs.MAX_LINES
        automation.recurrence_words.MAX_TIMES mailroom.routing.MAX_ROUTES
        people.groups.MAX_NAMED console.pages.groups.MAX_COLUMNS console.pages.packages.MAX_FOUND
        help.articles.MAX_FOUND help.articles.MAX_WORDS
        people.saved_searches.MAX_OFFERED people.saved_searches.MAX_READ
        people.owner_choices.MAX_GROUPS console.tickets.trial_tickets.MAX_TICKETS
        packages.prompts.MAX_CHOICES tickets.by_words.MAX_REQUESTERS
        help.synonyms.MAX_FOUND console.http.navigation.MAX_CUSTOM console.html.rail.MAX_SHOWN
        tickets.list_counts.MAX_GROUPS
        records.search_help.chips.MAX_CHARS records.search_help.chips.MAX_CHIPS
        records.search_help.query_help.MAX_LABELS records.search_help.options.MAX_NAMES
        records.search_help.options.MAX_RECORDS records.search_suggestions.MAX_NAME_WORDS
        console.pages.rules.rule_editor.MAX_SHOWN console.pages.rules.rule_editor.MAX_STEPS
        automation.rules.rule_list.MAX_RUNS automation.rules.rule_list.MAX_WHY_NOT
        automation.rules.rule_scan.MAX_BATCHES automation.rules.rule_runs.MAX_MESSAGE_CHARS
        packages.results.MAX_STORED console.pages.packages.MAX_PAST console.pages.roles.MAX_MEMBERS
    """,
    "how many names are looked through for one like a wrong one": """
        imports.import_cells.MAX_FOUND
        automation.commands.metric_commands.MAX_NAMES queries.kinds.automation_invoke.MAX_NAMES
        automation.queues.MAX_NAMES
    """,
    "how many mistakes one error tells of; the others are told once these are mended": """
        automation.event_runs.MAX_REPORTED automation.bound_automations.MAX_REPORTED
        upkeep.database_check.MAX_PROBLEMS imports.row_import.MAX_MISTAKES
        automation.checker.MAX_MISTAKES kata.kata_schema.MAX_PROBLEMS record_types.shared.checks.MAX_TOLD
        packages.changing.MAX_NAMED packages.grants.MAX_NAMED
        tickets.types.ticket_parts.status_names.MAX_OFFERED
        record_types.shared.scope_check.MAX_DOUBTED record_types.shared.scope_check.MAX_MISTAKES
    """,
    "the end of a number's range, or of what the other side of a protocol may send": """
        mail.graph_client.MAX_ERROR_BYTES mail.graph_client.MAX_ID_CHARS mail.graph_client.MAX_JSON_BYTES
        mail.graph_client.MAX_LINK_CHARS mail.transports.graph.MAX_ADDRESSES mail.transports.graph.MAX_COPIES
        mail.transports.graph.MAX_POSTED_FILE_BYTES mail.transports.graph.MAX_TIMEOUT_SECONDS
        mail.transports.graph.MAX_TRIES
        access.webauthn.MAX_RESPONSE_CHARS access.webauthn.MAX_KEY_CHARS
        store.tables.MAX_NAME_CHARS
        connections.connecting.MAX_STATE_CHARS connections.connecting.MAX_CODE_CHARS
        connections.consented_identity.MAX_EMAIL_CHARS connections.consented_identity.MAX_ID_TOKEN_CHARS
        connections.consented_identity.MAX_USERINFO_BYTES mail.autoconfig.MAX_CONFIG_BYTES mail.autoconfig.MAX_SERVERS
        mail.autoconfig.MAX_DEPTH mail.autoconfig.MAX_USERNAME_CHARS
        access.codes.MAX_CODE_CHARS access.device_codes.MAX_DEVICE_CODE_CHARS
        access.password_links.MAX_CODE_CHARS access.sessions.MAX_ID_CHARS
        access.sign_in_providers.MAX_LINK_CHARS access.openid_client.MAX_SUBJECT_CHARS access.openid_client.MAX_KEYS
        access.openid_client.MAX_TRIED_KEYS access.openid_client.MAX_KEY_REFRESHES access.openid_client.MAX_CALLS
        sign_in.sign_in_provider_setup.MAX_LABEL_CHARS sign_in.sign_in_provider_setup.MAX_CLIENT_CHARS
        sign_in.sign_in_provider_setup.MAX_SECRET_CHARS sign_in.sign_in_provider_setup.MAX_TRIAL_CHARS
        sign_in.claim_rules.MAX_VALUES sign_in.claim_rules.MAX_CLAIM_CHARS sign_in.claim_rules.MAX_SHOWN_CHARS
        sign_in.claim_rules.MAX_SHOWN_CLAIMS console.pages.provider_pages.MAX_SECRET_CHARS
        sign_in.invitation_links.MAX_CODE_CHARS sign_in.provisioning_tokens.MAX_TOKEN_CHARS
        access.validator.MAX_CLIENT_ID_CHARS automation.commands.pgp.MAX_MESSAGE_CHARS
        console.http.visit.MAX_TOLD_CHARS console.lists.selection.MAX_UNDO_BYTES console.http.visit.MAX_UNDO_CHARS
        console.http.visit.MAX_NEXT_CHARS queries.numbers.MAX_MAGNITUDE
        people.form_drafts.MAX_KEY_CHARS records.records.MAX_NAMED_WORDS console.lists.lookup.MAX_LISTED_CHOICES
        digits.MAX_ID_DIGITS tickets.conversation.MAX_BACK
        fields.number.MAX_NUMBER fields.number.MAX_UINT
        markup.html_tokens.MAX_REFERENCE_DIGITS outbound.client_tokens.MAX_TOKEN_BYTES
        outbound.oauth_discovery.MAX_METADATA_BYTES
        outbound.urls.MAX_HOST_CHARS search.values.MAX_INTEGER template.filters.address_filters.MAX_PORT
        template.functions.chances.MAX_NUMBER template.operators.MAX_LETTER times.limits.MAX_SECOND
    """,
    "bounds of our own loops and memory that nothing which is meant well comes near": """
        markup.quoted.MAX_DEVICE_CHARS tickets.customer.MAX_ADDRESSES tickets.customer.MAX_READ
        tickets.reply_html.MAX_BYTES
        tickets.reply_html.MAX_CACHED tickets.note_html.MAX_CHARS tickets.note_html.MAX_CACHED
        sign_in.invitations.MAX_LISTED_TEXT
        people.presence.MAX_TICKETS markup.quoted.MAX_HEAD_LINES markup.quoted.MAX_HEAD_CHARS
        access.rules.MAX_DEPTH access.tokens.MAX_TOKEN_CHARS console.site.MAX_FORM_BYTES
        export.exporting.MAX_SECONDS
        mailroom.routing.MAX_RECIPIENTS mailroom.sender.MAX_ADDED mailroom.sender.MAX_SENT_LOOKED_AT
        outbox.deliver.MAX_RECIPIENTS
        records.custom_fields.MAX_COUNTED records.custom_fields.MAX_SUFFIX
        records.records.MAX_PAGE tickets.recipients.MAX_LOOKED_AT records.reading.MAX_FOUND jobs.job_queue.MAX_ATTEMPTS
        jobs.job_queue.MAX_RETRY_SECONDS mail.mail_bytes.MAX_FILES_BYTES mail.mail_bytes.MAX_RECIPIENTS
        mail.mail_bytes.MAX_REFERENCES markup.balance.MAX_DEPTH markup.clean.MAX_DATA_IMAGE_CHARACTERS
        markup.plain_links.MAX_LINKED_CHARACTERS markup.plain_links.MAX_WORD_CHARACTERS
        markup.html_tokens.MAX_ATTRIBUTES
        outbound.connection.MAX_ADDRESSES outbound.dns.MAX_SERVERS
        outbound.dns.MAX_SERVER_BYTES record_types.shared.mentions.MAX_CHARS record_types.shared.absence.MAX_CHAIN
        automation.recurrence.MAX_DAYS record_types.shared.named_records.MAX_REINDEXED tickets.types.ticket.MAX_DRAWS
        search.filters.worker_filters.MAX_NAME_CHARS markup.image_headers.MAX_SEGMENTS
        people.rating_texts.MAX_JSON_CHARS times.zones.MAX_NAME
        web.rate.MAX_KEYS
        web.rate.MAX_TOLD
    """,
    "what is only shown shorter": """
        sign_in.provisioned_users.MAX_KIND_CHARS
        tickets.conversation.MAX_WORDS_CHARS tickets.customer.MAX_NOTE_CHARS
        console.pages.automation.automations.MAX_SHOWN_CHARS web.trials.MAX_CONTINUATION_CHARS
        automation.examples.MAX_OUTCOME_CHARS console.pages.explorer.MAX_SHOWN_CHARS
        records.administrative_acts.MAX_CHANGES_CHARS records.service_settings.MAX_LOGGED_CHARS people.rosters.MAX_NAMED
        connections.grants.MAX_ERROR_CHARACTERS connections.connecting.MAX_NAME_CHARS
        upkeep.scheduled_jobs.MAX_IDS upkeep.scheduled_jobs.MAX_NAME_CHARS
        upkeep.scheduled_jobs.MAX_PAYLOAD_CHARS
        access.sessions.MAX_DEVICE_CHARS console.lists.lookup.MAX_CHOICES
        mailroom.mailboxes.dead_letters.MAX_NAME_CHARACTERS mailroom.mailboxes.problems.MAX_ERROR_CHARACTERS
        tickets.acknowledging.MAX_ERROR_CHARACTERS
        outbox.outcome.MAX_ERROR_CHARACTERS sign_in.sign_in.MAX_REASON_CHARS tickets.letter.MAX_NAME
        jobs.job_queue.MAX_ERROR_CHARACTERS mail.mail_bytes.MAX_FILE_NAME_CHARACTERS mail.mail_bytes.MAX_ID_CHARACTERS
        markup.styles.MAX_BORDER_PIXELS markup.styles.MAX_FONT_PIXELS markup.styles.MAX_GAP_PIXELS
        markup.styles.MAX_PIXELS markup.styles.MAX_SPACE_PIXELS mail.rtf.MAX_GROUPS mail.rtf.MAX_RTF_BYTES
        mail.smime.MAX_PIECES mail.tnef.MAX_ATTRIBUTES mail.tnef.MAX_VALUES mail.mail_bytes.MAX_WORD_CHARACTERS
        mail.network.MAX_ANSWER_CHARACTERS markup.readable_text.MAX_INDENT markup.losses.MAX_SHOWN
        markup.losses.MAX_SOURCE
        markup.plain_text.MAX_QUOTE_DEPTH markup.stylesheets.MAX_DRESSED_CHARACTERS
        outbox.frame.MAX_DIRECTION_CHARACTERS
        export.exported_files.MAX_NAME_CHARS web.mail_listener.MAX_ANSWER_CHARS
        record_types.comment.MAX_LABEL_CHARS record_types.shared.entries.MAX_MESSAGE_CHARS
        record_types.shared.scopes.MAX_LABEL_CHARS
        times.limits.MAX_SHOWN
    """,
}


def reference() -> ModuleType:
    """build/reference.py; build/ is not a package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "build" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parsers(found: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """All commands below a parser, and the parser itself."""
    below = [each for action in found._actions if isinstance(action, argparse._SubParsersAction)
             for each in action.choices.values()]  # fmt: skip
    return [found, *(each for one in below for each in parsers(one))]


def test_every_event_of_behaviors_is_told_with_what_does_the_same() -> None:
    text = (ROOT / "resources" / "help" / "behaviors.md").read_text("utf-8")
    for event in behavior_events.EVENTS:
        assert f"| `{event}` |" in text
    for each in behavior_events.INSTEAD:
        row = rf"\| `{re.escape(each.events)}`[^|]* \| `{PREFIX}{each.trigger}` \| {re.escape(each.how)} \|"
        assert re.search(row, text), each
        assert each.trigger in EVENTS or each.trigger in OTHERS


def test_the_tables_say_what_the_code_does() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "build" / "reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_every_limit_is_documented_or_internal() -> None:
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


@cache
def used_names() -> set[str]:
    """Returns the words of all sources but the declarations of settings."""
    return {word for path, text in SOURCES.items() if path.name != "settings.py" for word in re.findall(r"\w+", text)}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_every_setting_is_explained_and_used(setting) -> None:
    assert setting.help.endswith(".") and (setting.unit or setting.type != "whole")
    assert setting.name in used_names()


@pytest.mark.parametrize("each", parsers(parser()), ids=lambda each: each.prog)
def test_every_command_and_flag_has_help(each) -> None:
    assert each.description
    assert all(action.help or isinstance(action, argparse._SubParsersAction) for action in each._actions)


def test_every_endpoint_and_parameter_has_a_note() -> None:
    app.endpoints()
    for each in ENDPOINTS:
        assert each.note.endswith("."), each.path
        assert all(parameter.note for parameter in each.parameters), each.path


def test_every_parameter_of_an_endpoint_is_documented() -> None:
    """Parameters read by name in the function of an endpoint; functions that it calls are tested with the endpoint."""
    app.endpoints()
    read = re.compile(r'call\.params\.\w+\("([a-z_]+)"')
    for each in ENDPOINTS:
        told = {parameter.name.removesuffix("[]") for parameter in each.parameters}
        assert set(read.findall(inspect.getsource(each.function))) <= told, each.path


def test_every_field_and_filter_of_a_record_type_has_a_note() -> None:
    for uri, each in description()["record_types"].items():
        for part in ("fields", "filters"):
            assert all(row["note"] for row in each[part]), (uri, part)


def test_every_kind_of_field_and_of_filter_is_documented() -> None:
    types = description()["record_types"].values()
    for page, part in (("types.md", "fields"), ("search.md", "filters")):
        kinds = {row["type"] for each in types for row in each[part]}
        _, _, table = PAGES[page].partition(f"## What {part} take\n")
        told = {word for words in re.findall(r"^\| ([a-z_, ]+) \|", table, re.MULTILINE) for word in words.split(", ")}
        assert kinds - told == ({"deep"} if part == "filters" else set()), page  # listed as "search of a type"


def test_the_settings_that_the_command_lists_are_all_of_them(tmp_path: Path) -> None:
    listed = command("settings", data=tmp_path).stdout.decode()
    assert re.findall(r"^(\w+) = ", listed, re.MULTILINE) == [each.name for each in SETTINGS]


def test_the_search_query_of_the_overview_is_one(api: Api) -> None:
    query = re.search(r"terms: `(printer .*?)`", PAGES["overview.md"])
    assert query is not None
    api.search("ticket", query[1]).ok()
    api.search("ticket", f"({query[1]}) OR !boat sort:-updated limit:25").ok()


@pytest.mark.parametrize("page", WRITTEN)
def test_links_lead_somewhere(page: str) -> None:
    assert broken_links(page) == []


def test_links_of_pages_made_from_the_code_lead_somewhere() -> None:
    made = PAGES.keys() - WRITTEN.keys()
    assert len(made) > 60 and [link for page in made for link in broken_links(page)] == []


def broken_links(page: str) -> list[str]:
    """The links of a page to missing files or headings."""
    wrong = []
    for target in re.findall(r"\]\(([^)]+)\)", FENCES.sub("", PAGES[page])):
        path, _, heading = target.partition("#")
        file = (ROOT if page == "README.md" else (HELP / page).parent) / path
        told = page if not path else name_of(file.resolve())
        if not (not path or file.exists()) or (heading and heading not in headings(PAGES.get(told, ""))):
            wrong.append(f"{page}: {target}")
    return wrong


def name_of(file: Path) -> str:
    """The name of a page in PAGES."""
    return file.relative_to(HELP if file.is_relative_to(HELP) else ROOT).as_posix()


@cache
def headings(text: str) -> set[str]:
    """The headings of a page as link targets."""
    return {slug(title) for title in re.findall(r"^#+ (.*)$", FENCES.sub("", text), re.MULTILINE)}


def test_readme_leads_to_every_help_page_and_the_executable_has_them() -> None:
    shipped = shipped_files()
    for name in PAGES.keys() - {"README.md"}:
        folder = name.rpartition("/")[0]
        leads = f"](resources/help/{name})" in README if not folder else f"]({name})" in PAGES[f"{folder}.md"]
        assert leads, name
        assert shipped[f"resources/help/{name}"].samefile(HELP / name)


def test_everything_that_has_a_name_is_named_on_a_page() -> None:
    """Settings, endpoints, commands, events, triggers and activity points, each as code on some page of the help."""
    named = re.compile(r"`([^`\n]+)`|^## ([A-Z]+ /.*)$", re.MULTILINE)
    words = {code or heading for text in PAGES.values() for code, heading in named.findall(text)}
    usages = " ".join(each for each in words if each.startswith("helpdesk "))
    described = description()["endpoints"]
    older = [each for each in ENDPOINTS if each.function.__module__.startswith(legacy.__name__)]
    of_one_type = {f"/rest/{each.path}.json" for each in older}
    known = {
        "setting": {each.name for each in SETTINGS},
        "endpoint": {f"{each['method']} {each['path']}" for each in described if each["path"] not in of_one_type},
        "other name of an endpoint": {alias for each in described for alias in each["aliases"]},
        "event": {*EVENTS, *(f"svc.trigger.{name}" for name in OTHERS)},
        "activity point": set(POINTS),
    }
    missing = {kind: names - words for kind, names in known.items()}
    assert {kind: names for kind, names in missing.items() if names} == {}
    assert [each.prog for each in parsers(parser()) if each.prog not in usages] == []


def test_numbers_in_the_text_of_the_overview_are_those_of_the_code() -> None:
    text = " ".join(PAGES["overview.md"].split())
    assert f"trigger each other stops after {MAX_DEPTH}," in text
    assert f"for {KEPT_DAYS} days; headers" in text
    assert DEFAULT_OVERLAP_SECONDS == 86400 and "keeps working for a day" in text


def test_numbers_in_the_text_of_the_help_are_those_of_the_code() -> None:
    """Statements of a page in words, next to the constants that they repeat."""
    told = {
        "oauth.md": (
            ("one minute and one use", codes.CODE_SECONDS == 60), ("within ten seconds", families.RETRY_SECONDS == 10),
            ("after a year the worker", families.MAX_FAMILY_SECONDS == 365 * DAY),
            ("lasts 30 days", BY_NAME["oauth_refresh_days"].default == 30),
            ("lasts an hour", BY_NAME["oauth_access_seconds"].default == 3600),
        ),
        "security.md": (
            ("At least 8 characters", passwords.MIN_CHARS == 8), ("64 MiB each", passwords.MEMORY_KIB == 64 * 1024),
            ("After 10 wrong", lockout.MAX_WRONG_OF_ACCOUNT == 10), ("or 50 from", lockout.MAX_WRONG_OF_ADDRESS == 50),
            ("10 attempts of its own", lockout.MAX_WRONG_OF_ACCOUNT == 10),
            ("after a year without", known_devices.KNOWN_SECONDS == 365 * 86400),
            ("once a day at most", lockout.TOLD_SECONDS == 86400),
            ("up to ten minutes", lockout.WINDOW_SECONDS == 600), ("Ten recovery codes", RECOVERY_CODES == 10),
            ("more than ten minutes ago", sessions.STEP_UP_SECONDS == 600),
            ("for half an hour and one use", password_links.LINK_SECONDS == 1800),
        ),
        "mail.md": (
            ("waits two minutes for each", due_mailboxes.WAIT_SECONDS == 120),
            ("half an hour at most", due_mailboxes.MAX_WAIT_SECONDS == 1800),
            ("second, fifth, tenth and twentieth", problems.TOLD_AT == (2, 5, 10, 20)),
        ),
        "operating.md": (
            ("valid for half an hour", setup.LINK_SECONDS == 1800),
            ("kept for 14 days", KEPT_DAYS == queues.KEPT_DAYS == 14),
        ),
    }  # fmt: skip
    for page, sentences in told.items():
        text = " ".join(PAGES[page].split())
        assert [words for words, is_so in sentences if words not in text or not is_so] == [], page


def test_the_paths_of_oauth_are_documented() -> None:
    for path in (oauth.AUTHORIZE, oauth.TOKEN, oauth.REVOKE, oauth.INTROSPECT, oauth.SERVER_METADATA):
        assert f"`{path}`" in PAGES["overview.md"], path


EXAMPLE = re.compile(r"^```kata (\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(kind, text, id=f"{page}-{kind}")
    for page, content in WRITTEN.items()
    for kind, text in EXAMPLE.findall(content)
]
CHECKS: dict[str, Callable[[str], object]] = {
    "script": checker.check,
    "run": checker.check,  # and run by test_help_scripts.py
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


def test_triggers_declare_whether_they_are_used() -> None:
    """A trigger that is reserved for a screen appears only in its declaration; every other trigger is used in code."""
    sources = "".join(text for path, text in SOURCES.items() if path.name != "triggers.py")
    for name, each in (EVENTS | OTHERS).items():
        used = re.search(rf"[\"'](?:svc\.trigger\.)?{re.escape(name)}[\"']", sources)
        assert each.when.endswith(".") and bool(used) is not each.is_screen, name
        assert each.is_screen or each.keys, name


def test_every_make_target_in_readme_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    text = README + (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in re.findall(r"^(?: {4})?make ([a-z]+)|`make ([a-z]+)", text, re.MULTILINE):
        assert f"\n{''.join(name)}:" in makefile, name


@cache
def paths_of_project() -> list[str]:
    """The files and folders of the project, folders with `/`, without environments, scratch space and git's files."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [each for each in folders if not each.startswith(".") or each == ".ci"]
        place = Path(folder).relative_to(ROOT)
        found += [f"{place / each}/" for each in folders] + [str(place / each) for each in files]
    return found


@pytest.mark.parametrize(
    ("document", "fewest"), [("ARCHITECTURE.md", 30), ("CONTRIBUTING.md", 15), ("tests/README.md", 10)]
)
def test_every_file_that_a_page_for_contributors_names_exists(document: str, fewest: int) -> None:
    named = set(re.findall(r"`([\w/]+\.py|[\w/]+/)`", (ROOT / document).read_text("utf-8")))
    assert len(named) >= fewest
    assert {name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in paths_of_project())} == set()
