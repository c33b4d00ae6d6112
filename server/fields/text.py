"""Texts: plain ones, web addresses, and formats (mail address, language, zone, date, YAML, KATA)."""

import datetime
import re
import urllib.parse
from typing import Any

from server import kata, times
from server.errors import Invalid, KataSyntax
from server.fields import languages
from server.fields.field import Field, Intake, as_text
from server.mail import addresses
from server.search.filters import Match, TextFilter
from server.store.tables import Column
from server.translation import N_, lazy_gettext

DEFAULT_MAX = 255


class Text(Field):
    """Characters. `max`: their largest number; a longer text is an error, and nothing is truncated.

    allowed: the only values; blank is accepted unless the field is required. form: email, language, timezone, date,
    yaml, kata. exact: comparisons are case-sensitive. match: how its filter compares. one_line: rejects line ends, for
    values that mail puts into headers."""

    type = "text"
    filter_kind = TextFilter

    def __init__(
        self,
        note: str,
        max: int = DEFAULT_MAX,
        *,
        min: int = 0,
        allowed: tuple[str, ...] = (),
        pattern: str = "",
        form: str = "",
        blank_ok: bool = False,
        exact: bool = False,
        match: Match = "partial",
        one_line: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(note, **options)
        self.max = max
        self.min = min
        self.allowed = allowed
        self.pattern = pattern
        self.form = form
        self.blank_ok = blank_ok
        self.exact = exact
        self.match = match
        self.one_line = one_line

    def filter_options(self) -> dict[str, Any]:
        is_prose = not (self.exact or self.form or self.pattern or self.allowed or self.match == "exact")
        return {"match": self.match, "is_prose": is_prose}

    def initial(self) -> Any:
        return self.default or ""

    def column(self) -> Column:
        return Column(self.name, "TEXT", self.initial(), nocase=not self.exact)

    def read(self, raw: Any, intake: Intake) -> str:
        text = as_text(raw)
        if len(text) > self.max:
            raise self.bad(
                lazy_gettext("at most {count} characters, this has {number}", count=self.max, number=len(text))
            )
        if "\x00" in text:
            raise self.bad(N_("must not contain a NUL character"))
        if self.one_line and len(f"{text}.".splitlines()) > 1:
            raise self.bad(N_("must be one line; remove the line breaks"))
        if text and len(text) < self.min:
            raise self.bad(lazy_gettext("at least {count} characters", count=self.min))
        if self.allowed and text not in self.allowed and text != "":
            raise self.bad(
                lazy_gettext(
                    "'{value}' is not one of {known}", value=text[:50], known=", ".join(filter(None, self.allowed))
                )
            )
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise self.bad(lazy_gettext("'{value}' must match {pattern}", value=text[:50], pattern=self.pattern))
        return FORMS[self.form](self, text) if self.form and text else text

    def limits(self) -> dict[str, Any]:
        limits: dict[str, Any] = {"max_length": self.max, "too_long": "error"}
        for name, value in (("min_length", self.min), ("pattern", self.pattern), ("format", self.form)):
            if value:
                limits[name] = value
        if self.allowed:
            limits["allowed"] = list(self.allowed)
        if self.blank_ok:
            limits["blank_ok"] = True
        if self.one_line:
            limits["one_line"] = True
        return limits

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string", "maxLength": self.max, "description": self.note}
        if self.allowed:
            schema["enum"] = list(self.allowed)
        return schema


class Name(Text):
    """The name of a record."""

    def __init__(self, note: str = "Name; also the label.", max: int = DEFAULT_MAX, **options: Any) -> None:
        super().__init__(note, max, **{"required": True} | options)


class Listed(Text):
    """Several values with commas between, or a list of them."""

    takes_lists = True

    def read(self, raw: Any, intake: Intake) -> str:
        if isinstance(raw, dict):
            raise self.bad("takes a list, or values separated by commas")
        return super().read(", ".join(as_text(each) for each in raw) if isinstance(raw, list) else raw, intake)

    def schema(self) -> dict[str, Any]:
        array = {"type": "array", "items": {"type": ["string", "integer"]}}
        return {"anyOf": [{"type": "string"}, array], "description": self.note}


class Url(Text):
    """An http or https address, or blank."""

    type = "url"

    def read(self, raw: Any, intake: Intake) -> str:
        text = super().read(raw, intake)
        if text and not text.lower().startswith(("http://", "https://")):
            raise self.bad(N_("must start with http:// or https://"))
        if text and (not urllib.parse.urlsplit(text).netloc or any(char <= " " for char in text)):
            raise self.bad(N_("is not a web address, such as https://example.com/"))
        return text


def _email(field: Text, text: str) -> str:
    address = addresses.the_one(text)
    if address is None:
        raise field.bad(lazy_gettext("'{value}' is not an email address, such as ana@example.com", value=text[:80]))
    return address


def _language(field: Text, text: str) -> str:
    if not languages.is_known(text):
        raise field.bad(lazy_gettext("'{value}' is not a known language, such as en_US or de", value=text[:50]))
    return text


def _timezone(field: Text, text: str) -> str:
    try:
        times.zone(text)
    except Invalid as error:
        raise field.bad(error.message) from error
    return text


def _date(field: Text, text: str) -> str:
    try:
        return datetime.date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise field.bad(lazy_gettext("'{value}' is not a date, such as 1980-12-31", value=text[:50])) from None


def _yaml(field: Text, text: str) -> str:
    import yaml  # slow to import and rarely needed

    try:
        yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise field.bad(f"is not YAML{place}") from None
    except RecursionError:
        raise field.bad(N_("is nested too deeply")) from None
    return text


def _kata(field: Text, text: str) -> str:
    try:
        kata.parse(text)
    except KataSyntax as error:
        raise field.bad(
            lazy_gettext("is not KATA at line {line}: {reason}", line=error.details["line"], reason=error.message)
        ) from None
    return text


def _any(field: Text, text: str) -> str:
    return text


FORMS = {
    "email": _email,
    "emails": _any,
    "language": _language,
    "timezone": _timezone,
    "date": _date,
    "yaml": _yaml,
    "kata": _kata,
    "extension": _any,
}
