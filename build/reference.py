"""Writes the reference tables of README.md from the code: commands, settings, endpoints, limits.

Run by `make reference`; with --check it writes nothing and ends with code 1 when a table is not what the code says. A
table stands between `<!-- NAME -->` and `<!-- end -->`. What a limit means to a user is told here (LIMITS), its number
comes from the code. Not for the descriptions of record types: `helpdesk describe --json` has those.
"""

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT))

from server import app  # noqa: E402, found by the line above
from server.__main__ import parser  # noqa: E402
from server.settings import help_rows  # noqa: E402
from server.web.routes import ENDPOINTS  # noqa: E402

# (where its number is, what it bounds, what it counts)
LIMITS: tuple[tuple[str, str, str], ...] = (
    ("web.server.MAX_TARGET_CHARS", "address of a request, with its query", "characters"),
    ("web.server.MAX_HEAD_CHARS", "header fields of a request, together", "characters"),
    ("web.forms.MAX_FIELDS", "fields of a request", ""),
    ("web.forms.MAX_NAME_CHARS", "name of a field", "characters"),
    ("web.forms.MAX_BRACKETS", "brackets in the name of a field, as in `a[b][c]`", ""),
    ("web.multipart.MAX_PARTS", "parts of a multipart body", ""),
    ("web.multipart.MAX_PART_HEAD_BYTES", "head of such a part", "bytes"),
    ("web.params.MAX_JSON_PARAMETER_BYTES", "parameter whose text is JSON", "bytes"),
    ("web.json_text.MAX_JSON_DEPTH", "objects and lists inside each other in JSON", ""),
    ("web.params.MAX_ID", "id of a record", ""),
    ("web.rest.records.MAX_SUBTOTALS", "`subtotals[]` of a search", ""),
    ("desk.subtotals.MAX_VALUES", "values of one subtotal, those with most hits", ""),
    ("search.parser.MAX_QUERY_CHARS", "search query", "characters"),
    ("search.parser.MAX_TERMS", "terms of a search query", ""),
    ("search.parser.MAX_DEPTH", "brackets inside brackets in a search query", ""),
    ("search.filters.base.MAX_ITEMS", "items of a list in a search query", ""),
    ("search.controls.MAX_LIMIT", "`limit:` inside a search query", "records"),
    ("search.controls.MAX_PAGE", "`page:` inside a search query", ""),
    ("store.fulltext.MAX_INDEXED_CHARS", "beginning of a text that a search for words sees", "characters"),
    ("times.limits.MAX_TEXT", "time in words", "characters"),
    ("fields.text.DEFAULT_MAX", "text field, unless `describe` says otherwise", "characters"),
    ("fields.structure.MAX_DEPTH", "maps and lists inside each other in a field", ""),
    ("fields.structure.MAX_REFERENCES", "ids in a field of ids", ""),
    ("fields.structure.MAX_IMAGE_BYTES", "image of a record", "bytes"),
    ("records.group.MAX_MEMBERS", "members in one change of a group", ""),
    ("records.role.MAX_PRIVILEGES", "privileges of a role", ""),
    ("records.shared.scopes.MAX_CHARS", "scopes of an OAuth app, as text", "characters"),
    ("records.shared.scopes.MAX_SCOPES", "scopes of an OAuth app", ""),
    ("records.shared.scopes.MAX_ENDPOINTS", "endpoints of a scope", ""),
    ("records.tickets.participants.MAX_PARTICIPANTS", "participants of a ticket in one change", ""),
    ("records.tickets.expands.MAX_MESSAGES", "messages that `expand=_messages` shows, the newest", ""),
    ("records.shared.forms.MOST", "ids of each record in lists of linked records", ""),
    ("records.attachment.MAX_SHOWN", "records that a file is shown to hang on", ""),
    ("records.shared.mentions.MAX_MENTIONS", "workers told that a text mentions them", ""),
    ("passwords.MAX_CHARS", "password", "characters"),
    ("desk.tickets.merge.MAX_MERGED", "tickets merged at once", ""),
    ("desk.tickets.reply.MAX_QUOTED", "message quoted in a reply", "characters"),
    ("desk.tickets.letter.MAX_INLINE", "images shown inside one outgoing mail", ""),
    ("mail.transports.smtp.MAX_TIMEOUT_SECONDS", "`timeout` of a mail transport", "seconds"),
    ("mail.mailbox_files.MESSAGE_BYTES", "mail in a file that is imported", "bytes"),
    ("mail.headers.FIELDS", "header fields kept of a mail", ""),
    ("mail.headers.FIELD_BYTES", "header field kept of a mail", "bytes"),
    ("mail.addresses.ADDRESSES", "addresses read from one header field", ""),
    ("mail.bounce.RECEIVED", "passages of a mail from host to host; more are a loop", ""),
    ("outbound.urls.MAX_URL_CHARS", "address that a request of the service goes to", "characters"),
    ("outbound.client.MAX_HEADERS", "headers of such a request", ""),
    ("outbound.client.MAX_HEADER_BYTES", "headers of such a request, together", "characters"),
    ("outbound.client.MAX_SECONDS", "time that such a request may ask for", "seconds"),
    ("outbound.client.MAX_REDIRECTS", "redirects that such a request follows", ""),
    ("outbound.connection.MAX_CONNECT_SECONDS", "time to connect to one address of another program", "seconds"),
    ("outbound.connection.MAX_HEAD_BYTES", "headers of another program's answer", "bytes"),
    ("automation.commands.http.MAX_HEADERS_CHARS", "`headers` of `http.request`", "characters"),
    ("automation.commands.http.MAX_BODY_CHARS", "`body` of `http.request`", "characters, and bytes as sent"),
    ("automation.commands.http.MAX_BODY_IN_DICTIONARY", "answer to `http.request` that is no automation resource",
     "bytes"),
    ("markup.markdown.MAX_MARKDOWN_CHARACTERS", "Markdown of a mail", "characters"),
    ("markup.clean.MAX_HTML_BYTES", "HTML that is shown; the text is shown instead of more", "bytes"),
    ("markup.text.MAX_TEXT_SOURCE", "HTML that a text is made from", "characters"),
    ("records.shared.behavior_tree.MAX_NODES", "nodes of a bot's behavior", ""),
    ("records.shared.behavior_tree.MAX_DEPTH", "nodes of a behavior inside each other", ""),
    ("records.shared.behavior_tree.MAX_ACTIONS", "actions of one node of a behavior", ""),
    ("records.shared.behavior_tree.MAX_VARIABLES", "variables of a behavior", ""),
    ("records.shared.behavior_tree.MAX_KEY_CHARS", "name of a variable of a behavior", "characters"),
    ("automation.behaviors.variables.MAX_RECORDS", "records in a list that a behavior is given, or finds", ""),
    ("automation.behaviors.run.MAX_STEPS", "nodes, actions, conditions and rounds of loops of a behavior's run", ""),
    ("automation.behaviors.run.MAX_NESTED", "nodes inside each other as a behavior runs, subroutines among them", ""),
    ("automation.behaviors.run.MAX_SECONDS", "one run of a behavior", "seconds"),
    ("automation.behaviors.action.MAX_KEY_CHARS", "name of a placeholder that a behavior sets", "characters"),
    ("automation.behaviors.actions.keys.MAX_KEY_CHARS", "name under which a bot keeps a value", "characters"),
    ("automation.behaviors.scheduled.MAX_WAITING", "runs of one behavior that wait for their time", ""),
    ("automation.behaviors.scheduled.MAX_VALUES_CHARS", "variables of a run that waits, as JSON", "characters"),
)


def main() -> None:
    """Write README.md, or with --check only compare."""
    options = argparse.ArgumentParser(description="Write the reference tables of README.md.")
    options.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a table is stale")
    is_check = options.parse_args().check
    before = README.read_text("utf-8")
    after = rendered(before)
    if before == after:
        return
    if is_check:
        raise SystemExit("README.md does not say what the code does; run: make reference")
    README.write_text(after, "utf-8")
    print("README.md: tables written anew")


def rendered(text: str) -> str:
    """`text` with every table made from the code. Raises SystemExit when a table has no place in it."""
    for name, lines in TABLES.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(text):
            raise SystemExit(f"README.md has no place for the {name}: <!-- {name} --> ... <!-- end -->")
        table = "".join(f"{line}\n" for line in lines())
        text = place.sub(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", text)
    return text


def commands() -> Iterator[str]:
    """One row a command, with its flags."""
    yield from _head("Command", "What it does")
    for usage, told in _commands(parser()):
        yield _row(f"`{usage}`", told)


def settings() -> Iterator[str]:
    """One row a setting."""
    yield from _head("Setting", "Default", "Unit", "Meaning")
    for row in help_rows():
        yield _row(f"`{row['name']}`", f"`{row['default']}`" if row["default"] else "", row["unit"], row["help"])


def endpoints() -> Iterator[str]:
    """One row an endpoint, with its parameters; required ones are bold."""
    app.endpoints()
    yield from _head("Endpoint", "What it does", "Parameters")
    for each in sorted(ENDPOINTS, key=lambda each: (each.path, each.method)):
        parameters = (f"**`{one.name}`**" if one.required else f"`{one.name}`" for one in each.parameters)
        yield _row(f"`{each.method} /rest/{each.path}.json`", each.note, ", ".join(parameters))


def limits() -> Iterator[str]:
    """One row a limit."""
    yield from _head("At most", "Of")
    for place, meaning, unit in LIMITS:
        module, _, name = f"server.{place}".rpartition(".")
        number = getattr(importlib.import_module(module), name)
        yield _row(f"{number:,}{' ' + unit if unit else ''}", meaning)


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "commands": commands,
    "settings": settings,
    "endpoints": endpoints,
    "limits": limits,
}


def _commands(found: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """(usage, help) of every command below a parser."""
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                inner = list(_commands(below))
                yield from inner or [(_usage(below), told[name])]


def _usage(command: argparse.ArgumentParser) -> str:
    """As argparse writes it, but the same in every version of Python."""
    return " ".join([command.prog, *(_argument(each) for each in command._actions if each.dest != "help")])


def _argument(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return f"{value}..." if action.nargs == "+" else value
    shown = action.option_strings[-1] + ("" if action.nargs == 0 else f" {value}")
    return shown if action.required else f"[{shown}]"


def _head(*titles: str) -> Iterator[str]:
    yield _row(*titles)
    yield "|" + "---|" * len(titles)


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
