"""The form in which an answer or a new ticket is written: what stands in it at first, what was kept of it as a draft,
what was sent, and what the operations take of it. Source: ours."""

from dataclasses import replace
from typing import Any

from console.html import sheet
from console.html.form import Form
from console.html.sheet import File, Sheet
from console.html.ui import ChooserOptions, Option, Sample
from console.http.visit import Visit
from console.lists import lookup
from console.tickets.conversation import Entry
from server import times
from server.dataclass import dataclass
from server.desk import files, records
from server.desk.records import SearchRequest
from server.errors import HelpdeskError, Invalid, NotFound, Required
from server.mail.commands import ORIGINAL_LINE
from server.mail.compose import subject_of_forward
from server.people import form_drafts
from server.records.shared.sending import UNTIL_ANSWERED
from server.tickets import answer_drafts, forwarding, way_out
from server.tickets.answer_drafts import AnswerDraft
from server.tickets.way_out import WayOut
from server.translation import N_, N_pgettext, Words, _
from server.web.forms import Upload

KINDS = ("reply", "forward", "note")
AGAIN = "again"  # asks for a reply that stands ready as a message that went out
SIGNATURE, ORIGINAL = "#signature", ORIGINAL_LINE  # lines that stand for these
# Of the form, with the names of a draft's params.
TEXTS = {
    "to": "to", "cc": "cc", "bcc": "bcc", "subject": "subject", "content": "content", "status": "status_id",
    "reopen_at": "ticket_reopen", "owner": "owner_id", "send_at": "send_at", "template": "html_template_id",
    "bucket": "bucket_id", UNTIL_ANSWERED: UNTIL_ANSWERED,
}  # fmt: skip
OF_OPERATION = {"owner_id": "owner", "html_template_id": "template", "bucket_id": "bucket", "group_id": "bucket"}
STATUSES: tuple[tuple[str, Words], ...] = (
    ("1", N_("Waiting")),
    ("0", N_pgettext("status", "Open")),
    ("2", N_("Closed")),
)
NO_WAY = WayOut("", "", "")
SNIPPETS = 60  # to choose from


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """seen: the mark of what others had written when the page was shown; see server/tickets/unseen.py. unseen: entries
    that came after it; is_stopped: whether they stopped the reply, which they do once.

    kind: reply, forward, note or compose. message_id: that is answered, 0 for none. draft: what it is kept as, None
    before it is. files: that go along. snippets, templates, buckets: to choose from. original: the text of the
    message that a forward passes on. drafted: the kinds of which the worker has a draft."""

    kind: str
    form: Form
    message_id: int
    way: WayOut
    draft: AnswerDraft | None = None
    files: tuple[File, ...] = ()
    snippets: tuple[Option, ...] = ()
    templates: tuple[Option, ...] = ()
    buckets: tuple[Option, ...] = ()
    owner: ChooserOptions | None = None
    original: str = ""
    drafted: tuple[str, ...] = ()
    seen: str = ""
    is_stopped: bool = False
    unseen: tuple["Entry", ...] = ()

    @property
    def file_ids(self) -> list[str]:
        return [str(each.id) for each in self.files]

    def refused(self, error: HelpdeskError) -> "AnswerForm":
        """With what an operation refused at its fields."""
        if isinstance(error, Required) and error.details.get("field") == "content":
            return replace(self, form=self.form.fail("content", _("Write a message first.")))
        return replace(self, form=self.form.refuse(error, names=OF_OPERATION))

    def kept(self, draft: AnswerDraft) -> "AnswerForm":
        return replace(self, draft=draft)

    @property
    def sample(self) -> Sample:
        """The request that sends what stands in the form."""
        get = self.form.text
        sent = [("content", get("content").strip() or "..."), ("content_format", "markdown")]
        sent += [(name, get(name)) for name in ("to", "cc", "bcc", "subject", "reopen_at", "send_at") if get(name)]
        sent += [("status", get("status"))] if get("status") else []
        sent += [("file_id[]", id) for id in self.file_ids]
        if self.kind == "compose":
            bucket = get("bucket") or next((value for value, _place in self.buckets), "1")
            return Sample("POST", "/rest/tickets/compose.json", [("bucket_id", bucket), *sent])
        sent += [("is_forward", "1"), ("with_original", "0")] if self.kind == "forward" else []
        return Sample("POST", "/rest/tickets/reply.json", [("message_id", str(self.message_id)), *sent])

    # -- what operations take -----------------------------------------------------------------------------------------

    def values(self) -> dict[str, Any]:
        """As reply() and compose() take it."""
        get = self.form.text
        found: dict[str, Any] = {
            "content": _said(self.form.get("content")), "content_format": "markdown", "to": get("to"), "cc": get("cc"),
            "bcc": get("bcc"), "subject": get("subject"), "status": get("status"), "file_id": self.file_ids,
            "reopen_at": get("reopen_at") if get("status") in ("1", "2") else "", "send_at": get("send_at"),
            "html_template_id": get("template"), UNTIL_ANSWERED: get(UNTIL_ANSWERED), "owner_id": get("owner"),
        }  # fmt: skip
        if self.kind == "compose":
            return found | {"bucket_id": get("bucket")}
        is_forward = "1" if self.kind == "forward" else ""
        return found | {"message_id": str(self.message_id), "is_forward": is_forward, "with_original": "0"}

    def params(self) -> dict[str, Any]:
        """As a draft keeps it."""
        told: dict[str, Any] = {param: self.form.get(name) for name, param in TEXTS.items()}
        told |= {"format": "parsedown", "file_ids": [each.id for each in self.files]}
        return told | {"in_reply_message_id": self.message_id} if self.message_id else told


def of_ticket(visit: Visit, found: Sheet, answered: int) -> AnswerForm | None:
    """The form below a ticket; None for who may not change it, and for a ticket that has nothing to answer."""
    if not records.may(visit.ctx, "ticket", "update", found.id):
        return None
    asked, keys = visit.query.text("answer", ""), found.keys
    is_again = asked == AGAIN and bool(visit.query.id("to", 0))
    draft = None if is_again else _draft_of(visit, found.id, asked if asked in KINDS else "")
    kind = "reply" if is_again else asked if asked in KINDS else draft.kind if draft is not None else "reply"
    if kind == "note":
        draft = None
    replied = int(draft.params.get("in_reply_message_id") or 0) if draft is not None else 0
    message_id = visit.query.id("to", 0) or replied or answered
    if not message_id and draft is None:
        kind = "note"
    way = way_out.of(visit.ctx, keys["group_id"], keys["bucket_id"], found.id)
    if is_again:
        values, file_ids = _again(visit, found, message_id)
    elif draft is not None:
        values, file_ids = _drafted(draft), draft.params.get("file_ids") or []
    else:
        values, file_ids = _first(visit, found, kind, message_id, way), []
        if kind == "forward" and message_id:
            file_ids = list(forwarding.files_to_forward(visit.ctx, message_id))
    drafted = tuple(each for each in ("reply", "forward") if answer_drafts.own(visit.ctx, found.id, each) is not None)
    kept = _files(visit, file_ids)
    return _whole(visit, AnswerForm(kind, Form(values), message_id, way, draft, kept, drafted=drafted))


def _draft_of(visit: Visit, ticket_id: int, kind: str) -> AnswerDraft | None:
    """The caller's draft on a ticket that the address names as `resume`, else the newest of this kind."""
    drafts = answer_drafts.list_own(visit.ctx, ticket_id, kind)
    named = [each for each in drafts if each.id == visit.query.id("resume", 0)]
    return next(iter(named or drafts), None)


def begun(visit: Visit, found: Sheet, message_id: int) -> AnswerForm:
    """A reply to a message as it begins, with nothing to choose from."""
    return AnswerForm("reply", Form(_first(visit, found, "reply", message_id, NO_WAY)), message_id, NO_WAY)


def note_key(ticket_id: int) -> str:
    """The key of what somebody has for a note on a ticket, in people/form_drafts.py."""
    return f"note:{ticket_id}"


def note_form(visit: Visit, ticket_id: int) -> Form:
    """The form of a note, with the text that a macro has put into it."""
    kept = form_drafts.of(visit.ctx, note_key(ticket_id))
    return Form.of({"note": kept.text("note") if kept is not None else ""})


def of_compose(visit: Visit) -> AnswerForm:
    """The form of a new ticket: the draft that the address names, an empty one for `new`, else the newest draft."""
    drafts, asked = answer_drafts.list_own(visit.ctx, 0), visit.query.text("draft", "")
    fitting = [each for each in drafts if asked in ("", str(each.id))]
    draft = fitting[0] if fitting else None
    values = _drafted(draft) if draft is not None else {
        "status": "1", "to": visit.query.text("to", ""), "owner": str(visit.actor.worker_id),
    }  # fmt: skip
    kept = _files(visit, draft.params.get("file_ids") or []) if draft is not None else ()
    found = _whole(visit, AnswerForm("compose", Form(_all(values)), 0, NO_WAY, draft, kept))
    way = way_from(visit, found.form.get("bucket") or next((value for value, _place in found.buckets), ""))
    if draft is None and way.signature.strip():
        found.form.values["content"] = f"\n\n{SIGNATURE}"
    return replace(found, way=way)


def way_from(visit: Visit, bucket: str) -> WayOut:
    """How mail of a new ticket leaves from a bucket that the worker may choose."""
    if bucket not in {value for value, _place in buckets(visit)}:
        return NO_WAY
    return way_out.of(visit.ctx, records.retrieve(visit.ctx, "bucket", int(bucket))["group_id"], int(bucket))


def of_draft(visit: Visit, draft: AnswerDraft) -> AnswerForm:
    """What a draft has, to be sent or looked at."""
    message_id = int(draft.params.get("in_reply_message_id") or 0)
    kept = _files(visit, draft.params.get("file_ids") or [])
    return AnswerForm(draft.kind, Form(_drafted(draft)), message_id, NO_WAY, draft, kept)


def sent(visit: Visit, kind: str, way: WayOut) -> AnswerForm:
    """What was sent of the form, with the files that came along kept. Raises TooLarge, Invalid."""
    form = Form.sent(visit.form, TEXTS)
    try:
        form.values["owner"] = str(lookup.chosen_id(visit, "worker", form.get("owner"), "owner") or "")
    except HelpdeskError as error:
        form.refuse(error)
    ids = visit.form.id_list("file_id")
    ids += [_upload(visit, each) for each in _uploads(visit)]
    draft_id = visit.form.id("draft", 0)
    known = answer_drafts.of(visit.ctx, draft_id) if draft_id else None
    if known is not None:
        known = replace(known, revision=visit.form.text("revision", ""))
    message_id = visit.form.id("message", 0)
    kept = _files(visit, list(dict.fromkeys(ids)))
    seen = visit.form.text("seen", "")
    return _whole(visit, AnswerForm(kind, form, message_id, way, known, kept, seen=seen))


def _whole(visit: Visit, form: AnswerForm) -> AnswerForm:
    """With what there is to choose from."""
    return replace(
        form, snippets=tuple(_snippets(visit, form.kind)), templates=tuple(_templates(visit)),
        buckets=tuple(buckets(visit)) if form.kind == "compose" else (),
        owner=lookup.choosable(visit, "worker", "isDisabled:no", form.form.get("owner")),
        original=_original(visit, form),
    )  # fmt: skip


def _original(visit: Visit, form: AnswerForm) -> str:
    """The text of the message that a form forwards, "" for another form."""
    if form.kind != "forward" or not form.message_id:
        return ""
    return str(records.retrieve(visit.ctx, "message", form.message_id, "content")["content"]).strip()


def ahead(visit: Visit, field: str, text: str) -> str:
    """A time to come in words as Unix seconds, "" for none. Raises Invalid. field: of the form, for the error."""
    try:
        at = times.ahead(text.strip(), visit.now, visit.ctx.tz)
    except Invalid as error:
        raise Invalid(f"{field}: {error.message}", field=field) from error
    return str(at) if at else ""


def planned(visit: Visit, values: dict[str, Any]) -> dict[str, Any]:
    """The values of an answer with its times read as times to come. Raises Invalid."""
    return values | {name: ahead(visit, name, values[name]) for name in ("reopen_at", "send_at")}


def _said(text: str) -> str:
    """The text of an answer; nothing for a signature alone."""
    return "" if text.strip() == SIGNATURE else text


def _all(values: dict[str, str]) -> dict[str, str]:
    return dict.fromkeys(TEXTS, "") | values


def _again(visit: Visit, found: Sheet, message_id: int) -> tuple[dict[str, str], list[int]]:
    """What stands in a message that went out, with the ids of its files, to be looked at and sent once more. The ticket
    stays as it is."""
    message = records.retrieve(visit.ctx, "message", message_id, "headers,content,attachments")
    if message["ticket_id"] != found.id or not message["is_outgoing"]:
        raise NotFound(_("There is no such message on this ticket."))
    headers = message.get("headers") or {}
    values = {name: " ".join(str(headers.get(name) or "").split()) for name in ("to", "cc")}
    values |= {"content": str(message["content"]), "status": str(found.keys["status_id"]), UNTIL_ANSWERED: "1"}
    html = message["html_attachment_id"]
    return _all(values), [each.id for each in sheet.files(message) if each.id != html]


def _first(visit: Visit, found: Sheet, kind: str, message_id: int, way: WayOut) -> dict[str, str]:
    """What stands in a new answer."""
    values = {"status": "1", UNTIL_ANSWERED: "1"}
    if not found.keys["owner_id"]:
        values["owner"] = str(visit.actor.worker_id)
    if kind == "note" or not message_id:
        return _all(values)
    message = records.retrieve(visit.ctx, "message", message_id, "reply_to,reply_cc,content,sender_")
    signature = f"\n\n{SIGNATURE}" if way.signature.strip() else ""
    if kind == "forward":
        values["content"] = f"{signature}\n\n{ORIGINAL}"
        values["subject"] = subject_of_forward(str(found.keys["subject"]))
        values["status"] = str(found.keys["status_id"])
    else:
        values |= {"to": str(message.get("reply_to") or ""), "cc": str(message.get("reply_cc") or "")}
        values["content"] = signature
    return _all(values)


def _drafted(draft: AnswerDraft) -> dict[str, str]:
    told = {name: draft.params.get(param) for name, param in TEXTS.items()}
    return {name: "" if value in (None, 0) else str(value) for name, value in told.items()}


def _files(visit: Visit, ids: list[Any]) -> tuple[File, ...]:
    """Those that the worker may read."""
    wanted = [int(each) for each in ids if str(each).isdigit()]
    if not wanted:
        return ()
    q = f"id:[{','.join(map(str, wanted))}]"
    found = records.search(visit.ctx, "attachment", SearchRequest(q, len(wanted)))["results"]
    by_id = {each["id"]: sheet.file(each) for each in found}
    return tuple(by_id[id] for id in wanted if id in by_id)


def _uploads(visit: Visit) -> list[Upload]:
    listed = visit.form.tree.get("files")
    found = listed if isinstance(listed, list) else [listed]
    return [each for each in found if isinstance(each, Upload) and (each.filename or each.content)]


def _upload(visit: Visit, each: Upload) -> int:
    return int(files.upload(visit.ctx, each.filename, each.content_type, each.content)["id"])


def _snippets(visit: Visit, kind: str) -> list[Option]:
    """Texts for tickets and texts about nothing, those used most first."""
    types = "plaintext" if kind == "compose" else "[plaintext,ticket]"
    q = f"type:{types} usableBy.worker:me sort:-totalUses"
    found = records.search(visit.ctx, "snippet", SearchRequest(q, SNIPPETS, 1, lookup.LABEL))
    return lookup.options(visit, found["results"])


def _templates(visit: Visit) -> list[Option]:
    found = records.search(visit.ctx, "html_template", SearchRequest("sort:name", SNIPPETS, 1, lookup.LABEL))
    return lookup.options(visit, found["results"])


def buckets(visit: Visit) -> list[Option]:
    """Where the worker may put a ticket: `Group / Bucket`, by the id of the bucket; those of their own groups first."""
    asked = SearchRequest("", lookup.MAX_CHOICES, 1, f"{lookup.LABEL},group_")
    actor = visit.actor
    readable = None if actor.is_admin else actor.reads_groups
    listed = [
        each for each in records.search(visit.ctx, "bucket", asked)["results"]
        if readable is None or each["group_id"] in readable
    ]  # fmt: skip
    listed.sort(key=lambda each: (each["group_id"] not in actor.member_of, _place(each).lower()))
    return [(str(each["id"]), _place(each)) for each in listed]


def _place(bucket: dict[str, Any]) -> str:
    return f"{bucket.get('group__label') or ''} / {bucket[lookup.LABEL]}"
