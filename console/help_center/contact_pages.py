"""Contact forms for visitors: the form, its files, the thanks after it was sent, and the link that confirms it.

There is no cookie and no session, so a form sent from another site can do no more than one that its owner fills in: a
check against forged requests would protect nothing. The same origin is required anyway, for all forms of visitors."""

from dataclasses import field
from typing import Any

from console.help_center.visitor import Visitor
from console.help_center.visitor_page import VisitorPage, json_page, render, see, static_path
from console.html.form import Form
from server.access import lockout
from server.dataclass import dataclass
from server.errors import HelpdeskError, NotFound, Unavailable
from server.help_center import contact_forms, form_previews, form_tokens, form_values, submitting, visitor_files
from server.help_center.contact_forms import PublicForm
from server.help_center.form_tokens import FormToken
from server.help_center.form_values import TypedForm
from server.help_center.submitting import Accept, Submission
from server.help_center.visitor_files import WaitingFile
from server.record_types.shared.contact_fields import FormField
from server.store.transaction import Transaction
from server.translation import N_, Words, _, lazy_gettext
from server.web.endpoint_call import id_of
from server.web.error_bodies import status_and_code
from server.web.params import Params, Upload

INVALID = 422
TRAP = "website"  # a field that people do not see, and programs fill in
SCRIPT, PROOF_SCRIPT, EMBED_SCRIPT = "contact_form.js", "contact_proof.js", "contact_embed.js"
PLAIN = ("name", "email", "subject", "message")


@dataclass(frozen=True)
class FieldRow:
    """A custom field as the template shows it. texts: the submitted values. if_name, if_value: its condition, "" for
    none. if_label: the condition in words, for browsers without scripts."""

    name: str
    label: str
    kind: str
    is_required: bool
    texts: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    if_name: str = ""
    if_value: str = ""
    if_label: Words = ""


def show(visitor: Visitor) -> VisitorPage:
    """Renders the form, or the thanks for a form that was sent. Raises NotFound."""
    code = visitor.query.text(form_previews.PARAMETER, "")
    previewed = form_previews.previewed_form(visitor.ctx, visitor.brand, code) if code else None
    form = previewed or _form(visitor)
    sent = visitor.query.text("sent", "")
    if sent in (submitting.TICKET_SENT, submitting.MAIL_SENT):
        acknowledges = contact_forms.is_acknowledged(visitor.service, form.group_id, form.bucket_id)
        return _page(visitor, form, "contact_sent.html", sent=sent, acknowledges=acknowledges)
    token = form_tokens.new_token(visitor.service, form.id, visitor.ctx.now)
    typed = TypedForm(subject=visitor.query.text("subject", "")[: form_values.MAX_SUBJECT_CHARS])
    return _form_page(visitor, form, token, typed, Form(), is_preview=previewed is not None)


@dataclass(frozen=True)
class SentForm:
    """A submitted form with a valid token, which was not accepted before."""

    form: PublicForm
    token: FormToken
    typed: TypedForm
    problems: Form


def send(visitor: Visitor) -> VisitorPage:
    """Accepts a form, or shows it again with its mistakes and the submitted values. Raises NotFound."""
    problems = Form()
    if _changes_files(visitor.form):
        sent = submitting.read_together(visitor.ctx, lambda: _opened(visitor))
        if isinstance(sent, VisitorPage):
            return sent
        if sent.form.has_files:
            _change_files(visitor, sent.token, problems)
    checked = submitting.read_together(visitor.ctx, lambda: _checked(visitor, problems))
    return checked if isinstance(checked, VisitorPage) else _prepared(visitor, *checked)


def upload(visitor: Visitor) -> VisitorPage:
    """Stores a file while its form is being filled in; returns it as JSON. Raises NotFound, and the errors of
    visitor_files.store."""
    form = contact_forms.form_by_id(visitor.service, id_of(visitor.arguments["id"]))
    if form is None or form.brand_id != visitor.brand.id or not form.has_files:
        raise NotFound(_("There is no such page."))
    sent = visitor.form
    token = form_tokens.token_of(visitor.service, form.id, sent.text("token", ""), visitor.ctx.now)
    file = sent.upload("file")
    if token is None or file is None:
        return _json_problem(INVALID, _("This page was open for too long. Load it again."))
    try:
        stored = _store(visitor, token, file)
    except HelpdeskError as error:
        return _json_problem(status_and_code(error)[0], Form().refuse(error, ["files"]).errors["files"])
    return json_page({"code": stored.code, "name": stored.name, "size": stored.size})


def confirm(visitor: Visitor) -> VisitorPage:
    """Shows what a link confirms; the button creates the ticket, since mail scanners follow links. Raises NotFound."""
    waiting = submitting.waiting_form(visitor.ctx, visitor.arguments["code"])
    if waiting.form.brand_id != visitor.brand.id:
        raise NotFound(submitting.GONE)
    if visitor.is_post:
        submitting.confirm(visitor.ctx, waiting)
        return _sent(visitor, waiting.form, submitting.TICKET_SENT)
    page = _page(visitor, waiting.form, "contact_confirm.html", values=waiting.values, files=waiting.files)
    page.headers["Referrer-Policy"] = "no-referrer"
    return page


# -- read --------------------------------------------------------------------------------------------------------------


def _form(visitor: Visitor) -> PublicForm:
    slug = visitor.arguments.get("slug") or ""
    form = contact_forms.form_at(visitor.service, visitor.library.forms, visitor.brand, slug, visitor.language)
    if form is None:
        raise NotFound(_("There is no such page."))
    return form


def _names(form: PublicForm) -> list[str]:
    return [*PLAIN, *(each.name for each in form.fields), "files", "consent"]


def _labels(form: PublicForm) -> dict[str, Words]:
    """The labels of the fields, for the summary of mistakes."""
    plain = {
        "name": _("Your name"),
        "email": _("Your email address"),
        "subject": _("Subject"),
        "message": _("Message"),
        "files": _("Files"),
        "consent": _("Consent"),
    }
    return plain | {
        each.name: form.definitions[each.field_id].name for each in form.fields if each.field_id in form.definitions
    }


def _typed(form: PublicForm, sent: Params) -> TypedForm:
    return TypedForm(
        **{name: sent.text(name, "") for name in PLAIN},
        customs={each.field_id: sent.text_list(each.name) for each in form.fields},
        has_consent=sent.flag("consent"),
    )


def _opened(visitor: Visitor) -> SentForm | VisitorPage:
    """Returns the submitted form, or the page for one that cannot be accepted. Raises NotFound."""
    form, sent = _form(visitor), visitor.form
    if sent.text(TRAP, ""):
        return _sent(visitor, form, submitting.TICKET_SENT)
    now, service = visitor.ctx.now, visitor.service
    token = form_tokens.token_of(service, form.id, sent.text("token", ""), now)
    typed, problems = _typed(form, sent), Form(dict.fromkeys(_names(form), ""))
    if token is None:
        problems.fail("", _("This page was open for too long. Check your message, add your files and send it again."))
        return _form_page(visitor, form, form_tokens.new_token(service, form.id, now), typed, problems)
    outcome = form_tokens.known_outcome(service, token.nonce)
    if outcome is not None:
        return _sent(visitor, form, outcome)
    return SentForm(form, token, typed, problems)


def _checked(visitor: Visitor, file_problems: Form) -> tuple[SentForm, Submission] | VisitorPage:
    """Returns the page of a form that has mistakes or is quickly prepared, else the form and its submission, for the
    caller to prepare outside the snapshot. file_problems: mistakes in its files. Raises NotFound."""
    sent, ctx = _opened(visitor), visitor.ctx
    if isinstance(sent, VisitorPage):
        return sent
    form, token, problems = sent.form, sent.token, sent.problems
    for name, text in file_problems.errors.items():
        problems.fail(name, text)
    try:
        values = form_values.check(ctx, form, sent.typed)
    except HelpdeskError as error:
        problems.refuse(error)
    if token.age(ctx.now) < visitor.service.settings.contact_form_seconds:
        problems.fail("", _("You sent this faster than a person can. Check your message and send it again."))
    if problems.is_wrong:
        return _form_page(visitor, form, token, sent.typed, problems)
    is_unproven = form.has_proof and not form_tokens.is_proven(token, visitor.form.text("proof", ""))
    network = lockout.address(visitor.request.client)
    confirms = form.confirms_address or is_unproven
    submission = submitting.submission(ctx, form, token, values, network=network, confirms=confirms)
    return _prepared(visitor, sent, submission) if submission.is_quick else (sent, submission)


def _prepared(visitor: Visitor, sent: SentForm, submission: Submission) -> VisitorPage:
    """Returns the thanks with the write of a form, or the form with an error."""
    try:
        write = submission.ready(visitor.brand, visitor.language)
    except HelpdeskError as error:
        return _refused(visitor, sent, error)
    return _written(visitor, sent, submission, write)


def _written(visitor: Visitor, sent: SentForm, submission: Submission, write: Accept) -> VisitorPage:
    """Returns the thanks, which are sent after the write."""
    page = _sent(visitor, sent.form, submission.outcome)

    def accept(tx: Transaction) -> VisitorPage | None:
        outcome = write(tx)
        return None if outcome == submission.outcome else _sent(visitor, sent.form, outcome)

    def refused(error: BaseException) -> VisitorPage:
        try:
            return _sent(visitor, sent.form, submission.refuse(error))
        except HelpdeskError as problem:
            return _refused(visitor, sent, problem)

    page.write, page.refused = accept, refused
    return page


def _refused(visitor: Visitor, sent: SentForm, error: HelpdeskError) -> VisitorPage:
    """Returns the form with the error of its operation and the submitted values."""
    if isinstance(error, Unavailable):
        error = Unavailable(lazy_gettext("Too many messages arrive at the moment. Send yours again."), retry_after=5)
    sent.problems.refuse(error)
    if sent.problems.status == INVALID:
        sent.problems.status = status_and_code(error)[0]
    return _form_page(visitor, sent.form, sent.token, sent.typed, sent.problems)


def _changes_files(sent: Params) -> bool:
    return bool(sent.tree.get("remove") or sent.tree.get("files"))


def _change_files(visitor: Visitor, token: FormToken, problems: Form) -> None:
    """Removes files that the visitor removed, and stores new ones, so that a refused form keeps them."""
    sent = visitor.form
    removed = set(sent.text_list("remove"))
    if removed:
        visitor_files.remove(visitor.service, token, removed)
    for value in sent.tree.get("files") or []:
        if not isinstance(value, Upload) or not (value.filename or value.content):
            continue
        try:
            _store(visitor, token, value)
        except HelpdeskError as error:
            name = visitor_files.safe_name(value.filename)
            problems.fail("files", f"{name}: {Form().refuse(error, ['files']).errors['files']}")


def _store(visitor: Visitor, token: FormToken, file: Upload) -> WaitingFile:
    return visitor_files.store(
        visitor.service,
        token,
        lockout.address(visitor.request.client),
        visitor.ctx.now,
        name=file.filename,
        mime_type=file.content_type,
        content=file.content,
    )


# -- shown -------------------------------------------------------------------------------------------------------------


def _sent(visitor: Visitor, form: PublicForm, outcome: str) -> VisitorPage:
    query = {"sent": outcome} | ({"embed": "1"} if _is_embedded(visitor) else {})
    return see(visitor.place(form.path, **query), 303)


def _is_embedded(visitor: Visitor) -> bool:
    return visitor.query.flag("embed")


def _page(
    visitor: Visitor, form: PublicForm, template: str, status: int = 200, title: str = "", **values: Any
) -> VisitorPage:
    page = render(
        visitor,
        template,
        title=title or form.title,
        status=status,
        paths=dict.fromkeys(visitor.brand.languages, form.path),
        form=form,
        is_embedded=_is_embedded(visitor),
        path=visitor.place(form.path),
        **values,
    )
    page.is_cacheable = False
    page.frames = form.frame_origins
    return page


def _form_page(
    visitor: Visitor,
    form: PublicForm,
    token: FormToken,
    typed: TypedForm,
    problems: Form,
    *,
    is_preview: bool = False,
) -> VisitorPage:
    action = visitor.place(form.path, **({"embed": "1"} if _is_embedded(visitor) else {}))
    page = _page(
        visitor,
        form,
        "contact.html",
        problems.status,
        title=f"{_('Error:')} {form.title}" if problems.is_wrong else form.title,
        action=action,
        token=token,
        typed=typed,
        problems=problems,
        rows=[_row(form, each, typed) for each in form.fields if each.field_id in form.definitions],
        files=visitor_files.waiting(visitor.service, token) if form.has_files else [],
        upload=f"{visitor.prefix}/contact-files/{form.id}",
        suggest=visitor.place("/suggest"),
        trap=TRAP,
        limits=form_values,
        most_bytes=visitor_files.max_bytes(visitor.service),
        most_files=visitor_files.MAX_FORM_FILES,
        labels=_labels(form),
        is_preview=is_preview,
        bits=form_tokens.PROOF_BITS if form.has_proof else 0,
        form_script=static_path(visitor, SCRIPT),
        worker=static_path(visitor, PROOF_SCRIPT),
    )
    page.headers |= problems.headers
    return page


def _row(form: PublicForm, each: FormField, typed: TypedForm) -> FieldRow:
    definition, other = form.definitions[each.field_id], form.definitions.get(each.if_field_id)
    condition: dict[str, Any] = {}
    if other is not None:
        label: Words = lazy_gettext("Only if {field} is {value}.", field=other.name, value=each.if_value)
        if other.kind == "C":
            ticked = N_("Only if {field} is ticked.")
            unticked = N_("Only if {field} is not ticked.")
            text = ticked if each.if_value == "1" else unticked
            label = _(text, field=other.name)
        condition = {"if_name": f"custom_{other.id}", "if_value": each.if_value, "if_label": label}
    return FieldRow(
        each.name,
        definition.name,
        definition.kind,
        each.is_required,
        list(typed.customs.get(each.field_id, [])),
        definition.options,
        **condition,
    )


def _json_problem(status: int, message: str) -> VisitorPage:
    page = json_page({"error": message})
    page.status, page.is_cacheable = status, False
    return page
