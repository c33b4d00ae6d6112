"""Subjects and texts of a group's request for a rating in further languages, and which of them a customer gets."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.fields import Intake, Structure, languages
from server.fields.field import as_text
from server.people.acknowledgement_text import MAX_CHARACTERS
from server.translation import N_, lazy_gettext

MAX_LANGUAGES = 20
MAX_SUBJECT_CHARS = 255
MAX_JSON_CHARS = 500_000
KEYS = frozenset(("language", "subject", "text"))


class RatingTexts(Structure):
    """A list of maps of language, subject and text."""

    def initial(self) -> Any:
        return "[]"

    def read(self, raw: Any, intake: Intake) -> Any:
        items = super().read(raw, intake) or []
        if not isinstance(items, list) or not all(isinstance(each, Mapping) and set(each) <= KEYS for each in items):
            raise self.bad(N_("takes a list of maps with language, subject and text"))
        if len(items) > MAX_LANGUAGES:
            raise self.bad(lazy_gettext("at most {count} languages", count=MAX_LANGUAGES))
        texts = [self._item(each) for each in items]
        tags = [each["language"] for each in texts]
        for tag in tags:
            if tags.count(tag) > 1:
                raise self.bad(lazy_gettext("the language {value} is there twice", value=tag))
        return texts

    def _item(self, item: Mapping[str, Any]) -> dict[str, str]:
        language = as_text(item.get("language", "")).strip().replace("_", "-")
        if not language:
            raise self.bad(N_("each subject and text needs its language, such as en or pt-BR"))
        if not languages.is_known(language):
            raise self.bad(lazy_gettext("'{value}' is not a known language, such as en or pt-BR", value=language[:50]))
        subject = " ".join(as_text(item.get("subject", "")).split())
        text = as_text(item.get("text", "")).replace("\r\n", "\n").strip()
        if not subject and not text:
            raise self.bad(lazy_gettext("{value} needs a subject or a text", value=language))
        for chars, most in ((len(subject), MAX_SUBJECT_CHARS), (len(text), MAX_CHARACTERS)):
            if chars > most:
                raise self.bad(
                    lazy_gettext(
                        "{value}: at most {count} characters, this has {number}",
                        value=language,
                        count=most,
                        number=chars,
                    )
                )
        return {"language": language, "subject": subject, "text": text}


def text_for(items: Sequence[Mapping[str, str]], language: str) -> Mapping[str, str] | None:
    """Returns the item of a language: its own, else one with less detail, else one of another region; None without one.
    Follows the lookup of RFC 4647, section 3.4, besides the last step.

    >>> items = [{"language": "de"}, {"language": "pt-BR"}]
    >>> [text_for(items, each) for each in ("de_AT", "pt", "fr", "")]
    [{'language': 'de'}, {'language': 'pt-BR'}, None, None]
    """
    by_tag = {each["language"]: each for each in items}
    parts = language.replace("_", "-").split("-")
    for count in range(len(parts), 0, -1):
        if (item := by_tag.get("-".join(parts[:count]))) is not None:
            return item
    return next((each for tag, each in by_tag.items() if tag.split("-")[0] == parts[0]), None)
