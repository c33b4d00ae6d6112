"""Carries out a form that creates something only once, even if it arrives again: after a double click, Back and send,
or a retry of the browser. Repeated forms get the page that the first one led to."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from console.html import resume
from console.http.page_response import PageResponse, see
from console.http.visit import FORM_TOKEN, Visit
from server.people import accepted_forms
from server.people.accepted_forms import Claim
from server.store.store_local import StoreLocal
from server.translation import N_, Words, _
from server.web.params import Upload

REPEAT = "_repeat"  # a field: carry the form out although it was accepted before
PAGES, PAGE_SECONDS = 50, 300  # pages that are shown once, held for a form that arrives again
# Fields that may differ between two arrivals of the same form.
VOLATILE = frozenset((FORM_TOKEN, REPEAT, "_draft", "_email", "_proof", "draft", "revision", "seen", "back"))
REASONS: dict[str, Words] = {
    "changed": N_("You already sent this and have changed it since. Send it again only if you want both."),
    "twin": N_("You sent the same form a moment ago. Send it again only if you want it twice."),
    "running": N_("The same form is still being processed. Check its result before you send it again."),
    "interrupted": N_(
        "You sent this form before, but the service stopped while it was processing it. Check "
        "whether it was done before you send it again."
    ),
}


class _Pages:
    """Pages that are shown once, such as the one with a new token; stored in memory for a short time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: OrderedDict[tuple[int, str, str], tuple[int, PageResponse]] = OrderedDict()

    def add(self, key: tuple[int, str, str], page: PageResponse, now: int) -> None:
        with self._lock:
            self._pages[key] = now, page
            while len(self._pages) > PAGES or next(iter(self._pages.values()))[0] + PAGE_SECONDS <= now:
                self._pages.popitem(last=False)

    def get(self, key: tuple[int, str, str], now: int) -> PageResponse | None:
        with self._lock:
            at, page = self._pages.get(key, (0, None))
        return page if at + PAGE_SECONDS > now else None


_PAGES: StoreLocal[_Pages] = StoreLocal()


def carry_out(
    visit: Visit, show: Callable[[Visit], PageResponse], *, draft: str = "", is_writing: bool = False
) -> PageResponse:
    """Carries a form out unless it was accepted before; then responds as the first time.

    draft: the draft and revision that the form sends, "" for none. is_writing: whether the form holds a written
    text; a second, different one needs a confirmation."""
    form_id = visit.form_id
    if not form_id:
        return show(visit)
    names = [form_id, *([f"draft:{draft}"] if draft else [])]
    digest = _digest(visit)
    claim = accepted_forms.claim_or_wait(
        visit.ctx, visit.path, names, digest, finds_twins=is_writing, repeats=visit.form.flag(REPEAT)
    )
    if claim.state == "accepted":
        return _first_response(visit, form_id, claim)
    if claim.state != "claimed":
        return _ask(visit, claim)
    is_accepted = False
    try:
        response = show(visit)
        is_accepted = response.status == 303 or visit.has_created
        if is_accepted:
            _finish(visit, names, digest, response)
    finally:
        if not is_accepted:
            accepted_forms.release(visit.ctx, visit.path, names)
    return response


def _finish(visit: Visit, names: list[str], digest: str, response: PageResponse) -> None:
    text, undo, fields = visit.message or ("", "", {})
    outcome = {"location": response.headers.get("Location", ""), "text": text, "undo": undo, "fields": fields}
    accepted_forms.finish(visit.ctx, visit.path, names, digest, outcome)
    if response.status != 303:
        pages = _PAGES.made(visit.service.store, _Pages)
        pages.add((visit.actor.worker_id, visit.path, names[0]), response, visit.now)


def _first_response(visit: Visit, form_id: str, claim: Claim) -> PageResponse:
    """The response to the first arrival of the form, with its message."""
    outcome = claim.outcome
    if outcome["text"]:
        visit.flash(outcome["text"], outcome["undo"], **outcome["fields"])
    if outcome["location"]:
        return PageResponse(status=303, headers={"Location": outcome["location"]})
    page = _PAGES.made(visit.service.store, _Pages).get((visit.actor.worker_id, visit.path, form_id), visit.now)
    if page is not None:
        return page
    visit.flash(_("This form was already processed. Its result is shown only once."))
    return see(visit.path.removesuffix("/new"))


def _ask(visit: Visit, claim: Claim) -> PageResponse:
    if claim.is_by_draft and claim.state == "changed":
        reason: Words = _("You already sent this draft and have changed it since. Send it only if you want both.")
    else:
        reason = REASONS[claim.state]
    return resume.repeat(visit, reason, REPEAT)


def _digest(visit: Visit) -> str:
    """A keyed digest of the form's content, which may hold secrets."""
    content = hashlib.sha256()
    for name, value in visit.form.fields():
        if name not in VOLATILE:
            text = f"{value.filename}\0".encode() + value.content if isinstance(value, Upload) else value.encode()
            content.update(b"%d %d " % (len(name.encode()), len(text)) + name.encode() + text)
    return visit.tag(f"form {content.hexdigest()}")
