"""Declares outgoing webhooks: the receivers and their subscriptions. courier.py sends."""

from typing import Any

from server.errors import BadQuery, Invalid
from server.fields import Bit, CreatedAt, Id, Name, Text, Timestamp, UpdatedAt
from server.outbound.allowlist import allowed
from server.outgoing import chat_events, chat_programs, deliveries, event_names, message, webhook_signing
from server.outgoing.chat_programs import GENERIC, PROGRAMS, ChatProgram
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.records import changes
from server.search.query_parser import parse
from server.store.tables import Column

OVERLAP_SECONDS = 86_400  # during which the previous secret signs too
MAX_URL_CHARS, MAX_HEADER_CHARS, MAX_BODY_CHARS, MAX_QUERY_CHARS = 2048, 16_384, 65_536, 2048
CHANNEL = "outgoing webhooks"


def _load_state(context: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads the delivery state of each receiver."""
    states = deliveries.states_of(context.tx, [each["id"] for each in records])
    return {id: {"failing_since": each.failing_since, "last_error": each.error} for id, each in states.items()}


class OutgoingWebhook(RecordType):
    """A program that receives changes as requests to its address. Only administrators see it."""

    uri = "outgoing_webhook"
    aliases = ("outgoing_webhooks", "outgoing webhook", "outgoing webhooks")
    label_names = ("Outgoing webhook", "Outgoing webhooks")
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "address": Text(
            "The whole address of a chat program, if it is a secret: `url` then shows only its host. Sending it as "
            "`url` has the same effect. Never returned.",
            MAX_URL_CHARS,
            shown=False,
            filter=None,
            exact=True,
        ),
        "assignee_id": Id(
            "For chat programs: only assignments to this worker; 0 for assignments to any.",
            "worker",
            zero_ok=True,
            nested_note="The worker whose assignments are sent.",
        ),
        "body": Text(
            "Template of the body, with `event`, `record` and `timestamp`; blank for JSON with `type`, `timestamp` and "
            "`data`.",
            MAX_BODY_CHARS,
            filter=None,
        ),
        "created_at": CreatedAt(),
        "events": Text(
            "Events to send, separated by commas or line breaks: `ticket.created`, `message.*`, `*.deleted` or `*`. "
            "Chat programs have their own events.",
            4096,
            required=True,
        ),
        "expanded": Text("Keys of the record to expand, as `expand` in the records API.", 2048, filter=None),
        "has_text": Bit("1: messages to a chat program include the beginning of the customer's words."),
        "headers": Text(
            "Additional headers, one `Name: value` per line, such as a token of the receiver. Never returned.",
            MAX_HEADER_CHARS,
            shown=False,
            filter=None,
        ),
        "is_disabled": Bit("1: nothing is sent. Changes in the meantime are not sent later."),
        "language": Text("Language of messages to a chat program, such as `de`; English if blank.", form="language"),
        "name": Name(),
        "overlap_until": Timestamp(
            "Until when the previous secret also signs; a day after a change when omitted. `now` ends it.",
            filter=None,
        ),
        "program": Text(
            f"The receiver: {', '.join(PROGRAMS)}, or generic for the signed request. It cannot be changed.",
            16,
            allowed=(GENERIC, *PROGRAMS),
            default=GENERIC,
            match="exact",
        ),
        "query": Text(
            "A search that the record must match, for webhooks of one record type; deletions are always sent. For chat "
            "programs, a search that the ticket must match.",
            MAX_QUERY_CHARS,
            filter=None,
        ),
        "secret": Text(
            "Secret that signs its requests: `whsec_` and base64. A new one when omitted, or when "
            "blank on a change. Returned only once, in the response that creates it.",
            webhook_signing.MOST_BYTES * 2,
            shown=False,
            auto="generated",
            filter=None,
        ),
        "updated_at": UpdatedAt(),
        "url": Text("Where requests are sent: an https or http address.", MAX_URL_CHARS, required=True, exact=True),
    }
    columns = (Column("previous_secret", "TEXT"),)
    expands = (
        Expand("failing_since", "timestamp", "When the receiver started to fail; 0 while it works.", _load_state),
        Expand(
            "last_error",
            "text",
            "Why the last attempt failed, or why it was switched off; otherwise blank.",
            _load_state,
        ),
    )
    events = (Event("outgoing_webhook.switched_off", "it was switched off because its receiver fails or is gone"),)
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def prepare(self, change: Change, writing: Writing) -> None:
        new = change.new
        if not change.is_create and change.changes("program"):
            raise Invalid("program: cannot be changed; create another webhook", field="program")
        program = chat_programs.program_of(change.value("program"))
        if program is not None:
            _prepare_chat(change, writing, program)
            return
        if new.get("address"):
            raise Invalid("address: goes with chat programs only; send url", field="address")
        if "url" in new or "headers" in new:
            message.require_sendable(change.value("url"), change.value("headers"))
        if "events" in new or "query" in new:
            patterns = event_names.require_known(change.value("events"), told_types(writing.registry))
            _require_one_type(change.value("query"), patterns)
        if "body" in new:
            message.require_template(new["body"])
        self._secret(change, writing.now)

    def _secret(self, change: Change, now: int) -> None:
        new, present = change.new, change.was("secret") or ""
        if "secret" not in new and present:
            if 0 < change.value("overlap_until") <= now:
                new["previous_secret"] = ""
            return
        if new.get("secret"):
            webhook_signing.key_of(new["secret"])
        else:
            new["secret"] = webhook_signing.new_secret()
            change.extras["shown_once"] = {"secret": new["secret"]}
        if present and present != new["secret"]:
            new["previous_secret"] = present
            new.setdefault("overlap_until", now + OVERLAP_SECONDS)
        if 0 < change.value("overlap_until") <= now:
            new["previous_secret"] = ""

    def after_write(self, change: Change, writing: Writing) -> None:
        """Subscribes a new or enabled webhook to changes from now on, and applies its present settings."""
        if change.is_create or (change.changes("is_disabled") and not change.value("is_disabled")):
            entry = chat_events.newest_entry(writing.registry, writing.tx)
            deliveries.begin(writing.tx, change.id, changes.now(writing.tx), entry)
        writing.ctx.service.notify_after(writing.tx, CHANNEL)

    def after_delete(self, record: Record, writing: Writing) -> None:
        deliveries.forget(writing.tx, record["id"])
        writing.ctx.service.notify_after(writing.tx, CHANNEL)


def told_types(registry: Any) -> list[str]:
    """Lists the record types whose changes are published, except outgoing webhooks themselves."""
    return [each.uri for each in registry if changes.is_logged(each) and each.uri != OutgoingWebhook.uri]


def _require_one_type(query: str, patterns: list[str]) -> None:
    """Raises Invalid for a search over events of several record types."""
    if not query.strip():
        return
    types = event_names.types_of(patterns)
    if len(types) > 1 or event_names.ANY in types:
        raise Invalid(
            "query: goes with events of one record type, such as ticket.created and ticket.updated", field="query"
        )
    _require_query(query)


def _require_query(query: str) -> None:
    """Raises Invalid for a search that cannot be read."""
    if not query.strip():
        return
    try:
        parse(f"({query})")
    except BadQuery as error:
        raise Invalid(f"query: {error.message}", field="query") from error


# -- chat programs -----------------------------------------------------------------------------------------------------


def _prepare_chat(change: Change, writing: Writing, program: ChatProgram) -> None:
    """Checks a webhook of a chat program, and stores its address apart if that is a secret. Raises Invalid."""
    new = change.new
    _store_address(change, writing, program)
    if "headers" in new or change.is_create:
        headers = message.headers_of(change.value("headers"))
        if program.token == "required" and not headers.get("authorization", "").startswith("Bearer "):
            raise Invalid(
                f"headers: {program.label} needs an access token; send Authorization: Bearer and the token",
                field="headers",
            )
    if "url" in new or "headers" in new:
        message.require_sendable(change.value("address") or change.value("url"), change.value("headers"))
    if "events" in new:
        chat_events.require_known(new["events"])
    if "query" in new:
        _require_query(new["query"])
    for name in ("body", "expanded", "secret"):
        if new.get(name):
            raise Invalid(
                f"{name}: goes with generic webhooks only; messages are written for {program.label}", field=name
            )
    new.pop("secret", None)


def _store_address(change: Change, writing: Writing, program: ChatProgram) -> None:
    new, stored = change.new, str(change.was("address") or "")
    if not program.is_secret and new.get("address"):
        raise Invalid(f"address: the address of {program.label} is no secret; send it as url", field="address")
    if "url" not in new and not new.get("address"):
        new.pop("address", None)
        return
    address = str(new.pop("address", "") or "")
    url = str(new.get("url", ""))
    if stored and not address and url == change.was("url"):
        new.pop("url")  # the form sends back the part that it shows
        return
    whole = address or url
    program.require_address(whole, allowed(writing.ctx.service.settings.outbound_allow))
    new["url"] = program.shown_address(whole)
    if program.is_secret:
        new["address"] = whole
