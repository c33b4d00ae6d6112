"""The triggers of automations: when they run, the keys of their dictionary, and the meaning of their return values.

Data only; help pages are generated from it."""

from collections.abc import Mapping
from dataclasses import field
from operator import itemgetter

from server.dataclass import dataclass
from server.translation import N_, shown

PREFIX = "svc.trigger."
MACRO = f"{PREFIX}ticket.macro"
# Triggers whose automations have the rights of whoever starts them.
AS_CALLER = (
    MACRO,
    f"{PREFIX}interaction.worker",
    f"{PREFIX}projectBoard.cardAction",
    f"{PREFIX}projectBoard.renderCard",
    f"{PREFIX}ui.widget",
)
RULE = f"{PREFIX}ticket.event"
WEBHOOK = f"{PREFIX}webhook.respond"
EVERY, UNTIL, FIRST = "all", "in order, until one returns", "the first"
NAMED = "the named one"
RECORDS_MERGED = ("record_type", "records", "source_ids", "target_id", "worker_")
MAIL = (
    "email_sender_",
    "email_sender_email",
    "email_subject",
    "email_headers",
    "email_body",
    "email_body_html",
    "email_recipients",
)
ON_CARD = ("board_", "card_", "column_", "worker_", "inputs")
LOGIN = ("worker_", "client_ip", "client_browser_name", "client_browser_platform", "client_browser_version")


@dataclass(frozen=True)
class Trigger:
    """A trigger of automations. label: its name in forms and lists. when: the event. keys: keys of the dictionary; one
    that ends in `_` stands for all keys of a record. answer: {return value: effect}. runs: which of several bound
    automations run. is_screen: whether it belongs to a screen that this version does not have, so that it never
    runs."""

    label: str
    when: str
    keys: tuple[str, ...] = ()
    answer: Mapping[str, str] = field(default_factory=dict)
    runs: str = FIRST
    is_screen: bool = False


# Events of the service. Records of the type automation_event with these names bind automations.
EVENTS: dict[str, Trigger] = {
    "mail.draft": Trigger(
        N_("When somebody starts an email"),
        "An email is started, or a draft of one is reopened.",
        ("draft_", "is_resumed"),
        {"draft: params": "changes of the draft"},
        EVERY,
        is_screen=True,
    ),
    "mail.draft.validate": Trigger(
        N_("Before a new email is sent"),
        "A new email is about to be sent or queued; it can be refused.",
        ("draft_", "caller_name", "caller_params", "worker_"),
        {"reject": "true refuses it", "message": "the reason, for the author"},
        EVERY,
    ),
    "mail.filter": Trigger(
        N_("Before an email is accepted"),
        "An email arrived and is not filed yet; it can be changed or refused.",
        (*MAIL, "parent_ticket_"),
        {
            "reject": "true refuses the email",
            "set": "email_subject, email_body, email_body_html, headers (a map; blank takes one away), "
            "email_sender_org_id, custom_fields (of its ticket and message)",
        },
        EVERY,
    ),
    "mail.moved": Trigger(
        N_("When a ticket is moved"),
        "A ticket was moved to another group or bucket.",
        ("ticket_", "was_group_", "was_bucket_", "actor_"),
        runs=EVERY,
    ),
    "mail.received": Trigger(
        N_("When an email arrives"),
        "A message arrived and is now on its ticket.",
        ("is_new_ticket", "message_"),
        runs=EVERY,
    ),
    "mail.reply.validate": Trigger(
        N_("Before a reply is sent"),
        "A reply is about to be written; it can be refused.",
        ("draft_", "caller_name", "caller_params", "worker_"),
        {"reject": "true refuses it", "message": "the reason, for the author"},
        EVERY,
    ),
    "mail.route": Trigger(
        N_("When a new ticket is assigned to a group"),
        "An email that starts a ticket is assigned to a group and a bucket.",
        MAIL,
        {
            "bucket_id": "where it goes",
            "group_id": "to the inbox of a group",
            "group_name": "the same, by its name",
            "bucket_name": "a bucket of that group",
        },
        UNTIL,
    ),
    "mail.send": Trigger(
        N_("Before an email leaves"),
        "An email is about to be sent; it can be changed.",
        ("draft_",),
        {
            "draft: params": "to, cc, bcc, subject, content, format, group_id, bucket_id, owner_id, status, status_id, "
            "status_name, ticket_reopen, file_ids, html_template_id, custom_fields",
            "draft: content": "append, prepend, replace: each a map with text; replace takes with and regex too",
        },
        EVERY,
    ),
    "mail.sent": Trigger(N_("When an email was sent"), "An email was sent.", ("message_",), runs=EVERY),
    "record.changed": Trigger(
        N_("When a record changes"),
        "A record was created, changed or deleted.",
        ("change_type", "is_new", "record__type", "record_", "was_record_", "actor__type", "actor_"),
        runs=EVERY,
    ),
    "record.merge": Trigger(
        N_("Before records are merged"),
        "Records are about to be merged; it can be refused.",
        RECORDS_MERGED,
        {"deny": "the reason, as a text"},
        UNTIL,
    ),
    "record.merged": Trigger(N_("When records were merged"), "Records were merged.", RECORDS_MERGED, runs=EVERY),
    "record.viewed": Trigger(
        N_("When somebody opens a record"),
        "Somebody opened the page of a record.",
        ("record_", "worker_"),
        runs=EVERY,
        is_screen=True,
    ),
    "reminder.remind": Trigger(N_("When a reminder is due"), "A reminder is due.", ("reminder_",), runs=EVERY),
    "ticket.event": Trigger(
        N_("When something happens on a ticket (rule)"),
        "Something happened on a ticket that rules wait for.",
        ("ticket_", "events", "changed_fields"),
        {"stop": "true ends the rules for the ticket", "skipped": "when or if: the rule did nothing, and why"},
        EVERY,
    ),
    "ticket.rated": Trigger(
        N_("When a customer rates a ticket"),
        "A customer rated a closed ticket, or changed the rating.",
        ("ticket_", "rating_", "is_changed"),
        runs=EVERY,
    ),
    "ticket.target": Trigger(
        N_("When a service target is missed"),
        "A service target of a ticket is about to be missed, or was missed.",
        ("ticket_", "goal", "due_at", "is_missed"),
        runs=EVERY,
    ),
    "worker.authenticate.failed": Trigger(
        N_("When somebody fails to sign in"), "Somebody failed to sign in.", LOGIN, runs=EVERY
    ),
    "worker.authenticated": Trigger(
        N_("When a worker signs in"),
        "A worker is about to be signed in; it can be refused.",
        LOGIN,
        {"deny": "the reason, as a text"},
        EVERY,
    ),
}

OTHERS: dict[str, Trigger] = {
    "automation.function": Trigger(
        N_("When another automation calls it"),
        "The command `function` of another automation.",
        ("inputs",),
        {"...": "any map: the output of the command"},
        NAMED,
    ),
    "automation.timer": Trigger(
        N_("When a timer is due"),
        "A timer is due.",
        ("timer_", "inputs"),
        {"until": "with `await`: when the run is resumed", "delete": "true removes the timer"},
    ),
    "behavior.action": Trigger(
        N_("When a behavior calls it"),
        "The action `core.bot.action.automation` of a behavior.",
        ("...", "inputs"),
        {"...": "any map: the result of the action"},
    ),
    "data.query": Trigger(
        N_("When a data query calls it"),
        "A data query of the type `automation.invoke`.",
        ("inputs", "query_format"),
        {"data": "the result; without it, everything that is returned", "_": "additional data"},
        NAMED,
    ),
    "interaction.internal": Trigger(
        N_("When somebody opens a menu of the program"), "A menu of the program itself.", is_screen=True
    ),
    "interaction.website": Trigger(
        N_("When a visitor opens a menu on a website"), "A menu on a website.", is_screen=True
    ),
    "interaction.worker": Trigger(
        N_("When a worker starts it on a page"),
        "A worker starts it from a widget of a workspace page, or above a column of a project board. It acts with the "
        "rights of that worker.",
        ("caller_name", "caller_params", "inputs", "widget_", "board_", "column_", "worker_", "..."),
        {
            "alert": "a sentence that is shown",
            "snippet": "a text that is shown, to copy",
            "clipboard": "likewise",
            "open_link": "a web address, or a path of the console, that is offered as a link",
            "open_url": "likewise",
            "...": "any other value is shown in a table",
            "await: form": "`title` and `elements` of a form; the entered values are keys of the dictionary afterwards",
            "await: interaction": "`uri`, `inputs` and `output` of another one, with whose result the first goes on",
        },
        NAMED,
    ),
    "interaction.worker.explore": Trigger(
        N_("When a worker goes through a list"), "A worker goes through a list.", is_screen=True
    ),
    "map.clicked": Trigger(N_("When somebody clicks on a map"), "A place on a map is clicked.", is_screen=True),
    "projectBoard.cardAction": Trigger(
        N_("When a card comes to a column of a board"),
        "A card was added to a column of a project board, or moved to it. It acts with the rights of whoever did that.",
        ON_CARD,
        runs=EVERY,
    ),
    "projectBoard.renderCard": Trigger(
        N_("When a card of a board is shown"),
        "A card of a project board is shown. It acts with the rights of whoever reads the board, and only reads.",
        ON_CARD,
        {
            "sheet": "`columns` of the card, as in sheets, and `layout` with `title_column` and `headings`; values are "
            "keys of the record and of the dictionary, or of the first row of `data`"
        },
        UNTIL,
    ),
    "resource.get": Trigger(
        N_("When a resource is requested"),
        "A resource whose content an automation creates is requested and no longer fresh.",
        ("resource_", "actor_"),
        {"file: content": "the bytes", "file: expires_at": "until when they are fresh"},
    ),
    "scripting.function": Trigger(
        N_("When a template calls it"),
        "The template function `svc_automation`.",
        ("inputs",),
        {"...": "any map: the return value of the function"},
        NAMED,
    ),
    "ticket.macro": Trigger(
        N_("When a worker runs it on a ticket (macro)"),
        "A worker runs it on a ticket, as a macro. It acts with the rights of that worker.",
        ("ticket_", "worker_", "inputs"),
        {
            "reply": "Markdown for the reply form, to be reviewed and sent",
            "note": "Markdown for a note, likewise",
            "changes": "fields of the ticket, as in the records API; `owner_id: me` is the worker who runs it",
            "send": "true sends the reply and adds the note at once",
        },
        NAMED,
    ),
    "ui.chart.data": Trigger(N_("When a chart is shown"), "A chart is shown.", is_screen=True),
    "ui.sheet.data": Trigger(N_("When a table is shown"), "A table is shown.", is_screen=True),
    "ui.widget": Trigger(
        N_("When a widget is shown"),
        "A widget of a workspace page is shown. It acts with the rights of whoever reads the page, and only reads.",
        ("widget_", "worker_", "inputs"),
        {"html": "HTML that the widget shows, without scripts, forms and remote images"},
    ),
    "webhook.respond": Trigger(
        N_("When a webhook receives a request"),
        "A webhook received a request.",
        (
            "request_method",
            "request_path",
            "request_headers",
            "request_params",
            "request_form",
            "request_files",
            "request_body",
            "request_client_ip",
            "webhook_",
            "inputs",
        ),
        {
            "status_code": "200 when blank",
            "headers": "a map",
            "body": "a text; a map or list is sent as JSON; `svc:resource:<id>` and `svc:automation_resource:<token>` "
            "send that file",
        },
    ),
}
_ALL = EVENTS | OTHERS
TRIGGERS = tuple(PREFIX + name for name in sorted(_ALL))


def find_trigger(extension_id: str) -> Trigger | None:
    """Returns the trigger with this id, with or without the prefix; None for an unknown one."""
    return _ALL.get(extension_id.removeprefix(PREFIX))


def trigger_label(extension_id: str) -> str:
    """The label of a trigger in the worker's language; its name if it is unknown."""
    trigger = find_trigger(extension_id)
    return shown(trigger.label) if trigger is not None else extension_id.removeprefix(PREFIX)


def trigger_options() -> list[tuple[str, str]]:
    """The triggers to choose from, with their labels, in the order of these."""
    options = [(name, f"{trigger_label(name)} ({name.removeprefix(PREFIX)})") for name in TRIGGERS]
    return sorted(options, key=itemgetter(1))


@dataclass(frozen=True)
class TriggerKey:
    """A key of the dictionary. kinds: types of its value. note: its meaning. example: JSON, "" for a record."""

    kinds: tuple[type, ...]
    note: str
    example: str = ""


RECORD: tuple[type, ...] = ()  # a key that ends in `_`: `<key>_context`, `<key>id` and the keys of the record
MAP: tuple[type, ...] = (dict, list)  # an empty map is a list
KEYS: dict[str, TriggerKey] = {
    "...": TriggerKey((), "The variables of the behavior, or what was entered in a form, each under its name."),
    "actor_": TriggerKey(RECORD, "The actor: a worker or the service."),
    "actor__type": TriggerKey((str,), "Short name of the type of the actor.", '"worker"'),
    "board_": TriggerKey(RECORD, "The project board."),
    "caller_name": TriggerKey(
        (str,),
        "The form of an email; `workspace.widget` on a page, `project_board.column` on a board.",
        '"svc.compose"',
    ),
    "caller_params": TriggerKey(
        MAP, "Additional data: `widget_id` on a page, `board_id` and `column_id` on a board, otherwise empty.", "[]"
    ),
    "card_": TriggerKey(RECORD, "The record of the card."),
    "change_type": TriggerKey((str,), "created, updated or deleted.", '"updated"'),
    "changed_fields": TriggerKey(
        (list,), "What changed: status, owner, place, importance, tags, subject, org, custom.", '["status"]'
    ),
    "client_browser_name": TriggerKey((str,), "The browser, as it identifies itself.", '"Firefox"'),
    "client_browser_platform": TriggerKey((str,), "Its platform.", '"Linux"'),
    "client_browser_version": TriggerKey((str,), "Its version.", '"128.0"'),
    "client_ip": TriggerKey((str,), "The address that the request came from.", '"203.0.113.7"'),
    "column_": TriggerKey(RECORD, "The column of the board."),
    "draft_": TriggerKey(RECORD, "The draft of the email."),
    "due_at": TriggerKey((int,), "When it is or was due, in Unix seconds.", "1795003200"),
    "email_body": TriggerKey((str,), "The text of the email.", '"It drips."'),
    "email_body_html": TriggerKey((str,), "Its HTML, empty if there is none.", '"<p>It drips.</p>"'),
    "email_headers": TriggerKey(
        MAP,
        "Its headers, names in lower case as sent; lines of one that repeats.",
        '{"from": "Ana <ana@kite.example>", "x-priority": "1"}',
    ),
    "email_recipients": TriggerKey((list,), "Addresses it was sent to.", '["support@desk.example"]'),
    "email_sender_": TriggerKey(RECORD, "The sender address; its id is 0 if unknown."),
    "email_sender_email": TriggerKey((str,), "That address.", '"ana@kite.example"'),
    "email_subject": TriggerKey((str,), "Its subject.", '"Pump"'),
    "events": TriggerKey(
        (list,),
        "What happened: created, customer_wrote, worker_replied, customer_rated, changed, target_due, target_missed, "
        "time.",
        '["created"]',
    ),
    "goal": TriggerKey((str,), "response, next_response or resolution.", '"response"'),
    "inputs": TriggerKey(MAP, "Inputs from the binding or the caller.", '{"level": "7"}'),
    "is_changed": TriggerKey((int, bool), "1: the customer changed an earlier rating.", "0"),
    "is_missed": TriggerKey((int, bool), "1: it was missed; 0: it is about to be missed.", "1"),
    "is_new": TriggerKey((bool,), "Whether the record is new.", "false"),
    "is_new_ticket": TriggerKey((bool,), "Whether the message starts a ticket.", "true"),
    "message_": TriggerKey(RECORD, "The message; `message_ticket_` is its ticket, `message_sender_` its address."),
    "parent_ticket_": TriggerKey(RECORD, "The ticket that the email is a reply to; the id is 0 for none."),
    "rating_": TriggerKey(RECORD, "The rating; `rating_score` is good or bad, `rating_comment` its comment."),
    "query_format": TriggerKey((str,), "The format that the query requests, empty if none.", '"table"'),
    "record_": TriggerKey(RECORD, "The current record; the last version of a deleted one."),
    "record__type": TriggerKey((str,), "Short name of its type.", '"ticket"'),
    "record_type": TriggerKey((str,), "Short name of the type of the records.", '"ticket"'),
    "records": TriggerKey(
        (dict,), "The records by id, each a map whose keys load.", '{"9": {"_context": "svc.contexts.ticket", "id": 9}}'
    ),
    "reminder_": TriggerKey(RECORD, "The reminder."),
    "request_body": TriggerKey((str,), "The body as text; bytes that are not UTF-8 are preserved.", '"sku=A-1"'),
    "request_client_ip": TriggerKey((str,), "The address that the request came from.", '"203.0.113.7"'),
    "request_files": TriggerKey((list,), "Files of a form; see webhooks.", '[{"name": "plan.pdf", "id": 5}]'),
    "request_form": TriggerKey(
        MAP, "Fields of query string and form, under the names that were sent.", '{"Order-No": "7"}'
    ),
    "request_headers": TriggerKey(
        MAP, "Headers, names in lower case with `_` for `-`.", '{"content_type": "application/json"}'
    ),
    "request_method": TriggerKey((str,), "The method.", '"POST"'),
    "request_params": TriggerKey(
        MAP, "Fields of query string and form, under names that scripts can use.", '{"order_no": "7"}'
    ),
    "request_path": TriggerKey((str,), "The path after the token, without a leading slash.", '"orders/7"'),
    "resource_": TriggerKey(RECORD, "The resource."),
    "source_ids": TriggerKey((list,), "Ids of the records that are merged.", "[10]"),
    "target_id": TriggerKey((int,), "Id of the record that stays.", "9"),
    "ticket_": TriggerKey(RECORD, "The ticket."),
    "timer_": TriggerKey(RECORD, "The timer."),
    "was_bucket_": TriggerKey(RECORD, "The previous bucket."),
    "was_group_": TriggerKey(RECORD, "The previous group."),
    "was_record_": TriggerKey(RECORD, "The record before the change, with its own fields."),
    "webhook_": TriggerKey(RECORD, "The webhook."),
    "widget_": TriggerKey(RECORD, "The widget that offered it."),
    "worker_": TriggerKey(
        RECORD, "The worker who writes, merges, signs in, reads the page, moves the card or runs the macro."
    ),
}
