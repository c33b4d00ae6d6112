"""Checks a submitted contact form. Nothing that the browser sends is trusted: the conditions of the form decide again
which fields it shows."""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import date
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Mistakes
from server.help_center.contact_forms import PublicForm
from server.mail import addresses
from server.mailroom import sender as senders
from server.markup.typed_text import clean_lines
from server.record_types.shared import custom
from server.record_types.shared.contact_fields import FormField, shown_fields
from server.record_types.shared.custom import FieldDefinition
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

MAX_NAME_CHARS, MAX_SUBJECT_CHARS, MAX_MESSAGE_CHARS = 100, 200, 20_000
MAX_EMAIL_CHARS = 254  # RFC 5321, section 4.5.3.1.3
MAX_FIELD_CHARS = 10_000
MAX_CHOICES = 100  # options of one field
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class TypedForm:
    """The submitted texts. customs: by id of the custom field."""

    name: str = ""
    email: str = ""
    subject: str = ""
    message: str = ""
    customs: Mapping[int, list[str]] = field(default_factory=dict)
    has_consent: bool = False


@dataclass(frozen=True)
class CheckedForm:
    """A form that may become a ticket. customs: unconverted values by `custom_<id>`."""

    name: str
    email: str
    subject: str
    message: str
    customs: dict[str, Any]

    def stored(self) -> dict[str, Any]:
        """Returns the values as a waiting form stores them."""
        return {
            "name": self.name,
            "email": self.email,
            "subject": self.subject,
            "message": self.message,
            "customs": self.customs,
        }


def check(ctx: Context, form: PublicForm, typed: TypedForm) -> CheckedForm:
    """Checks a submitted form. Raises Invalid with all mistakes, each with its field."""
    mistakes = Mistakes()
    texts: dict[str, str] = {}
    for name, most, is_required in (
        ("name", MAX_NAME_CHARS, form.is_name_required),
        ("email", MAX_EMAIL_CHARS, True),
        ("subject", MAX_SUBJECT_CHARS, True),
    ):
        with mistakes.collect():
            texts[name] = _line(name, getattr(typed, name), most, is_required)
    is_address = _is_address(texts.get("email", ""))
    with mistakes.collect():
        if texts.get("email") and not is_address:
            raise Invalid(N_("enter an email address, such as ann@example.com"), field="email")
    with mistakes.collect():
        texts["message"] = _text("message", typed.message, MAX_MESSAGE_CHARS)
        if not texts["message"]:
            raise Invalid(N_("write your message"), field="message")
    customs: dict[str, Any] = ctx.service.store.read(lambda tx: _customs(ctx, tx, form, typed, mistakes))
    with mistakes.collect():
        if is_address and _is_ours(ctx, texts["email"].lower()):
            raise Invalid(N_("this is our address; enter your own"), field="email")
    with mistakes.collect():
        if not typed.has_consent and form.consent:
            raise Invalid(N_("agree to this, or write to us another way"), field="consent")
    mistakes.require_none()
    return CheckedForm(texts["name"], texts["email"], texts["subject"], texts["message"], customs)


def _customs(ctx: Context, tx: Transaction, form: PublicForm, typed: TypedForm, mistakes: Mistakes) -> dict[str, Any]:
    values: dict[str, Any] = {}
    shown = shown_fields(form.fields, form.definitions, typed.customs)
    if not shown:
        return values
    intake = RecordReader(ctx, tx).intake()
    for each in shown:
        definition = form.definitions[each.field_id]
        with mistakes.collect():
            value = _value(each, definition, typed.customs.get(each.field_id, []))
            if value is not None:
                custom.coerce(definition, each.name, value, intake)
                values[each.name] = value
    return values


def _value(each: FormField, definition: FieldDefinition, submitted: list[str]) -> Any:
    """The value of a custom field, None for none. Raises Invalid."""
    texts = [text.strip() for text in submitted[:MAX_CHOICES] if text.strip()]
    if definition.kind == "C":
        if each.is_required and "1" not in texts:
            raise Invalid(N_("tick this"), field=each.name)
        return "1" if "1" in texts else None
    if not texts:
        if each.is_required:
            raise Invalid(N_("fill this in"), field=each.name)
        return None
    if definition.kind == "X":
        unknown = next((text for text in texts if text not in definition.options), None)
        if unknown is not None:
            raise Invalid(lazy_gettext("'{value}' is not one of the options", value=unknown[:80]), field=each.name)
        return texts
    text = texts[0]
    if definition.kind == "T":
        return _text(each.name, text, MAX_FIELD_CHARS)
    if definition.kind == "E":
        _require_day(each.name, text)
    return _line(each.name, text, MAX_FIELD_CHARS, False)


def _line(name: str, text: str, most: int, is_required: bool) -> str:
    text = text.strip()
    if is_required and not text:
        raise Invalid(N_("fill this in"), field=name)
    if _BREAKS.search(text):
        raise Invalid(N_("write this on one line"), field=name)
    return _limited(name, text, most)


def _text(name: str, text: str, most: int) -> str:
    return _limited(name, clean_lines(text), most)


def _limited(name: str, text: str, most: int) -> str:
    if len(text) > most:
        problem = lazy_gettext("at most {count} characters, this has {number}", count=most, number=len(text))
        raise Invalid(problem, field=name)
    return text


def _is_address(text: str) -> bool:
    return addresses.valid(text) and addresses.the_one(text) is not None


def _is_ours(ctx: Context, email: str) -> bool:
    table = ctx.service.registry.type("address").table

    def read(tx: Transaction) -> bool:
        # Most visitors write for the first time, and finding out whose an address is takes five times as long.
        if all(tx.first(table, email=each) is None for each in {email, addresses.without_plus(email)}):
            return False
        return senders.is_own(senders.records_of(RecordReader(ctx, tx), [email]), email)

    return ctx.service.store.read(read)


def _require_day(name: str, text: str) -> None:
    try:
        if not _DAY.fullmatch(text):
            raise ValueError(text)
        date.fromisoformat(text)
    except ValueError:
        raise Invalid(N_("enter a day, such as 2026-05-31"), field=name) from None
