"""Values for each kind of field: a valid one with its shown form, and invalid ones."""

import base64
import struct
import zlib
from typing import Any

from server.fields import Field, Listed
from server.record_types.record_type import RecordType
from tests.api.minimal import made, number
from tests.service import Api

KITE = "Kite \N{KITE} & Söhne"


def png(width: int, height: int) -> bytes:
    """Returns a white picture of this size."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + b"\xff" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def data_uri(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()


# (type, field): the value to send and the value shown; a function is called with the client.
FITTING: dict[tuple[str, str], Any] = {
    ("activity_log", "activity_point"): ("custom.other", "custom.other"),
    ("activity_log", "actor_id"): ("0", 0),
    ("activity_log", "target_id"): lambda api: twice(made(api, "org")),
    ("activity_log", "actor__context"): ("app", None),
    ("activity_log", "target__context"): ("org", None),
    ("address", "email"): lambda api: both(f"Post{number()}@Kite.Example", str.lower),
    ("attachment", "attach"): lambda api: ([f"asset:{made(api, 'asset')}"], None),
    ("automation", "policy_kata"): ("commands:", "commands:"),
    ("automation", "script"): ("start:", "start:"),
    ("automation_event", "automations_kata"): ("automation/a:", "automation/a:"),
    ("automation_event", "extension_id"): lambda api: same(api, "automation_event", "extension_id"),
    ("automation_event", "name"): lambda api: same(api, "automation_event", "name"),
    ("automation_timer", "automations_kata"): ("automation/a:", "automation/a:"),
    ("automation_timer", "recurring_patterns"): ("@daily", "@daily"),
    ("brand", "accent"): ("#0055AA", "#0055AA"),
    ("brand", "footer_links"): ("Imprint  https://kite.example/imprint\n", "Imprint  https://kite.example/imprint"),
    ("brand", "group_ids"): lambda api: (lambda id: ([str(id)], [id]))(made(api, "group")),
    ("brand", "host"): ("Help.Kite.example.", "help.kite.example"),
    ("contact_form", "bucket_id"): ("0", 0),
    ("contact_form", "form_fields"): ("[]", []),
    ("contact_form", "frame_origins"): ("https://Kite.example/\n", "https://kite.example"),
    ("contact_form", "language"): ("pt_BR", "pt-BR"),
    ("contact_form", "slug"): ("sales-team", "sales-team"),
    ("brand", "languages"): ("en, pt_BR, en", "en, pt-BR"),
    ("bucket", "is_default"): ("0", 0),
    ("bucket", "reply_address_id"): ("0", 0),
    ("calendar", "params"): ({"color_busy": "#A0D95B"}, None),
    ("calendar_event", "date_end"): ("2030-05-15 10:00", 1905069600),
    ("calendar_event_recurring", "event_end"): ("17:00", "17:00"),
    ("calendar_event_recurring", "event_start"): ("9am", "9am"),
    ("calendar_event_recurring", "patterns"): ("1st, 15th\nlast day of", "1st, 15th\nlast day of"),
    ("calendar_event_recurring", "recur_end"): ("2030-05-15 10:00", 1905069600),
    ("comment", "author__context"): ("worker", None),
    ("comment", "author_id"): lambda api: twice(api.ids["milo"]),
    ("comment", "target__context"): ("org", None),
    ("comment", "target_id"): lambda api: twice(made(api, "org")),
    ("contact", "tags"): ("kite", None),
    ("contact", "email"): lambda api: (f"c{number()}@kite.example", None),
    ("contact", "email_id"): lambda api: twice(made(api, "address")),
    ("custom_field", "custom_fieldset_id"): lambda api: twice(made(api, "custom_fieldset")),
    ("currency", "is_default"): ("0", 0),
    ("mailbox", "protocol"): ("imap-ssl", "imap-ssl"),
    ("org", "tags"): ("kite", None),
    ("custom_field", "type"): ("S", "S"),
    ("custom_record", "params"): ({"options": ["comments"]}, None),
    ("draft", "type"): ("mail.compose", "mail.compose"),
    ("group", "ack_enabled"): {"ack_enabled": "1", "ack_text": "We have {{mask}}."},
    ("group", "ack_hours"): ("always", "always"),
    ("group", "is_default"): ("0", 0),
    ("group", "quoted_history"): ("last", "last"),
    ("group", "members"): lambda api: ({"member": str(api.ids["milo"])}, None),
    ("group", "list_headers"): ("list-id: <a.b>", "List-Id: <a.b>"),
    ("group", "rating_texts"): (
        '[{"language": "pt_BR", "text": "Tudo bem?"}]',
        [{"language": "pt-BR", "subject": "", "text": "Tudo bem?"}],
    ),
    ("group", "reply_address_id"): lambda api: twice(
        made(api, "address", mail_transport_id=made(api, "mail_transport"))
    ),
    ("kb_article", "categories"): lambda api: (f"{made(api, 'kb_category')}, {made(api, 'kb_category')}", None),
    ("kb_article", "content"): ("# Kite", None),
    ("kb_article", "format"): ("markdown", 2),
    ("kb_article", "language"): ("nb_NO", "nb-NO"),
    ("kb_article", "slug"): ("Kite pump!", "kite-pump"),
    ("kb_category", "language"): ("nb_NO", "nb-NO"),
    ("kb_category", "name"): (KITE, KITE),
    ("kb_category", "slug"): ("Kite pump!", "kite-pump"),
    ("mailbox", "host"): lambda api: {"host": "127.0.0.2", "password": "Kite"},
    ("mailbox", "is_enabled"): ("no", 0),
    ("metric", "dimensions_kata"): ("text/place:", "text/place:"),
    ("mailbox", "port"): lambda api: {"port": "1143", "password": "Kite"},
    ("mailbox", "username"): lambda api: {"username": "ana", "password": "Kite"},
    ("mail_transport", "extension_id"): ("core.mail.transport.null", "core.mail.transport.null"),
    ("message", "hash_header_message_id"): ("0123abc", None),
    ("message", "headers"): ("Subject: Kite", None),
    ("message", "ticket_mask"): lambda api: (api.record("ticket", made(api, "ticket"))["mask"], None),
    ("message", "sender"): lambda api: (f"s{number()}@kite.example", None),
    ("message", "worker"): ("Milo Test", None),
    ("notification", "target__context"): ("org", None),
    ("notification", "target_id"): lambda api: {"target__context": "org", "target_id": made(api, "org")},
    ("oauth_app", "service_worker_id"): lambda api: {"is_public": 0, "service_worker_id": api.ids["milo"]},
    ("oauth_app", "scopes"): ('"api": {label: All, endpoints: ["*"]}', '"api": {label: All, endpoints: ["*"]}'),
    ("project_board", "cards_kata"): ("automation/a:", "automation/a:"),
    ("project_board", "columns"): ("", ""),
    ("project_board_column", "cards_kata"): ("automation/a:", "automation/a:"),
    ("project_board_column", "functions_kata"): ("automation/a:", "automation/a:"),
    ("project_board_column", "toolbar_kata"): ("interaction/a:", "interaction/a:"),
    ("resource", "automation_kata"): ("automation/a:", "automation/a:"),
    ("role", "privs"): (["contexts.svc.contexts.task.update"], None),
    ("saved_search", "query"): ("status:open", "status:open"),
    ("snippet", "prompts_kata"): ("text/prompt_name:", "text/prompt_name:"),
    ("snippet", "context"): ("task", "svc.contexts.task"),
    ("ticket", "bucket"): lambda api: {"group": "Support", "bucket": "Inbox"},
    ("ticket", "group"): ("support", None),
    ("ticket", "mask"): lambda api: both(f"KIT-{number():05}-ABC", str),
    ("ticket", "participants"): ("ana@kite.example, ole@kite.example", None),
    ("ticket", "participant_ids"): lambda api: (f"{made(api, 'address')},{made(api, 'address')}", None),
    ("ticket", "owner_id"): lambda api: twice(api.ids["milo"]),
    ("ticket", "status_name"): lambda api: (api.record("ticket_status", made(api, "ticket_status"))["name"], None),
    ("ticket_status", "status"): ("waiting", "waiting"),
    ("toolbar", "created_at"): lambda api: twice(api.record("toolbar", made(api, "toolbar"))["created_at"]),
    ("toolbar", "extension_id"): lambda api: same(api, "toolbar", "extension_id"),
    ("toolbar", "name"): lambda api: same(api, "toolbar", "name"),
    ("toolbar", "toolbar_kata"): ("interaction/a:", "interaction/a:"),
    ("outgoing_webhook", "address"): ("", None),  # a generic webhook has none
    ("outgoing_webhook", "program"): ("generic", "generic"),
    ("outgoing_webhook", "events"): ("currency.created, currency.deleted", "currency.created, currency.deleted"),
    ("outgoing_webhook", "headers"): ("X-Desk: 1", None),
    ("outgoing_webhook", "query"): ("name:krone", "name:krone"),
    ("outgoing_webhook", "secret"): ("whsec_" + "QUJD" * 10, None),
    ("outgoing_webhook", "url"): ("https://kite.example/hooks?a=1", "https://kite.example/hooks?a=1"),
    ("webhook_listener", "automations_kata"): ("automation/a:", "automation/a:"),
    ("worker", "away_until"): ("2030-05-15 10:00", 1905069600),
    ("worker", "email"): lambda api: (f"w{number()}@desk.example", None),
    ("worker", "email_id"): lambda api: twice(made(api, "address")),
    ("worker", "email_ids"): lambda api: ([made(api, "address")], None),
    ("worker", "password"): ("correct horse", None),
    ("worker", "timeout_idle_secs"): ("90", 90),
    ("workspace_list", "columns"): (["name"], ["name"]),
    ("workspace_list", "render_sort"): ({"name": "1"}, None),
    ("workspace_list", "view"): ({"title": "Kite"}, None),
}
# Record types without records, so that only 0 is valid.
ABSENT = {"gpg_private_key"}


def twice(id: int) -> tuple[int, int]:
    return id, id


def both(sent: str, change: Any) -> tuple[str, str]:
    return sent, change(sent)


def same(api: Api, uri: str, name: str) -> tuple[str, str]:
    """Returns the field of a record that the service created, as both sent and expected value."""
    held = api.record(uri, made(api, uri)).ok()[name]
    return held, held


def fitting(record_type: RecordType, field: Field, api: Api) -> tuple[dict[str, Any], Any]:
    """Returns the fields to send and the expected value of this field; None if it is shown elsewhere."""
    known = FITTING.get((record_type.uri, field.name))
    found = known(api) if callable(known) else known
    if isinstance(found, dict):
        return found, None
    sent, shown = found if found is not None else by_kind(field, api)
    return {field.name: sent}, shown


def by_kind(field: Field, api: Api) -> tuple[Any, Any]:
    kind, limits = field.type, field.describe()
    if kind == "text":
        return _text(limits)
    if kind == "id":
        target = limits["target"]
        return ("0", 0) if target in ABSENT | {"*"} else twice(made(api, target))
    return {
        "url": ("https://kite.example/a?b=1", "https://kite.example/a?b=1"),
        "bit": ("yes", 1),
        "uint": ("1", 1),
        "number": ("1", 1),
        "float": ("0.25", 0.25),
        "timestamp": ("2024-05-15 10:00", 1715767200),
        "time": ("2024-05-15 10:00", 1715767200),
        "context": ("app", None) if field.name == "owner__context" else ("call", "svc.contexts.call"),
        "image": (data_uri(png(60, 50)), None),
        "links": ([f"org:{made(api, 'org')}"], None),
        "fieldsets": ("", None),
        "object": ({"message": "Kite"}, {"message": "Kite"}),
    }[kind]  # type: ignore[return-value]


def _text(limits: dict[str, Any]) -> tuple[str, str]:
    if "allowed" in limits:
        return limits["allowed"][-1], limits["allowed"][-1]
    if "pattern" in limits:  # letters and digits match every pattern
        value = f"kite{number():0{max(limits.get('min_length', 0) - 4, 1)}}"
        return value, value
    plain = {"language": "nb_NO", "timezone": "Asia/Tokyo", "date": "1980-12-31", "email": "x@kite.example"}
    value = plain.get(limits.get("format", ""), KITE[: limits["max_length"]])
    return value, value


def wrong(field: Field) -> list[Any]:
    """Returns invalid values, each of which must be refused with the field's name."""
    limits = field.describe()
    listed: list[Any] = {
        "text": ["x" * (limits.get("max_length", 0) + 1)] if limits.get("max_length", 10**9) < 70_000 else [],
        "url": ["ftp://kite.example/", "kite.example", "https://", "http://a b/", "https://k.example/" + "x" * 300],
        "id": ["999999999", "abc", "-1", "1.5", "\u0661", "9" * 25, "svc:nosuch:1"],
        "bit": ["maybe", "2", ""],
        "uint": ["-1", "abc", "1.5", "9" * 20, "", "\u0661"],
        "number": ["abc", "1.5", "9" * 30, ""],
        "float": ["much", "nan", "inf", "1_0"],
        "timestamp": ["soonish", "2024-13-45", "9" * 30],
        "time": ["soonish", "9" * 30],
        "context": ["nosuch"],
        "image": ["abc", "data:image/png;base64,AAAA", "data:image/png;base64,!!", data_uri(png(49, 50)),
                  data_uri(png(50, 501)), "data:image/gif;base64,R0lG"],
        "links": ["org:1", ["nosuch:1"], ["org:999999999"], ["org"], ["org:x"], ["org:1:2"]],
        "id_list": ["abc", ["999999999"], ["x"]],
        "object": ["{", "1", "plain"],
        "fieldsets": ["x", "999999999"],
        "by custom field": [],
    }[field.type]  # fmt: skip
    if field.type == "id" and not limits.get("zero_ok"):
        listed = [*listed, "0"]
    if field.type in ("text", "bit", "uint", "number", "id", "timestamp", "url"):
        listed = [*listed, {"a": "map"} if isinstance(field, Listed) else ["a", "list"]]
    if "allowed" in limits:
        listed = [*listed, "zzz"]
    if limits.get("format") in ("language", "timezone", "date", "email"):
        listed = [*listed, "no such thing"]
    return listed
