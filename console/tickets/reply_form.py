"""The form of a reply, a forward, a note or a new ticket: its initial and its submitted values.

The options of its fields are read only where the form is shown (reply_choices.py)."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from console.html.confirmation import Confirmation
from console.html.form import Form
from console.html.ui import Option
from console.http.visit import Visit
from console.lists import lookup
from console.tickets.reply_choices import NO_CHOICES, ReplyChoices, of_bucket, way_of_ticket
from server import times
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, Required
from server.people import form_drafts
from server.record_types.shared.sending_addresses import UNTIL_ANSWERED
from server.records import records, sheet, stored_files
from server.records.sheet import File, Sheet
from server.tickets import reply_drafts, reply_start
from server.tickets.conversation import Entry
from server.tickets.outgoing_identity import UNKNOWN
from server.tickets.reply_drafts import ReplyDraft
from server.tickets.reply_start import SIGNATURE, ReplyStart
from server.tickets.types.ticket_parts.status_names import NamedStatus
from server.translation import N_, N_pgettext, Words, _
from server.web.form_data import Upload

KINDS = ("reply", "forward", "note")
LATER = "later"  # name of the buttons that send at the time in their value
AGAIN = "again"  # requests a reply with the content of a sent message
# {field: parameter of a draft}
TEXTS = {
    "to": "to",
    "cc": "cc",
    "bcc": "bcc",
    "subject": "subject",
    "content": "content",
    "status": "status_id",
    "reopen_at": "ticket_reopen",
    "owner": "owner_id",
    "send_at": "send_at",
    "template": "html_template_id",
    "bucket": "bucket_id",
    UNTIL_ANSWERED: UNTIL_ANSWERED,
}
# {parameter of an operation: field}
OF_OPERATION = {"owner_id": "owner", "html_template_id": "template", "bucket_id": "bucket", "group_id": "bucket"}
STATUSES: tuple[tuple[str, Words], ...] = (
    ("1", N_("Waiting")),
    ("0", N_pgettext("status", "Open")),
    ("2", N_("Closed")),
)


def statuses(names: Sequence[NamedStatus]) -> list[Option]:
    """Returns the statuses to choose from, each state with its names below it: `1`, `1.On order`."""
    options: list[Option] = []
    for state, label in STATUSES:
        options.append((state, label))
        options += [(f"{state}.{each.name}", each.name) for each in names if str(each.status_id) == state]
    return options


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The form of a reply, a forward, a note or a new ticket.

    kind: reply, forward, note or compose. message_id: the message replied to, 0 for none. draft: the stored draft, None
    for none. files: the attached files. drafted: the kinds of which the worker has a draft.

    seen: the mark of what others had written when the page was shown; see server/tickets/unseen.py. unseen: entries
    that were added after it. is_stopped: whether they stopped the reply, which they do once. question: what
    stopped a reply that closes the ticket while a colleague writes, None for nothing."""

    kind: str
    form: Form
    message_id: int
    draft: ReplyDraft | None = None
    files: tuple[File, ...] = ()
    drafted: tuple[str, ...] = ()
    choices: ReplyChoices = field(default=NO_CHOICES)
    seen: str = ""
    is_stopped: bool = False
    unseen: tuple["Entry", ...] = ()
    question: Confirmation | None = None

    @property
    def file_ids(self) -> list[str]:
        return [str(each.id) for each in self.files]

    def refused(self, error: HelpdeskError) -> "ReplyForm":
        """Returns the form with the errors of a failed operation at its fields."""
        if isinstance(error, Required) and error.details.get("field") == "content":
            return replace(self, form=self.form.fail("content", _("Write a message first.")))
        return replace(self, form=self.form.refuse(error, names=OF_OPERATION))

    def values(self) -> dict[str, Any]:
        """Returns the parameters of tickets.reply() or tickets.compose()."""
        get = self.form.text
        as_typed = ("to", "cc", "bcc", "subject", "send_at", UNTIL_ANSWERED)
        status, _dot, status_name = self.form.get("status").partition(".")
        values: dict[str, Any] = {name: get(name) for name in as_typed} | {
            "status": status,
            "status_name": status_name,
            "content": reply_start.typed_text(self.form.get("content"), is_forward=self.kind == "forward"),
            "content_format": "markdown",
            "file_id": self.file_ids,
            "reopen_at": get("reopen_at") if status in ("1", "2") else "",
            "html_template_id": get("template"),
            "owner_id": get("owner"),
        }
        if self.kind == "compose":
            return values | {"bucket_id": get("bucket")}
        is_forward = "1" if self.kind == "forward" else ""
        return values | {"message_id": str(self.message_id), "is_forward": is_forward, "with_original": "0"}

    def params(self) -> dict[str, Any]:
        """Returns the params of a draft."""
        params: dict[str, Any] = {param: self.form.get(name) for name, param in TEXTS.items()}
        params["status_id"], _dot, params["status_name"] = self.form.get("status").partition(".")
        params |= {"format": "parsedown", "file_ids": [each.id for each in self.files]}
        return params | {"in_reply_message_id": self.message_id} if self.message_id else params


def pressed_button(visit: Visit) -> str:
    """Returns the name of the button that the form was submitted with."""
    return visit.form.text("do", LATER if LATER in visit.form else "send")


# -- at first ----------------------------------------------------------------------------------------------------------


def of_ticket(visit: Visit, ticket: Sheet, replied_to: int) -> ReplyForm | None:
    """Returns the form below a ticket; None if the caller may not change the ticket. replied_to: the id of the message
    to reply to by default."""
    if not records.may(visit.ctx, "ticket", "update", ticket.id):
        return None
    choice = visit.query.text("answer", "")
    is_again = choice == AGAIN and bool(visit.query.id("to", 0))
    drafts = [] if is_again else reply_drafts.list_own(visit.ctx, ticket.id)
    draft = None if is_again else _resumed(visit, drafts, choice if choice in KINDS else "")
    kind = "reply" if is_again else choice if choice in KINDS else draft.kind if draft is not None else "reply"
    replied = int(draft.params.get("in_reply_message_id") or 0) if draft is not None and kind != "note" else 0
    message_id = visit.query.id("to", 0) or replied or replied_to
    drafted = tuple(each for each in ("reply", "forward") if any(one.kind == each for one in drafts))
    if kind == "note" or not (message_id or draft):
        return ReplyForm("note", note_form(visit, ticket.id), message_id, drafted=drafted)
    way = way_of_ticket(visit, ticket.keys)
    reply = ReplyForm(kind, Form(), message_id, drafted=drafted, choices=replace(NO_CHOICES, way=way))
    if draft is not None:
        return replace(reply, form=Form(_drafted(draft)), draft=draft, files=_files_of(visit, draft))
    if is_again:
        start = reply_start.of_resending(visit.ctx, ticket.keys, message_id)
    else:
        start = reply_start.of_reply(visit.ctx, ticket.keys, kind, message_id, way)
    return replace(reply, form=_started(start), files=sheet.files_by_id(visit.ctx, start.file_ids))


def _resumed(visit: Visit, drafts: list[ReplyDraft], kind: str) -> ReplyDraft | None:
    """Returns the draft in the parameter `resume`, else the newest of this kind, "" for any."""
    fitting = [each for each in drafts if kind in ("", each.kind)]
    resumed = [each for each in fitting if each.id == visit.query.id("resume", 0)]
    return next(iter(resumed or fitting), None)


def begun(visit: Visit, ticket: dict[str, Any], message_id: int) -> ReplyForm:
    """Returns a new reply to a message, without options."""
    start = reply_start.of_reply(visit.ctx, ticket, "reply", message_id, UNKNOWN)
    return ReplyForm("reply", _started(start), message_id)


def of_compose(visit: Visit) -> ReplyForm:
    """Returns the form of a new ticket: the draft in the address, an empty one for `new`, else the newest draft."""
    drafts, draft_id = reply_drafts.list_own(visit.ctx, 0), visit.query.text("draft", "")
    draft = next((each for each in drafts if draft_id in ("", str(each.id))), None)
    if draft is not None:
        return ReplyForm("compose", Form(_all(_drafted(draft))), 0, draft, _files_of(visit, draft))
    values = {
        "status": reply_start.WAITING,
        "to": visit.query.text("to", ""),
        "owner": str(visit.actor.worker_id),
    }
    choices = of_bucket(visit, "")
    if choices.way.signature.strip():
        values["content"] = f"\n\n{SIGNATURE}"
    return ReplyForm("compose", Form(_all(values)), 0, choices=choices)


def of_draft(visit: Visit, draft: ReplyDraft) -> ReplyForm:
    """Returns the content of a draft, to send or preview it."""
    message_id = int(draft.params.get("in_reply_message_id") or 0)
    return ReplyForm(draft.kind, Form(_drafted(draft)), message_id, draft, _files_of(visit, draft))


def note_form(visit: Visit, ticket_id: int) -> Form:
    """Returns the form of a note, with the text that a macro has added."""
    draft = form_drafts.load(visit.ctx, reply_drafts.note_key(ticket_id))
    return Form.from_values({"note": draft.text("note") if draft is not None else ""})


# -- as it was sent ----------------------------------------------------------------------------------------------------


def sent(visit: Visit, kind: str) -> ReplyForm:
    """Returns the submitted form; uploaded files are stored. Raises TooLarge, Invalid."""
    form = Form.sent(visit.form, TEXTS)
    if LATER in visit.form:
        form.values["send_at"] = visit.form.text(LATER, "")
    try:
        form.values["owner"] = str(lookup.chosen_id(visit, "worker", form.get("owner"), "owner") or "")
    except HelpdeskError as error:
        form.refuse(error)
    ids = [*visit.form.id_list("file_id"), *_store_uploads(visit)]
    draft_id = visit.form.id("draft", 0)
    draft = reply_drafts.find_unsent(visit.ctx, draft_id) if draft_id else None
    if draft is not None:
        draft = replace(draft, revision=visit.form.text("revision", ""))
    files = sheet.files_by_id(visit.ctx, list(dict.fromkeys(ids)))
    return ReplyForm(kind, form, visit.form.id("message", 0), draft, files, seen=visit.form.text("seen", ""))


def ahead(visit: Visit, field: str, text: str) -> str:
    """Converts a future time in words to Unix seconds, "" for none. Raises Invalid. field: of the form, for the
    error."""
    try:
        at = times.ahead(text.strip(), visit.now, visit.ctx.tz)
    except Invalid as error:
        raise Invalid(f"{field}: {error.message}", field=field) from error
    return str(at) if at else ""


def _started(start: ReplyStart) -> Form:
    return Form(_all({OF_OPERATION.get(name, name): value for name, value in start.values.items()}))


def _all(values: dict[str, str]) -> dict[str, str]:
    return dict.fromkeys(TEXTS, "") | values


def _drafted(draft: ReplyDraft) -> dict[str, str]:
    params = {name: draft.params.get(param) for name, param in TEXTS.items()}
    values = {name: "" if value in (None, 0) else str(value) for name, value in params.items()}
    status_name = draft.params.get("status_name")
    return values | {"status": f"{values['status'] or 0}.{status_name}"} if status_name else values


def _files_of(visit: Visit, draft: ReplyDraft) -> tuple[File, ...]:
    return sheet.files_by_id(visit.ctx, draft.params.get("file_ids") or [])


def _store_uploads(visit: Visit) -> list[int]:
    """Stores the submitted files, and returns their ids."""
    sent_files = visit.form.tree.get("files")
    uploads = sent_files if isinstance(sent_files, list) else [sent_files]
    return [
        stored_files.upload(visit.ctx, each.filename, each.content_type, each.content)["id"]
        for each in uploads
        if isinstance(each, Upload) and (each.filename or each.content)
    ]
