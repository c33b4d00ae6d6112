"""Renders activity entries and notifications, `{message, variables, urls}`, as plain text and as safe HTML.

points.py has the sentences; server/records/activity.py writes entries."""

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from server.errors import NotFound
from server.record_types.parts import DictionaryContext
from server.record_types.shared import paths
from server.record_types.shared.points import FORMER, NAMED, OWN, PLACEHOLDER, POINTS, WITH
from server.translation import shown as spoken

MAX_MESSAGE_CHARS = 10_000  # characters shown; entries written by programs can be long
_REFERENCE, _ADDRESS = re.compile(r"\A\[#[^\]]+\] (?=.)"), re.compile(r"(?<=.) <[^<> ]+@[^<> ]+>\Z")
_RECORD = re.compile(r"ctx://([A-Za-z0-9_.]+):([0-9]{1,19})(?:/.*)?\Z", re.S)

PageOf = Callable[[str, int], str]  # (context, id) -> the absolute address of the record's page, or ""


def plain_text(params: Any) -> str:
    """The entry as text; a placeholder without a value is blank."""
    message, variables, _ = _parts(params)
    return PLACEHOLDER.sub(lambda match: _text(variables.get(match[1])), message)[:MAX_MESSAGE_CHARS].strip()


def one_line(params: Any) -> str:
    """The entry as text without line breaks, for labels."""
    return " ".join(plain_text(params).split())


def brief(params: Any) -> str:
    """The entry as one line, with the name of its actor and the subject of its ticket alone.

    >>> brief({"message": "{{actor}} wrote on {{target}}", "variables": {"actor": "Ana <a@b.example>",
    ...     "target": "[#ABC-1] Boat"}})
    'Ana wrote on Boat'
    """
    message, variables, urls = _parts(params)
    short = {name: _ADDRESS.sub("", _REFERENCE.sub("", _text(value))) for name, value in variables.items()}
    return one_line({"message": message, "variables": short, "urls": urls})


def on_ticket(point: str, params: Any) -> str:
    """The entry as one line on the page of its ticket; the sentence need not name the ticket."""
    message = _text(params.get("message")) if isinstance(params, Mapping) else ""
    for activity_point in filter(None, (POINTS.get(point), POINTS[NAMED])):
        if activity_point.on_ticket and _current(message, params) == activity_point.pattern:
            return one_line({**params, "message": activity_point.on_ticket})
    return one_line(params)


def variable(params: Any, name: str) -> str:
    """The value of a placeholder of the entry; "" if it has none."""
    return _text(_parts(params)[1].get(name))


def html(params: Any, page_of: PageOf) -> str:
    """The entry as HTML: everything escaped; a value whose url is http, https or ctx is a link.

    >>> html({"message": "{{actor}} left", "variables": {"actor": "<Ana>"}}, lambda context, id: "")
    '&lt;Ana&gt; left'
    """
    message, variables, urls = _parts(params)
    parts, position = [], 0
    for match in PLACEHOLDER.finditer(message):
        parts.append(escape(message[position : match.start()]))
        text = escape(_text(variables.get(match[1])))
        url = safe_url(_text(urls.get(match[1])), page_of)
        parts.append(f'<a href="{escape(url)}">{text}</a>' if url and text else text)
        position = match.end()
    return ("".join(parts) + escape(message[position:])).strip()


def first_url(params: Any, page_of: PageOf) -> str:
    """The address of an entry: the url of its message or target, otherwise of any placeholder except the actor; "" if
    none."""
    _, _, urls = _parts(params)
    names = ["message", "target", *(name for name in urls if name not in ("message", "target", "actor"))]
    return next((url for name in names if (url := safe_url(_text(urls.get(name)), page_of))), "")


def safe_url(url: str, page_of: PageOf) -> str:
    """The address of a url in an entry: http and https urls unchanged, the record's page for `ctx://<context>:<id>`, ""
    for all others."""
    text = url.strip()
    record = _RECORD.match(text)
    if record:
        return page_of(record[1], int(record[2]))
    is_web = text.lower().startswith(("http://", "https://"))
    return text if is_web and not any(char <= " " for char in text) else ""


def pages(view: DictionaryContext) -> PageOf:
    """Returns a function for the pages of records that one caller sees."""

    def page_of(context: str, id: int) -> str:
        try:
            record_type = view.type(context)
        except NotFound:
            return ""
        return view.address(paths.record(record_type.uri, id)) if record_type.has_url and id else ""

    return page_of


def _parts(params: Any) -> tuple[str, Mapping[str, Any], Mapping[str, Any]]:
    """Message in the reader's language, variables and urls of stored params; malformed parts are empty."""
    body = params if isinstance(params, Mapping) else {}
    variables, urls = body.get("variables"), body.get("urls")
    variables = variables if isinstance(variables, Mapping) else {}
    urls = urls if isinstance(urls, Mapping) else {}
    message = _current(_text(body.get("message")), body)
    variable_name, sentence = WITH.get(message, ("", ""))
    if variable_name in variables:
        message = sentence
    elif message in OWN and _is_own(variables, urls):
        message = OWN[message]
    if "way" in variables:
        variables = {**variables, "way": spoken(_text(variables["way"]))}
    if "goal" in variables:
        variables = {**variables, "goal": _goal(_text(variables["goal"]), message)}
    return spoken(message)[:MAX_MESSAGE_CHARS], variables, urls


def _current(message: str, params: Mapping[str, Any]) -> str:
    """The current wording of a stored sentence."""
    if "{{status}}" in message:
        variables = params.get("variables")
        status = _text(variables.get("status")) if isinstance(variables, Mapping) else ""
        stated = message.replace("{{status}}", status)
        return FORMER.get(stated, stated) if stated.startswith("{{actor}} set ticket {{target}} to ") else message
    return FORMER.get(message, message)


def _is_own(variables: Mapping[str, Any], urls: Mapping[str, Any]) -> bool:
    """Whether the actor of an entry is the worker it is about."""
    names = urls if "worker" in urls else variables
    return bool(names.get("actor")) and names.get("actor") == names.get("worker")


def _goal(goal: str, message: str) -> str:
    """The goal of a service target, capitalized at the start of its sentence."""
    words = spoken(goal)
    return words[:1].upper() + words[1:] if message.startswith("{{goal}}") else words


def _text(value: Any) -> str:
    if value is None or isinstance(value, (Mapping, list)):
        return ""
    return value if isinstance(value, str) else str(value)
