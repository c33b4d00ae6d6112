"""Webhooks: secret addresses that other programs call, and the automations that respond. Requests are handled
elsewhere."""

from server.automation import bound_automations
from server.fields import Bit, Name, Text, Uint, UpdatedAt
from server.record_types.record_type import Access, Change, Key, RecordType, Subtotals, Writing
from server.record_types.shared.secrets import random_text
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index

GUID_CHARS = 40  # 206 random bits
GUID_LEAST_CHARS = 16
KEPT_DAYS, KEPT_LAST = 14, 100  # default retention: days, and number of last deliveries
MAX_KEPT_DAYS, MAX_KEPT_LAST = 365, 10_000  # days; deliveries


class WebhookListener(RecordType):
    """An unguessable address whose requests go to an automation. Only administrators can see it."""

    uri = "webhook_listener"
    plugin = "svc.webhooks"
    aliases = ("webhook", "webhooks", "webhook listener", "webhook listeners")
    label_names = ("Webhook", "Webhooks")
    lookup = "guid"
    checked = {"automations_kata": "event"}
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "automations_kata": Text(
            "The automation that responds, as KATA: blocks `automation/<name>:` with `uri` and `disabled@bool`.",
            16777216,
            filter=None,
        ),
        "guid": Text(
            "The secret part of {base_url}/webhooks/<guid>: letters, digits, dashes and underscores; "
            f"{GUID_CHARS} random letters and digits when omitted. Blank leaves it unchanged.",
            GUID_CHARS,
            min=GUID_LEAST_CHARS,
            pattern="[A-Za-z0-9_-]*",
            unique=True,
            auto="generated",
            blank_ok=True,
            exact=True,
            filter_note="The secret part of the address.",
        ),
        "is_disabled": Bit("Callers get 404 while this is 1.", origin="ours", filter=None),
        "kept_days": Uint("Days to keep a delivery.", max=MAX_KEPT_DAYS, default=KEPT_DAYS, origin="ours", filter=None),
        "kept_last": Uint(
            "Number of recent deliveries to keep, however old; the last failures are always kept.",
            max=MAX_KEPT_LAST,
            default=KEPT_LAST,
            origin="ours",
            filter=None,
        ),
        "name": Name(),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("guid",), "the webhook that a request is for", unique=True),)
    keys = (
        Key(
            "url",
            "url",
            "The secret address that requests are sent to.",
            lambda record, shown: shown.webhook_url(record["guid"]),
        ),
    )
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def prepare(self, change: Change, writing: Writing) -> None:
        bound_automations.require_runnable(change, writing, bound_automations.WEBHOOK)
        if not change.value("guid"):
            change.new["guid"] = change.was("guid") or random_text(GUID_CHARS)
