"""What was typed into a form, and what is wrong with it: the same form is shown again with both."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from console.http.page_response import INVALID
from server.dataclass import dataclass
from server.errors import HelpdeskError, TooMany, all_of
from server.translation import Words, problem_of, shown
from server.web import errors
from server.web.params import Params


@dataclass
class Form:
    """values: {name: text}. several: {name: texts} of fields with several values. errors: {name: message}; "" for what
    is wrong with the form as a whole. labels: {name: label} of the fields, for the summary. status, headers: of the
    answer that shows it."""

    values: dict[str, str] = field(default_factory=dict)
    several: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def sent(cls, params: Params, names: Iterable[str], several: Iterable[str] = ()) -> "Form":
        """What was sent. Fields that are missing are blank. Raises Malformed, Invalid."""
        return cls({name: params.text(name, "") for name in names}, {name: params.text_list(name) for name in several})

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Form":
        """A form with these values."""
        return cls({name: "" if value is None else str(value) for name, value in values.items()})

    def get(self, name: str) -> str:
        return self.values.get(name, "")

    def text(self, name: str) -> str:
        """A value without blanks at its ends."""
        return self.get(name).strip()

    def fail(self, name: str, message: Words) -> "Form":
        """Something is wrong with a field, or with the whole form."""
        self.errors.setdefault(name, shown(message))
        self.status = max(self.status, INVALID)
        return self

    def refuse(self, error: HelpdeskError, known: Iterable[str] = (), names: Mapping[str, str] | None = None) -> "Form":
        """An operation refused: each mistake at its field when the form has it. names: {field of the operation: of the
        form}."""
        fields = set(known) or set(self.values) | set(self.several)
        for each in all_of(error):
            field = str(each.details.get("field") or "")
            name = (names or {}).get(field, field)
            is_known = name in fields
            told = problem_of(each.message, field) if is_known else each.message
            self.fail(name if is_known else "", sentence(told))
        if isinstance(error, TooMany):
            self.status, self.headers = errors.status_and_code(error)[0], errors.headers(error)
        return self

    def sent_again(self) -> dict[str, str | list[str]]:
        """The fields as they would be sent: for an Undo that saves what was there before."""
        return {**self.values, **{f"{name}[]": list(texts) for name, texts in self.several.items()}}

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors)


def sentence(message: str) -> str:
    """A message of an operation as it begins a line.

    >>> sentence("email: is taken"), sentence("mail.example cannot be reached")
    ('Email: is taken', 'mail.example cannot be reached')
    """
    message = shown(message)
    first = message.partition(" ")[0].rstrip(":;,.").replace("-", "")
    return message[:1].upper() + message[1:] if first.isalpha() else message  # names of hosts and settings stay
