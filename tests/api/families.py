"""Permissions on records of every type, written out by hand and not read from the service.

The people: nora administers; max manages Support and milo is its member; olga is in no group; tina has no
privileges; dora is disabled; reader is nora with a read-only token. Management is a private group without members
among them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.api.minimal import MINIMAL, made
from tests.service import Api

Fields = Callable[[Api], dict[str, Any]]
EVERYBODY, PRIVILEGED = "nora max milo olga tina reader", "nora max milo olga"

# family: who may read, create, change and delete. dora may do nothing, and reader may only read.
FAMILIES: dict[str, tuple[str, str, str, str]] = {
    "everybody's": (EVERYBODY, PRIVILEGED, PRIVILEGED, PRIVILEGED),
    "deleted by administrators": (EVERYBODY, PRIVILEGED, PRIVILEGED, "nora"),
    "made by many": (EVERYBODY, PRIVILEGED, "nora", "nora"),
    "made by administrators": (EVERYBODY, "nora", "nora", "nora"),
    "secret": ("nora reader", "nora", "nora", "nora"),
    "comes with the service": (EVERYBODY, "", "nora", ""),
    "comes with packages": (EVERYBODY, "", "nora", "nora"),
    "written by the service": ("nora reader", "", "", ""),
    "of Support": (EVERYBODY, "nora max", "nora max", "nora max"),
    "of Management": ("nora reader", "nora", "nora", "nora"),
    "of milo": ("nora milo reader", "nora milo", "nora milo", "nora milo"),
    "made for milo": (EVERYBODY, "nora milo", PRIVILEGED, PRIVILEGED),
    "milo's, for all to see": (EVERYBODY, "nora milo", "nora milo", "nora milo"),
    "a template of milo": ("nora milo reader", "nora", "nora", "nora milo"),
    "a template of Support": (EVERYBODY, "nora", "nora", "nora max"),
    "a group with a manager": (EVERYBODY, "nora", "nora", "nora max"),
    "a ticket of Support": (EVERYBODY, PRIVILEGED, "nora max milo", "nora max milo"),
    "on a ticket of Support": (EVERYBODY, "nora max milo", "nora max milo", "nora max milo"),
    "a file on nothing": ("nora reader", PRIVILEGED, "nora", "nora"),
    "a file that all may see": (EVERYBODY, PRIVILEGED, "nora", "nora"),
    "a bot of Support": (EVERYBODY, "nora", "nora", "nora"),
    "a bot of milo": ("nora milo reader", "nora", "nora", "nora"),
}


@dataclass(frozen=True)
class Row:
    """A record type, the fields of a record, and the family that determines its permissions."""

    family: str
    uri: str
    fields: Fields

    def __str__(self) -> str:
        return f"{self.uri}, {self.family}"


PLAIN = {
    "everybody's": "call contact kb_article kb_category opportunity org project_board project_board_column task "
    "timetracking_activity matrix_open",
    "deleted by administrators": "address",
    "made by many": "currency queue resource",
    "made by administrators": "activity_log automation automation_timer brand contact_form custom_field group metric "
    "role service_target tag ticket_status worker",
    "secret": "automation_resource connected_service custom_record mail_transport mailbox oauth_app outgoing_webhook "
    "webhook_listener",
    "comes with the service": "automation_event toolbar",
    "comes with packages": "package",
    "written by the service": "automation_log",
    "of Support": "bucket",
    "a ticket of Support": "ticket",
    "on a ticket of Support": "message",
    "a file on nothing": "attachment",
}
OWNERS: dict[str, Fields] = {
    "made by administrators": lambda api: {"owner__context": "app", "owner_id": 0},
    "of Support": lambda api: {"owner__context": "group", "owner_id": api.ids["support"]},
    "of Management": lambda api: {"owner__context": "group", "owner_id": api.ids["private"]},
    "of milo": lambda api: {"owner__context": "worker", "owner_id": api.ids["milo"]},
}
OWNED = (
    "asset calendar connected_account custom_fieldset email_signature file_bundle saved_search snippet workspace_page "
    "matrix_owned"
)
BOT_FAMILIES = {"of Support": "a bot of Support", "of milo": "a bot of milo"}
TEMPLATE_FAMILIES = {"of Support": "a template of Support", "of milo": "a template of milo"}
# type: the field that names the record it belongs to, and that record's type; it has that one's owner.
CHILDREN = {
    "behavior": ("bot_id", "bot"),
    "calendar_event": ("calendar_id", "calendar"),
    "calendar_event_recurring": ("calendar_id", "calendar"),
    "workspace_tab": ("page_id", "workspace_page"),
    "workspace_list": ("tab_id", "workspace_tab"),
    "workspace_widget": ("tab_id", "workspace_tab"),
}


def minimal(uri: str) -> Fields:
    """Returns the required fields of a record; for the types of tests/api/minimal.py and those that these tests
    create."""
    return MINIMAL.get(uri, lambda api: {"name": "Parcel"})


def owned(uri: str, owner: Fields) -> Fields:
    return lambda api: minimal(uri)(api) | owner(api)


def belonging(uri: str, owner: Fields) -> Fields:
    """Returns the fields of a child of a new record with this owner."""
    field, parent = CHILDREN[uri]
    above = belonging(parent, owner) if parent in CHILDREN else owned(parent, owner)
    return lambda api: MINIMAL[uri](api) | {field: made(api, parent, **above(api))}


def hidden_ticket(api: Api) -> int:
    return made(api, "ticket", group_id=api.ids["private"])


def of_milo(uri: str) -> Fields:
    return lambda api: MINIMAL[uri](api) | {"worker_id": api.ids["milo"]}


def about(uri: str, ticket: Callable[[Api], int]) -> Fields:
    return lambda api: MINIMAL[uri](api) | {"target__context": "ticket", "target_id": ticket(api)}


def milos_comment(api: Api) -> dict[str, Any]:
    return MINIMAL["comment"](api) | {"author__context": "worker", "author_id": api.ids["milo"]}


def milos_field(api: Api) -> dict[str, Any]:
    fieldset = made(api, "custom_fieldset", owner__context="worker", owner_id=api.ids["milo"])
    return MINIMAL["custom_field"](api) | {"custom_fieldset_id": fieldset}


def with_manager(api: Api) -> dict[str, Any]:
    return MINIMAL["group"](api) | {"members": {"manager": str(api.ids["max"])}}


ROWS = [
    *(Row(family, uri, minimal(uri)) for family, uris in PLAIN.items() for uri in uris.split()),
    *(Row(family, uri, owned(uri, owner)) for uri in OWNED.split() for family, owner in OWNERS.items()
      if (uri, family) != ("email_signature", "of milo")),  # signatures of workers are a field of the worker
    *(Row(BOT_FAMILIES.get(family, family), "bot", owned("bot", owner)) for family, owner in OWNERS.items()),
    *(Row(TEMPLATE_FAMILIES.get(family, family), "html_template", owned("html_template", owner))
      for family, owner in OWNERS.items()),
    *(Row(family, uri, belonging(uri, owner)) for uri in CHILDREN for family, owner in OWNERS.items()),
    *(Row("of milo", uri, of_milo(uri)) for uri in ("draft", "notification")),
    Row("everybody's", "asset", MINIMAL["asset"]),
    Row("made for milo", "time_entry", of_milo("time_entry")),
    Row("milo's, for all to see", "reminder", of_milo("reminder")),
    Row("milo's, for all to see", "comment", milos_comment),
    Row("milo's, for all to see", "custom_field", milos_field),
    Row("a group with a manager", "group", with_manager),
    Row("made by administrators", "bucket", lambda api: {"name": "Refunds", "group_id": api.ids["private"]}),
    Row("of Management", "ticket", lambda api: {"subject": "Pump", "group_id": api.ids["private"]}),
    Row("of Management", "message", lambda api: MINIMAL["message"](api) | {"ticket_id": hidden_ticket(api)}),
    Row("of Management", "comment", about("comment", hidden_ticket)),
    Row("of Management", "activity_log", about("activity_log", hidden_ticket)),
    Row("of Management", "attachment", lambda api: {"name": "a.txt", "attach": [f"ticket:{hidden_ticket(api)}"]}),
    Row("a file that all may see", "attachment", lambda api: {
        "name": "a.txt", "attach": [f"asset:{made(api, 'asset')}"]}),
]  # fmt: skip
