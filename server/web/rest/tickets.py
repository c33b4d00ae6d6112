"""Compose and reply; requesters, comments, merge and split; macros."""

from typing import Any

from server import mailroom, tickets
from server.automation import macros
from server.automation.inputs import InputDeclaration
from server.automation.macros import Macro
from server.outbox import delivery
from server.records import comments, event_publishing, records
from server.tickets import SendResult, requester
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.rest.legacy.single import META, named_shape, with_names
from server.web.rest.records import EXPAND, expand_of
from server.web.routes import Parameter, endpoint


def is_small(call: EndpointCall) -> bool:
    """Plain text that is only saved: nothing to render, nothing to send after the commit."""
    params = call.params
    return params.flag("dont_send", False) and not params.text("content_format", "")


COMMON = (
    Parameter("bcc", "addresses", "Addresses that get a private copy: a line separated by commas, or a list."),
    Parameter("cc", "addresses", "Addresses that get a public copy, as in bcc."),
    Parameter("bucket_id", "integer", "The bucket; the group follows it."),
    Parameter(
        "content_format",
        "string",
        "markdown or html for an HTML email; blank for plain text.",
    ),
    Parameter("custom_*", "mixed", "Values of custom fields, as custom_<id>."),
    Parameter("dont_send", "boolean", "1 saves without sending."),
    Parameter("file_id[]", "array", "Ids of files to attach."),
    Parameter("html_template_id", "integer", "The mail template."),
    Parameter("owner_id", "integer", "The worker it is assigned to; 0 for nobody."),
    Parameter("reopen_at", "time", "When a waiting or closed ticket reopens."),
    Parameter("send_at", "time", "When to send; now when absent."),
    Parameter("status", "integer", "0 open, 1 waiting, 2 closed, 3 deleted."),
    Parameter("status_name", "string", "Name of a ticket status; sets its state."),
    Parameter("until_answered", "boolean", "1 with send_at: turn it back into a draft if a requester writes first."),
    EXPAND,
    META,
)
# The state of the mail, in addition to the record: the author must learn that a reply cannot be sent.
DELIVERY = shapes.keys(
    state={"type": "string", "enum": list(delivery.STATES)},
    reason=shapes.TEXT,
    draft_id=shapes.ID,
    message_id=shapes.ID,
    due_at=shapes.COUNT,
)
NAMED = [named_shape(shapes.record(uri)) for uri in ("ticket", "draft")]
SENT = shapes.any_of(
    *(each | {"properties": each["properties"] | {"delivery": DELIVERY}, "required": ["delivery"]} for each in NAMED)
)


@endpoint(
    "POST",
    "tickets/compose",
    "Create a ticket with an outgoing message.",
    "small write",
    Parameter("group_id", "integer", "The group that holds the ticket.", required=True),
    Parameter("to", "addresses", "Recipients, as in bcc; they become the requesters.", required=True),
    Parameter("subject", "string", "The subject.", required=True),
    Parameter("content", "string", "The message.", required=True),
    Parameter("org_id", "integer", "The organization."),
    *COMMON,
    size="file",
    is_small=is_small,
    response=SENT,
)
def compose(call: EndpointCall) -> dict[str, Any]:
    return _written(call, tickets.compose(call.ctx, call.params.tree))


@endpoint(
    "POST", "tickets/reply", "Reply to a message as a worker. This opens the ticket, even if it is waiting, closed "
                             "or deleted, unless `status` is sent.", "small write",
    Parameter("message_id", "integer", "The message replied to; required without ticket_id."),
    Parameter("ticket_id", "integer", "The ticket whose newest message to reply to, instead of message_id."),
    Parameter("content", "string", "The reply.", required=True),
    Parameter("to", "addresses", "Recipients, as in bcc; the requesters when blank."),
    Parameter("group_id", "integer", "Moves the ticket to this group."),
    Parameter("dont_keep_copy", "boolean", "1 sends without saving a copy."),
    Parameter("is_autoreply", "boolean", "1 marks the email as an automatic reply."),
    Parameter("is_broadcast", "boolean", "1 marks the message as a broadcast."),
    Parameter("is_forward", "boolean", "1 forwards the message with its HTML, pictures and files, without changing "
                                       "the ticket's subject and requesters."),
    Parameter("with_original", "boolean",
              "0 with is_forward: sends only the content and the named files. Otherwise the message "
                                          "follows the content, or replaces its line `#original_message`, and its "
                                          "files are attached unless file_id[] names others."),
    Parameter("subject", "string", "The new subject of the ticket; for a forward, the subject of the email: `Fwd:` "
                                   "and the ticket's subject when blank."),
    Parameter("worker_id", "integer", "The worker to send as. For administrators."),
    *COMMON, size="file", is_small=is_small, response=SENT,
)  # fmt: skip
def reply(call: EndpointCall) -> dict[str, Any]:
    return _written(call, tickets.reply(call.ctx, call.params.tree))


TICKET = named_shape(shapes.record("ticket"))
IS_NEW = {"is_new_ticket": shapes.BOOLEAN}
CREATED = shapes.any_of(
    TICKET | {"properties": TICKET["properties"] | IS_NEW, "required": ["is_new_ticket"]}, shapes.keys(**IS_NEW)
)
UNREADABLE = "you may not read the ticket, so it is not in this response"


@endpoint(
    "POST", "tickets/create", "Create a ticket on behalf of a requester, for example from a contact form. It is "
    "processed like an email from them, but joins no existing ticket, and no value becomes an email header.", "write",
    Parameter("from", "string", "The email address of the requester, with or without a name.", required=True),
    Parameter("name", "string", "Their name."),
    Parameter("subject", "string", "The subject.", required=True),
    Parameter("content", "string", "The text of the message.", required=True),
    Parameter("content_format", "string", "markdown or html; blank for plain text."),
    Parameter("group_id", "integer", "The group; the default group when omitted."),
    Parameter("bucket_id", "integer", "The bucket; the group follows it."),
    Parameter("file_id[]", "array", "Ids of files to attach."),
    Parameter("custom_*", "mixed", "Values of custom fields of the ticket, as custom_<id>."),
    Parameter("external_id", "string", "Your id for the ticket. Sending the same id again changes nothing and "
                                       "returns the existing ticket."),
    EXPAND, META, size="file", response=CREATED,
)  # fmt: skip
def create(call: EndpointCall) -> dict[str, Any]:
    receipt = mailroom.create(call.ctx, call.params.tree)
    payload: dict[str, Any] = {"is_new_ticket": receipt.is_new_ticket}
    if not receipt.is_readable:
        call.params.notes.append(UNREADABLE)
        return payload
    return _shown(call, receipt.ticket_id) | payload


EMAIL = Parameter("email", "string", "The email address.", required=True)


@endpoint(
    "PUT",
    "tickets/{id}/requester",
    "Add a requester to a ticket, who then gets the replies.",
    "small write",
    EMAIL,
    EXPAND,
    META,
    response=TICKET,
)
def add_requester(call: EndpointCall) -> dict[str, Any]:
    requester.add(call.ctx, call.id, call.params.text("email", ""))
    return _shown(call, call.id)


@endpoint(
    "DELETE",
    "tickets/{id}/requester",
    "Remove a requester from a ticket, who then no longer gets the replies.",
    "small write",
    EMAIL,
    EXPAND,
    META,
    response=TICKET,
)
def remove_requester(call: EndpointCall) -> dict[str, Any]:
    requester.remove(call.ctx, call.id, call.params.text("email", ""))
    return _shown(call, call.id)


@endpoint(
    "POST",
    "tickets/{id}/comment",
    "Write a comment on a ticket.",
    "small write",
    Parameter("comment", "string", "The text.", required=True),
    response=shapes.keys(ticket_id=shapes.ID, comment_id=shapes.ID),
)
def write_comment(call: EndpointCall) -> dict[str, Any]:
    id = comments.on_record(call.ctx, "ticket", call.id, call.params.text("comment", ""), "comment")
    return {"ticket_id": call.id, "comment_id": id}


@endpoint(
    "POST",
    "tickets/merge",
    "Merge tickets into the oldest one.",
    "small write",
    Parameter("ticket_ids[]", "array", "Two or more tickets.", required=True),
    EXPAND,
    META,
    response=TICKET,
    is_small=lambda call: not event_publishing.is_bound(call.ctx, "record.merge"),
)
def merge(call: EndpointCall) -> dict[str, Any]:
    return _shown(call, tickets.merge(call.ctx, call.params.id_list("ticket_ids", required=True)))


@endpoint(
    "POST",
    "tickets/split",
    "Split a message into a new ticket.",
    "small write",
    Parameter("message_id", "integer", "The message; cannot be the only one of its ticket.", required=True),
    EXPAND,
    META,
    response=TICKET,
)
def split(call: EndpointCall) -> dict[str, Any]:
    return _shown(call, tickets.split(call.ctx, call.params.id("message_id", required=True)))


MACRO_INPUT = shapes.keys(
    name=shapes.TEXT, type=shapes.TEXT, description=shapes.TEXT, default=shapes.ANY, required=shapes.BOOLEAN
)
LISTED_MACRO = shapes.keys(
    id=shapes.ID, name=shapes.TEXT, label=shapes.TEXT, more=shapes.TEXT, inputs=shapes.list_of(MACRO_INPUT)
)
# The result of a macro, in addition to the ticket: texts that wait for review, and executed acts.
MACRO_DONE = shapes.keys(
    {"delivery": DELIVERY},
    id=shapes.ID,
    name=shapes.TEXT,
    label=shapes.TEXT,
    reply=shapes.TEXT,
    note=shapes.TEXT,
    changed=shapes.list_of(shapes.TEXT),
    note_id=shapes.COUNT,
)


@endpoint(
    "GET",
    "tickets/{id}/macros",
    "List the macros that the caller can run on a ticket, sorted by label.",
    "read",
    response=shapes.keys(results=shapes.list_of(LISTED_MACRO), count=shapes.COUNT),
)
def list_macros(call: EndpointCall) -> dict[str, Any]:
    results = [_macro(each) for each in macros.usable(call.ctx, call.id)]
    return {"results": results, "count": len(results)}


@endpoint(
    "POST",
    "tickets/{id}/macro",
    "Run a macro on a ticket, with the permissions of the caller. Returns the ticket and the "
    "result of the macro; texts that were not sent are in `reply` and `note`.",
    "write",
    Parameter("macro", "string", "The macro: its name, id or label.", required=True),
    Parameter("inputs[]", "map", "Its inputs: one inputs[<name>] each."),
    EXPAND,
    META,
    response=TICKET
    | {
        "properties": TICKET["properties"] | {"macro": MACRO_DONE},
        "required": ["macro"],
    },
)
def run_macro(call: EndpointCall) -> dict[str, Any]:
    found = macros.run(call.ctx, call.id, call.params.text("macro", required=True), call.params.map("inputs"))
    done = {
        "id": found.macro.id,
        "name": found.macro.name,
        "label": found.macro.label,
        "reply": found.reply,
        "note": found.note,
        "changed": list(found.changed),
        "note_id": found.note_id,
    }
    sent = {"delivery": found.delivery.as_dict()} if found.delivery is not None else {}
    return _shown(call, call.id) | {"macro": done | sent}


def _macro(macro: Macro) -> dict[str, Any]:
    return {
        "id": macro.id,
        "name": macro.name,
        "label": macro.label,
        "more": macro.more,
        "inputs": [_input(each) for each in macro.inputs],
    }


def _input(each: InputDeclaration) -> dict[str, Any]:
    options = each.options
    return {
        "name": each.name,
        "type": str(options.get("type") or each.kind),
        "description": str(options.get("description") or ""),
        "default": options.get("default"),
        "required": each.is_required,
    }


def _written(call: EndpointCall, response: SendResult) -> dict[str, Any]:
    """Returns the record with the outcome of the mail."""
    return _shown(call, response.id, response.uri) | {"delivery": response.delivery.as_dict()}


def _shown(call: EndpointCall, id: int, uri: str = "ticket") -> dict[str, Any]:
    return with_names(call, uri, records.retrieve(call.ctx, uri, id, expand_of(call, uri)))
