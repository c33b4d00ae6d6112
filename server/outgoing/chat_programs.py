"""The chat programs that webhooks can write to: addresses, messages, requests and responses of each.

A message mentions nobody and has no link but the one to its ticket: texts of people go into elements that programs show
as they are (Slack, Teams, ntfy), or are escaped (chat_text.py)."""

import html
import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from server.dataclass import dataclass
from server.errors import Invalid
from server.outbound.allowlist import Allowlist, is_public
from server.outbound.client import retry_after
from server.outbound.urls import HttpUrl, parsed
from server.outgoing import chat_text
from server.outgoing.chat_notice import ChatNotice
from server.translation import N_, Words, _

GENERIC = "generic"
MAX_NTFY_BYTES = 4096  # ntfy turns a longer message into a file
MAX_DISCORD_TITLE = 256  # characters of the title of an embed
_URGENT_COLOR, _COLOR = 0xC0392B, 0x2D6CDF
ANYWHERE: tuple[str, ...] = ()
GONE = frozenset((401, 403, 404, 410))  # statuses after which the address or the token has to be replaced
_GONE_WORDS = ("no_service", "no_team", "no_active_hooks", "channel_is_archived", "channel_not_found", "invalid_token")
_HIDDEN = "/…"  # in place of the path of a secret address

Rendered = dict[str, Any]


@dataclass(frozen=True)
class ChatVerdict:
    """The meaning of a response. error: blank for success. is_gone: whether no further message can arrive. wait:
    seconds until the next request, 0 if the program did not say."""

    error: str = ""
    is_gone: bool = False
    wait: int = 0


@dataclass(frozen=True)
class ChatProgram:
    """A chat program.

    hosts: those of its addresses, ANYWHERE for programs on servers of their users; one that begins with a dot stands
    for the names below it. path: of its addresses, with the query. example: an address, for the hint and for errors.
    render: the body of a message, from the notice and the address. is_secret: whether the address is a secret. token:
    whether requests need an access token, `required`, `optional` or blank."""

    name: str
    label: str
    hosts: tuple[str, ...]
    path: re.Pattern[str]
    example: str
    steps: Words
    render: Callable[[ChatNotice, HttpUrl], Rendered]
    is_secret: bool = True
    token: str = ""

    def require_address(self, text: str, permitted: Allowlist) -> HttpUrl:
        """Returns the parsed address. Raises Invalid for one of another form. permitted: hosts that the setting
        `outbound_allow` names may stand in for the program, as a gateway does."""
        try:
            url = parsed(text)
        except Invalid as error:
            raise Invalid(f"url: {error.message}", field="url") from error
        is_allowed = permitted.lets(url.host, url.host) and not is_public(url.host)
        if "webhook.office.com" in url.host and self.name == "teams":
            raise Invalid(
                "url: connectors of Office 365 are retired; create a workflow with the trigger 'When a Teams webhook "
                "request is received' and paste its address",
                field="url",
            )
        is_host = not self.hosts or is_allowed or any(_is_host(url.host, each) for each in self.hosts)
        if not is_host or not self.path.fullmatch(url.target):
            raise Invalid(f"url: not an address of {self.label}, such as {self.example}", field="url")
        if self.hosts and url.scheme != "https" and not is_allowed:
            raise Invalid(f"url: {self.label} needs https, as in {self.example}", field="url")
        return url

    def shown_address(self, text: str) -> str:
        """The address without its secret part."""
        if not self.is_secret:
            return text
        url = parsed(text)
        return f"{url.scheme}://{url.authority}{_HIDDEN}"

    def request_target(self, address: str, message_id: str) -> tuple[str, str]:
        """Returns method and address of a request. message_id: the same for each attempt."""
        url = parsed(address)
        origin = f"{url.scheme}://{url.authority}"
        if self.name == "matrix":
            return "PUT", f"{origin}{_matrix_room(url)}/send/m.room.message/{quote(message_id, safe='')}"
        return "POST", f"{origin}/" if self.name == "ntfy" else address

    def verdict(self, status: int, headers: Mapping[str, str], body: str, place: str) -> ChatVerdict:
        """Reads a response. place: the host, for messages."""
        answer = _json_of(body)
        if 200 <= status < 300:
            is_refused = self.name == "rocketchat" and answer.get("success") is False
            return ChatVerdict(f"{place}: {_reason(answer, body)}") if is_refused else ChatVerdict()
        reason = _reason(answer, body)
        error = f"{place} responded with {status}" + (f": {reason}" if reason else "")
        if status == 429:
            return ChatVerdict(error, wait=_wait(headers, answer))
        is_hook_gone = self.name == "mattermost" and status == 400 and "webhook" in str(answer.get("id", ""))
        is_gone = status in GONE or is_hook_gone or (status == 400 and reason in _GONE_WORDS)
        return ChatVerdict(error, is_gone, _wait(headers, answer))


def _is_host(host: str, pattern: str) -> bool:
    return host.endswith(pattern) if pattern.startswith(".") else host == pattern


def _json_of(body: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        value = json.loads(body)
        if isinstance(value, dict):
            return value
    return {}


def _reason(answer: Mapping[str, Any], body: str) -> str:
    """The reason in a response: its code and its sentence, or its text if that is short."""
    error = answer.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error.get("code")
    parts = [answer.get("errcode"), error, answer.get("message")]
    words = ": ".join(dict.fromkeys(str(each) for each in parts if each))
    if not words and not answer and body.lstrip()[:1] not in ("<", "{", "["):
        words = body
    return chat_text.clean(words, 200)


def _wait(headers: Mapping[str, str], answer: Mapping[str, Any]) -> int:
    """The seconds that a response asks to wait: Discord's `retry_after` in seconds, Matrix's `retry_after_ms`, or the
    header Retry-After."""
    for name, unit in (("retry_after", 1), ("retry_after_ms", 1000)):
        value = answer.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
            return math.ceil(value / unit)
    return retry_after(headers) or 0


# -- messages ----------------------------------------------------------------------------------------------------------


def _slack(notice: ChatNotice, url: HttpUrl) -> Rendered:
    """Rich text, whose texts Slack shows as they are; `text` is what notifications show."""
    lines: list[Rendered] = [
        {"type": "text", "text": notice.headline, "style": {"bold": True}},
        {"type": "text", "text": "\n"},
        {"type": "link", "url": notice.url, "text": notice.title},
    ]
    for label, value in notice.facts:
        lines.append({"type": "text", "text": f"\n{label}: {value}"})
    elements: list[Rendered] = [{"type": "rich_text_section", "elements": lines}]
    if notice.text:
        elements.append({"type": "rich_text_quote", "elements": [{"type": "text", "text": notice.text}]})
    return {
        "text": chat_text.slack(f"{notice.headline}: {notice.title}"),
        "blocks": [{"type": "rich_text", "elements": elements}],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _teams(notice: ChatNotice, url: HttpUrl) -> Rendered:
    """An adaptive card of version 1.4. Text runs have no Markdown, unlike text blocks and fact sets."""

    def block(text: str, **style: Any) -> Rendered:
        return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}

    color = "attention" if notice.is_urgent else "default"
    body = [
        block(notice.headline, weight="bolder", color=color),
        block(notice.title),
        *(block(f"{label}: {value}", isSubtle=True) for label, value in notice.facts),
    ]
    if notice.text:
        body.append(block(notice.text, italic=True))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": chat_text.inert(f"{notice.headline}: {notice.title}"),
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": _("Open"), "url": notice.url}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _discord(notice: ChatNotice, url: HttpUrl) -> Rendered:
    escape = chat_text.discord
    lines = [f"{escape(label)}: {escape(value)}" for label, value in notice.facts]
    if notice.text:
        lines.append(f"> {escape(notice.text)}")
    embed = {
        "title": chat_text.fitted(notice.title, escape, MAX_DISCORD_TITLE),
        "url": notice.url,
        "color": _URGENT_COLOR if notice.is_urgent else _COLOR,
    }
    if lines:
        embed["description"] = "\n".join(lines)
    return {"content": f"**{escape(notice.headline)}**", "embeds": [embed], "allowed_mentions": {"parse": []}}


def _mattermost(notice: ChatNotice, url: HttpUrl) -> Rendered:
    escape = chat_text.mattermost
    lines = [f"**{escape(notice.headline)}**", f"[{escape(notice.title)}]({notice.url})"]
    lines += [f"{escape(label)}: {escape(value)}" for label, value in notice.facts]
    if notice.text:
        lines.append(f"\n> {escape(notice.text)}")
    return {"text": "  \n".join(lines)}


def _rocketchat(notice: ChatNotice, url: HttpUrl) -> Rendered:
    escape = chat_text.rocketchat
    lines = [f"{escape(label)}: {escape(value)}" for label, value in notice.facts]
    if notice.text:
        lines.append(f"> {escape(notice.text)}")
    attachment = {
        "title": chat_text.inert(notice.title),
        "title_link": notice.url,
        "text": "\n".join(lines),
        "color": f"#{_URGENT_COLOR if notice.is_urgent else _COLOR:06X}",
    }
    return {"text": f"*{escape(notice.headline)}*", "parseUrls": False, "attachments": [attachment]}


def _matrix(notice: ChatNotice, url: HttpUrl) -> Rendered:
    """A message of the room. With `m.mentions`, even if empty, clients notify nobody because of words in the text."""
    plain, escape = chat_text.inert, chat_text.as_html
    lines = [plain(notice.headline), f"{plain(notice.title)} {notice.url}"]
    rows = [f"<strong>{escape(notice.headline)}</strong>"]
    rows.append(f'<a href="{html.escape(notice.url)}">{escape(notice.title)}</a>')
    for label, value in notice.facts:
        lines.append(plain(f"{label}: {value}"))
        rows.append(escape(f"{label}: {value}"))
    if notice.text:
        lines.append(f"> {plain(notice.text)}")
    quotation = f"<blockquote>{escape(notice.text)}</blockquote>" if notice.text else ""
    return {
        "msgtype": "m.text",
        "body": "\n".join(lines),
        "format": "org.matrix.custom.html",
        "formatted_body": "<br>".join(rows) + quotation,
        "m.mentions": {},
    }


def _ntfy(notice: ChatNotice, url: HttpUrl) -> Rendered:
    """Plain text; `click` opens the ticket."""
    lines = [notice.title, *(f"{label}: {value}" for label, value in notice.facts), notice.text]
    message = chat_text.inert("\n".join(each for each in lines if each))
    while len(message.encode()) > MAX_NTFY_BYTES:
        message = f"{message[: len(message) * 9 // 10]}…"
    rendered = {
        "topic": unquote(url.path.strip("/")),
        "title": chat_text.inert(notice.headline),
        "message": message,
        "click": notice.url,
    }
    return rendered | ({"priority": 4, "tags": ["warning"]} if notice.is_urgent else {})


def _matrix_room(url: HttpUrl) -> str:
    """The path of the room, without the part for sending."""
    return url.path.partition("/send/")[0].rstrip("/")


def matrix_address(server: str, room: str) -> str:
    """The address of a room. server: of the home server. room: its id. Raises Invalid."""
    room = room.strip()
    if not re.fullmatch(r"![^\s/?#]{1,254}", room):
        raise Invalid(
            "room: an id such as !abcdef:example.org, from the settings of the room under Advanced; not a name that "
            "begins with #",
            field="room",
        )
    base = server.strip().partition("/_matrix/")[0].rstrip("/")
    return f"{base}/_matrix/client/v3/rooms/{quote(room, safe='!:')}/send/m.room.message"


PROGRAMS = {
    each.name: each
    for each in (
        ChatProgram(
            "slack",
            "Slack",
            ("hooks.slack.com", "hooks.slack-gov.com"),
            re.compile(r"/services/[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]+/?"),
            "https://hooks.slack.com/services/T…/B…/…",
            N_("In Slack, create an app, switch on its incoming webhooks, add one to a channel, and copy its address."),
            _slack,
        ),
        ChatProgram(
            "teams",
            "Microsoft Teams",
            (".logic.azure.com", ".logic.azure.us", ".api.powerplatform.com", ".api.powerplatform.us"),
            re.compile(r"/[^?]*workflows/[^?]+\?(?:[^#]*&)?sig=[^#]+"),
            "https://….powerplatform.com/…/workflows/…/triggers/manual/paths/invoke?…&sig=…",
            N_(
                "In Teams, open the menu of the channel, choose Workflows and the template for posts when a webhook "
                "request is received, and copy the address."
            ),
            _teams,
        ),
        ChatProgram(
            "discord",
            "Discord",
            ("discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"),
            re.compile(r"/api/(?:v[0-9]+/)?webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{20,}(?:\?thread_id=[0-9]+)?"),
            "https://discord.com/api/webhooks/…/…",
            N_("In Discord, open Edit channel, Integrations, Webhooks; create a webhook and copy its address."),
            _discord,
        ),
        ChatProgram(
            "mattermost",
            "Mattermost",
            ANYWHERE,
            re.compile(r"(?:/[^?]+)?/hooks/[a-z0-9]{20,40}"),
            "https://chat.example.com/hooks/…",
            N_("In Mattermost, open Integrations, Incoming webhooks; add one for a channel and copy its address."),
            _mattermost,
        ),
        ChatProgram(
            "rocketchat",
            "Rocket.Chat",
            ANYWHERE,
            re.compile(r"(?:/[^?]+)?/hooks/[A-Za-z0-9]{10,40}/[A-Za-z0-9_-]{20,100}"),
            "https://chat.example.com/hooks/…/…",
            N_(
                "In Rocket.Chat, open Workspace, Integrations; add an incoming webhook, enable it and copy its address."
            ),
            _rocketchat,
        ),
        ChatProgram(
            "matrix",
            "Matrix",
            ANYWHERE,
            re.compile(r"(?:/[^?]+)?/_matrix/client/v3/rooms/(?:!|%21)[^/?#]+(?:/send/m\.room\.message)?/?"),
            "https://matrix.example.org/_matrix/client/v3/rooms/!…/send/m.room.message",
            N_(
                "Create an account for the service, invite it into the room and accept. Paste the address of the home "
                "server, the id of the room, and the access token of that account."
            ),
            _matrix,
            is_secret=False,
            token="required",
        ),
        ChatProgram(
            "ntfy",
            "ntfy",
            ANYWHERE,
            re.compile(r"/[A-Za-z0-9_-]{1,64}"),
            "https://ntfy.sh/…",
            N_("Choose a topic that nobody can guess, subscribe to it on your phone, and paste its address."),
            _ntfy,
            token="optional",
        ),
    )
}


def program_of(name: str) -> ChatProgram | None:
    """The chat program of a webhook; None for the generic request."""
    return PROGRAMS.get(name)
