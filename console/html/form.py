"""Values of a form and the mistakes in them, with which the form is shown again."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from console.http.page_response import INVALID
from server.dataclass import dataclass
from server.errors import HelpdeskError, TooMany, all_of
from server.translation import Words, problem_of, shown
from server.web import error_bodies
from server.web.params import Params


@dataclass
class Form:
    """The values of a form.

    values: {name: text}. several: {name: texts} of fields with several values. errors: {name: message}, with "" for a
    mistake in the form as a whole. labels: {name: label} for the summary of mistakes. status, headers: of the response
    that shows the form."""

    values: dict[str, str] = field(default_factory=dict)
    several: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def sent(cls, params: Params, names: Iterable[str], several: Iterable[str] = ()) -> "Form":
        """The submitted values; missing fields are blank. Raises Malformed, Invalid."""
        return cls({name: params.text(name, "") for name in names}, {name: params.text_list(name) for name in several})

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "Form":
        """A form with these values."""
        return cls({name: "" if value is None else str(value) for name, value in values.items()})

    def get(self, name: str) -> str:
        return self.values.get(name, "")

    def text(self, name: str) -> str:
        """A value without white space at its ends."""
        return self.get(name).strip()

    def fail(self, name: str, message: Words) -> "Form":
        """Adds a mistake of a field, or with "" of the whole form."""
        self.errors.setdefault(name, shown(message))
        self.status = max(self.status, INVALID)
        return self

    def refuse(self, error: HelpdeskError, known: Iterable[str] = (), names: Mapping[str, str] | None = None) -> "Form":
        """Adds the mistakes of a failed operation, each at its field if the form has it. names: {field of the
        operation: field of the form}."""
        fields = set(known) or set(self.values) | set(self.several)
        for each in all_of(error):
            field = str(each.details.get("field") or "")
            name = (names or {}).get(field, field)
            is_known = name in fields
            message = problem_of(each.message, field) if is_known else each.message
            self.fail(name if is_known else "", sentence(message))
        if isinstance(error, TooMany):
            self.status, self.headers = error_bodies.status_and_code(error)[0], error_bodies.headers(error)
        return self

    def sent_again(self) -> dict[str, str | list[str]]:
        """The fields as the browser would submit them, for an Undo that restores the former values."""
        return {**self.values, **{f"{name}[]": list(texts) for name, texts in self.several.items()}}

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors)


def sentence(message: str) -> str:
    """The message as a sentence, with a capital first letter.

    >>> sentence("email: is taken"), sentence("mail.example cannot be reached")
    ('Email: is taken', 'mail.example cannot be reached')
    """
    message = shown(message)
    first = message.partition(" ")[0].rstrip(":;,.").replace("-", "")
    return message[:1].upper() + message[1:] if first.isalpha() else message  # names of hosts and settings stay
