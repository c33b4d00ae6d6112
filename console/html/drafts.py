"""Drafts of forms: restores a draft into its form, and deletes it when the form is saved. server/people/form_drafts.py
stores them."""

from console.html.form import Form
from console.http.visit import Visit
from server.people import form_drafts

FIELD = "_draft"  # a field of the form: the key of its draft, which is deleted when the form is saved
TAKE_UP = "draft"  # a parameter of the address: the key of the draft to restore


def take_up(visit: Visit, key: str, form: Form) -> Form:
    """The form with what its draft has, when the worker asks for it by the address; else as it is."""
    if visit.is_post or visit.query.text(TAKE_UP, "") != key:
        return form
    draft = form_drafts.load(visit.ctx, key)
    for name in {name for name, _ in draft.fields} if draft is not None else ():
        assert draft is not None
        plain = name.removesuffix("[]")
        if plain in form.several:
            form.several[plain] = [text for text in draft.texts(name) if text]
        elif name in form.values:
            form.values[name] = draft.text(name)
    return form


def is_saved(visit: Visit) -> None:
    """The form that was sent is saved: its draft goes. Pages that lead to another one need not say so."""
    key = visit.form.text(FIELD, "")
    if key and visit.session is not None and not visit.session.waits_for_code:
        form_drafts.drop(visit.ctx, key)
