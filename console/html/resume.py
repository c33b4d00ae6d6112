"""Forms that came too late: the session was over, the password too long ago, or the token of an older session. They are
shown to be sent again, with what proves who sends them; then they are done as if nothing had been in the way."""

from collections.abc import Sequence

from console.html import confirmation
from console.html.confirmation import Confirmation
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import INVALID, PageResponse
from console.http.routes import Page
from console.http.visit import FORM_TOKEN, Visit
from server.access.service_actor import own_context
from server.access.sessions import Session
from server.errors import Forbidden, HelpdeskError, NotAuthenticated, TooMany
from server.people import form_drafts
from server.sign_in import passkey_sign_in, provider_sign_in, security, sign_in
from server.sign_in.sign_in import NewSession
from server.translation import N_, Words, _, shown
from server.web.params import Upload

# Fields that the page adds to the form. In other forms, only the token begins with an underscore.
EMAIL, PROOF, PASSKEY = "_email", "_proof", "_passkey"
REFUSED = (NotAuthenticated, TooMany, Forbidden)
OLDER = N_("This form is older than your session.")
SIGNED_OUT = N_("You were signed out before you sent this.")
CONFIRM = N_("This action is sensitive, and you have not entered your password for a while.")


def again(visit: Visit, reason: str, form: Form | None = None) -> PageResponse:
    """A page that offers the submitted fields again, so that nothing is lost. Secrets are typed again and files chosen
    again. form: the mistake in the proof. Raises Forbidden for requests that no browser sends."""
    visit.require_secret()
    headers = visit.request.headers
    is_ours = visit.session is not None and visit.has_form_token()
    if not is_ours and headers.get("Sec-Fetch-Site") is None and headers.get("Origin") is None:
        raise Forbidden(_("This form does not belong to your session. Open its page again, and send it from there."))
    form = form or Form()
    fields, secrets, uploads = _fields_by_kind(visit)
    asks = _asks(visit, reason)
    return render(
        visit,
        "again.html",
        403,
        reason=reason,
        form=form,
        fields=fields,
        secrets=secrets,
        uploads=uploads,
        asks=asks,
        email_field=EMAIL,
        proof_field=PROOF,
        has_code=_has_code(visit),
        has_providers=bool(provider_sign_in.providers_of_page(visit.service)[0]),
        passkey_origin=_passkey_origin(visit, asks),
        passkey_field=PASSKEY,
    )


def repeat(visit: Visit, reason: Words, answer: str) -> PageResponse:
    """A page that offers to submit an accepted form again. answer: the field that confirms it."""
    fields, _secrets, uploads = _fields_by_kind(visit)
    return render(visit, "repeat.html", 409, reason=shown(reason), fields=[*fields, (answer, "1")], uploads=uploads)


def ask(visit: Visit) -> PageResponse:
    """The question before what cannot be undone, as a page: the form goes on from there."""
    own_fields = (confirmation.QUESTION, confirmation.VERB, confirmation.ANSWER)
    fields = [(name, value) for name, value in _sent(visit) if isinstance(value, str) and name not in own_fields]
    verb = visit.form.text(confirmation.VERB, "")[:60] or _("Continue")
    question = Confirmation(visit.form.text(confirmation.QUESTION, ""), verb)
    return question_page(visit, question, fields, target=visit.shown_path, back=visit.referring_path)


def question_page(
    visit: Visit,
    question: Confirmation,
    fields: Sequence[tuple[str, str]],
    *,
    target: str,
    back: str,
    is_undoable: bool = False,
) -> PageResponse:
    """The page of a question. fields: of the form that goes on; target: the path that it is sent to. back: the path of
    *Cancel*. is_undoable: whether the act can be undone."""
    return render(
        visit,
        "sure.html",
        INVALID,
        question=question.text,
        verb=question.verb,
        fields=fields,
        answer=confirmation.ANSWER,
        target=target,
        back=back,
        is_undoable=is_undoable,
    )


def prove(visit: Visit, page: Page) -> PageResponse | None:
    """Signs in or steps up with the credentials in a resumed form, which then goes on as any other form. Responds with
    the same page if they are refused or a code is still missing."""
    if PROOF not in visit.form or page.access in ("anyone", "code") or not visit.has_form_token():
        return None
    form = Form.from_values({EMAIL: visit.form.text(EMAIL, "")})
    try:
        session = visit.session
        if session is None:
            new_session = _signed_in(visit, form.text(EMAIL))
            visit.begin(new_session, is_kept=False)
            return again(visit, _("Also enter the code of your second factor.")) if new_session.waits_for_code else None
        if session.waits_for_code:
            visit.begin(_completed(visit, session))
        elif page.access.startswith("proven") and not session.is_stepped_up(visit.now):
            visit.begin(NewSession(_stepped_up(visit, session), waits_for_code=False))
    except REFUSED as error:
        reason = SIGNED_OUT if visit.session is None else CONFIRM
        return again(visit, reason, form.refuse(_at_proof(error)))
    return None


def _signed_in(visit: Visit, email: str) -> NewSession:
    ctx, response = own_context(visit.service), visit.form.text(PASSKEY, "")
    if response:
        return passkey_sign_in.by_passkey(ctx, response, visit.secret, visit.peer)
    return sign_in.by_password(ctx, email, visit.form.text(PROOF, ""), visit.peer)


def _completed(visit: Visit, session: Session) -> NewSession:
    response = visit.form.text(PASSKEY, "")
    if response:
        return passkey_sign_in.as_second_factor(visit.ctx, session, response, visit.secret, visit.peer)
    return sign_in.by_code(visit.ctx, session, visit.form.text(PROOF, ""), visit.peer)


def _stepped_up(visit: Visit, session: Session) -> str:
    response = visit.form.text(PASSKEY, "")
    if response:
        return passkey_sign_in.step_up(visit.ctx, session, response, visit.secret, visit.peer)
    return sign_in.step_up(visit.ctx, session, visit.form.text(PROOF, ""), visit.peer)


def _at_proof(error: HelpdeskError) -> HelpdeskError:
    """The form with a mistake above it: it may be the address or the password."""
    error.details.pop("field", None)
    return error


def _asks(visit: Visit, reason: str) -> str:
    """The proof that the page asks for: `sign-in`, `code`, `password`, or only another click."""
    if visit.session is None:
        return "sign-in"
    if visit.session.waits_for_code:
        return "code"
    return "password" if reason == CONFIRM else ""


def _has_code(visit: Visit) -> bool:
    return visit.session is not None and security.has_app(visit.service, visit.actor.worker_id)


def _passkey_origin(visit: Visit, asks: str) -> str:
    """The origin at which a passkey can be the proof; "" if none can."""
    if not asks or visit.session is None:
        return passkey_sign_in.origin(visit.service) if asks else ""
    return passkey_sign_in.origin(visit.service, visit.actor.worker_id, is_to_confirm=asks == "password")


def _sent(visit: Visit) -> list[tuple[str, str | Upload]]:
    """Returns the submitted fields, without those that the page added."""
    return [(name, value) for name, value in visit.form.fields() if name not in (FORM_TOKEN, EMAIL, PROOF, PASSKEY)]


def _fields_by_kind(visit: Visit) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """The submitted texts that may be shown, and the names of submitted secrets and of files."""
    sent = _sent(visit)
    texts = [(name, value) for name, value in sent if isinstance(value, str)]
    plain = [(name, text) for name, text in texts if not form_drafts.is_secret(name)]
    secrets = [name for name, text in texts if text and form_drafts.is_secret(name)]
    return plain, secrets, [name for name, value in sent if isinstance(value, Upload)]
