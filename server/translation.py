"""Words in the language of who reads them.

A message is its English text: it stands in the code, and a language that lacks it shows it. Languages are files such as
`de.po`, those of resources/languages/ and those that somebody puts into `languages/` of the data folder, which replace
ours message by message. What is said by the API, on the command line and in the log stays English: programs read it."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from server.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = "en"  # the language of the messages
FOLDER = "languages"  # of the data, and of the resources
TEMPLATE = "helpdesk.pot"  # all messages, to begin a language with
RIGHT_TO_LEFT = frozenset(("ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"))
MAX_FILE_BYTES = 4 * 1024 * 1024
# A parameter or field that takes a message; what is given to it is translated where it is shown. `make messages` finds
# the texts by it.
Words = Annotated[str, "words"]
END = "\x04"  # between the context of a message and its text
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _english(count: int) -> int:
    return int(count != 1)


@dataclass(frozen=True)
class Catalog:
    """The messages of a language: {English: translated}, {English singular: its forms}, the form that a count takes,
    and the messages of scripts, which pages hand to them: pairs of English and translated."""

    language: str
    messages: Mapping[str, str] = field(default_factory=dict)
    plurals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form_of: "Callable[[int], int]" = _english
    script_messages: tuple[tuple[str, str], ...] = ()

    def text(self, message: str, context: str = "") -> str:
        """A message in this language, in one of its meanings; English where it is missing."""
        found = self.messages.get(keyed(message, context)) if context else None
        return str(self.messages.get(message, message)) if found is None else found

    @property
    def tag(self) -> str:
        """The language tag of HTML and HTTP, such as `pt-BR` (BCP 47)."""
        return self.language.replace("_", "-")

    @property
    def direction(self) -> str:
        """`rtl` for languages that are written from right to left, else `ltr`."""
        return direction(self.language)

    @property
    def is_source(self) -> bool:
        """Whether nothing is translated."""
        return not self.messages and not self.plurals


ENGLISH = Catalog(SOURCE)
_spoken: ContextVar[Catalog] = ContextVar("spoken", default=ENGLISH)


class Marked(str):
    """A text that is a message; see N_. context: which meaning of its words it has, "" where they have one."""

    context: str = ""

    def __html__(self) -> str:
        """The translation, which templates put in its place."""
        return html.escape(shown(self))


class LazyMessage(str):
    """A sentence in English that knows which message it was made of: it is translated where it is shown. Made by
    lazy_gettext(); what is made of it, such as a part of it, is English."""

    message: str
    values: Mapping[str, object]

    def __html__(self) -> str:
        """The translation, which templates put in its place."""
        return html.escape(shown(self))


def lazy_gettext(message: str, /, **values: object) -> LazyMessage:
    """A message with its values, for somebody whose language is not known here.

    >>> lazy_gettext("{count} jobs", count=3), lazy_gettext("{count} jobs", count=3).message
    ('3 jobs', '{count} jobs')
    """
    made = LazyMessage(filled(message, values))
    made.message, made.values = message, values
    return made


FIELD_PROBLEM = "{field}: {problem}"  # the same in every language


def about_field(field: str, problem: str) -> LazyMessage:
    """A problem with the field in front of it, as the API reports it.

    >>> about_field("title", lazy_gettext("at most {count} characters", count=9))
    'title: at most 9 characters'
    """
    return lazy_gettext(FIELD_PROBLEM, field=field, problem=problem)


def problem_of(message: str, field: str) -> str:
    """The problem of a field without its name, for a page that shows it beside the field.

    >>> problem_of(about_field("title", "is too long"), "title"), problem_of("title: is taken", "title")
    ('is too long', 'is taken')
    """
    if isinstance(message, LazyMessage) and message.message == FIELD_PROBLEM and message.values["field"] == field:
        problem = message.values["problem"]
        return problem if isinstance(problem, str) else str(problem)
    prefix = f"{field}: "
    return message[len(prefix) :] if message.startswith(prefix) else message  # which stays a LazyMessage


def N_(message: str) -> Marked:
    """Marks the text of a constant: it is translated where it is shown."""
    return Marked(message)


def N_pgettext(context: str, message: str) -> Marked:
    """Marks the text of a constant whose words have several meanings: context names this one."""
    marked = Marked(message)
    marked.context = context
    return marked


def N_ngettext(one: str, many: str) -> tuple[str, str]:
    """Marks the forms of a constant: ngettext takes them where it is shown."""
    return one, many


def _(message: str, /, **values: object) -> str:
    """The message in the language that is spoken, with `{name}` filled in.

    >>> _("{count} of {name}", count=2, name="{count}"), _("{left} as it is")
    ('2 of {count}', '{left} as it is')
    """
    if type(message) is not str:
        return filled(shown(message), values)
    return filled(_spoken.get().messages.get(message, message), values)


def pgettext(context: str, message: str, /, **values: object) -> str:
    """As _, of a message whose words have several meanings: context names this one. A language that has the message
    without contexts shows that.

    >>> pgettext("status", "Open"), keyed("Open", "status")
    ('Open', 'status\\x04Open')
    """
    return filled(_spoken.get().text(message, context), values)


def keyed(message: str, context: str = "") -> str:
    """The key of a message in a catalog: behind its context and an end of transmission, as in GNU MO files."""
    return f"{context}{END}{message}" if context else message


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """The form of a message that a count takes; `{count}` is filled in, too, unless it is given.

    >>> ngettext("{count} worker", "{count} workers", 1), ngettext("{count} worker", "{count} workers", 3)
    ('1 worker', '3 workers')
    """
    spoken = _spoken.get()
    forms = spoken.plurals.get(one)
    if forms:
        text = forms[min(spoken.form_of(count), len(forms) - 1)]
    else:
        text = one if count == 1 else many
    return filled(text, {"count": count, **values})


def listed(texts: Sequence[str]) -> str:
    """Texts as a sentence tells them.

    >>> listed(["08:00", "12:00", "16:00"]), listed(["08:00"]), listed([])
    ('08:00, 12:00 and 16:00', '08:00', '')
    """
    if len(texts) < 2:
        return "".join(texts)
    return _("{others} and {last}", others=", ".join(texts[:-1]), last=texts[-1])


def shown(text: str) -> str:
    """A text that may be a message, translated if it is."""
    if isinstance(text, LazyMessage):
        return _(text.message, **text.values)
    return _spoken.get().text(text, context_of(text))


def context_of(text: str) -> str:
    """The context that a message was marked with."""
    return text.context if isinstance(text, Marked) else ""


def in_sentence(name: str) -> str:
    """The name of a record type inside of a sentence: English writes it small there, others as they write it always.

    >>> in_sentence("OAuth App"), in_sentence("Mail Transports")
    ('oauth app', 'mail transports')
    """
    return name.lower() if _spoken.get().is_source else shown(name)


def shown_mark(text: Any) -> Any:
    """A text that was marked by N_ translated, another as it is: where both words and people's names are shown."""
    return shown(text) if isinstance(text, (Marked, LazyMessage)) else text


def filled(text: str, values: Mapping[str, object]) -> str:
    """A text with its placeholders replaced; those without a value stay. Nothing else in it is evaluated."""
    if not values:
        return text
    return _PLACEHOLDER.sub(lambda found: str(shown_mark(values[found[1]])) if found[1] in values else found[0], text)


def spoken() -> Catalog:
    """The language of this request."""
    return _spoken.get()


def speak(catalog: Catalog) -> None:
    """Go on in that language, until what stands around it in speaking() ends."""
    _spoken.set(catalog)


@contextmanager
def speaking(catalog: Catalog) -> Iterator[None]:
    """Within it, messages are in that language."""
    before = _spoken.set(catalog)
    try:
        yield
    finally:
        _spoken.reset(before)


@dataclass(frozen=True)
class Languages:
    """The languages that there are. folders: with files of them, the first that has a message wins."""

    folders: tuple[Path, ...]

    def names(self) -> list[str]:
        """Such as `de` or `pt_BR`, in order; English is always there."""
        found = {path.stem for folder in self.folders if folder.is_dir() for path in folder.glob("*.po")}
        return sorted({SOURCE, *(name for name in found if _LANGUAGE.fullmatch(name))})

    def of(self, language: str) -> Catalog:
        """The messages for a locale such as de_CH: those of its own file, over those of `de`; English for another.

        A file that cannot be read is as if it was not there; `helpdesk doctor` tells of it."""
        language = language.replace("-", "_")
        alone = language.partition("_")[0]
        if alone == SOURCE and not any((folder / f"{language}.po").is_file() for folder in self.folders):
            return ENGLISH
        wanted = [name for name in dict.fromkeys((language, alone)) if _LANGUAGE.fullmatch(name)]
        files = [folder / f"{name}.po" for name in wanted for folder in self.folders]
        return _merged(
            wanted[-1] if wanted else SOURCE, tuple((path, *_state(path)) for path in files if path.is_file())
        )

    def accepted(self, header: str) -> str:
        """The language of ours that a browser likes best, by its Accept-Language; "en" for none.

        >>> Languages(()).accepted("fr, en-GB;q=0.9"), Languages(()).accepted("*")
        ('en_GB', 'en')
        """
        known = set(self.names())
        for wanted in _by_liking(header):
            name = wanted.replace("-", "_")
            if name in known or name.partition("_")[0] in known:
                return name
        return SOURCE


_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z][A-Za-z]{1,3})?")
_LIKED = re.compile(r"\s*([A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?")
_MAX_HEADER_CHARS = 400


def _by_liking(header: str) -> list[str]:
    liked = [found for part in header[:_MAX_HEADER_CHARS].split(",") if (found := _LIKED.fullmatch(part))]
    scored = [(float(found[2] or 1), found[1]) for found in liked]
    return [name for score, name in sorted(scored, key=lambda each: -each[0]) if score > 0]


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@lru_cache(64)
def _merged(language: str, files: tuple[tuple[Path, int, int], ...]) -> Catalog:
    """The catalog of files, the first that has a message wins. Kept until one of them is another."""
    found = [each for path, _, size in files if (each := _read(path, size)) is not None]
    if not found:
        return ENGLISH
    messages: dict[str, str] = {}
    plurals: dict[str, tuple[str, ...]] = {}
    for each in reversed(found):
        messages.update(each.messages)
        plurals.update(each.plurals)
    scripts = dict.fromkeys(message for each in found for message, _ in each.script_messages)
    return Catalog(language, messages, plurals, found[0].form_of, tuple((each, messages[each]) for each in scripts))


def _read(path: Path, size: int) -> Catalog | None:
    """A file, None when it cannot be read."""
    if size > MAX_FILE_BYTES:
        return None
    try:
        return read(path.read_text("utf-8"), path.stem)
    except (OSError, ValueError):
        return None


def read(text: str, language: str) -> Catalog:
    """The catalog of a file's text. Fuzzy messages wait for somebody to look at them: they are not shown. Raises
    ValueError for what is no such file."""
    import polib  # only where another language than English is spoken

    try:
        entries = polib.pofile(text)
    except OSError as error:  # how it tells of syntax
        raise ValueError(str(error)) from None
    usable = [each for each in entries if each.translated() and _fits(each)]
    messages = {keyed(each.msgid, each.msgctxt or ""): each.msgstr for each in usable if not each.msgid_plural}
    of_scripts = (each for each in usable if any(path.endswith(".js") for path, _line in each.occurrences))
    scripts = (keyed(each.msgid, each.msgctxt or "") for each in of_scripts if not each.msgid_plural)
    return Catalog(
        language,
        messages,
        {each.msgid: _forms(each.msgstr_plural) for each in usable if each.msgid_plural},
        _plural_rule(entries.metadata.get("Plural-Forms", "")),
        tuple((key, messages[key]) for key in scripts),
    )


def _forms(forms: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(forms[index] for index in sorted(forms))


def _fits(entry: object) -> bool:
    """Whether a translation has no placeholder or element that its message lacks: it would be shown as it stands."""
    wanted = marks(f"{entry.msgid} {entry.msgid_plural}")  # type: ignore[attr-defined]
    given = [entry.msgstr, *entry.msgstr_plural.values()]  # type: ignore[attr-defined]
    return all(marks(each) <= wanted for each in given)


_MARKS = re.compile(r"\{\w+\}|</?[a-z][^>]*>")


def marks(text: str) -> set[str]:
    """The placeholders and tags of a message.

    >>> sorted(marks("{count} of <b>them</b>"))
    ['</b>', '<b>', '{count}']
    """
    return set(_MARKS.findall(text))


def _plural_rule(header: str) -> "Callable[[int], int]":
    """Which form a count takes, by the header of a file: `nplurals=2; plural=(n != 1);`."""
    from gettext import c2py

    found = re.search(r"plural=([^;]+)", header)
    if found is None:
        return _english
    rule: Callable[[int], int] = c2py(found[1])
    return rule


def direction(language: str) -> str:
    """`rtl` for languages that are written from right to left, else `ltr`."""
    return "rtl" if language.replace("-", "_").partition("_")[0] in RIGHT_TO_LEFT else "ltr"


def sort_key(text: str) -> tuple[str, str]:
    """By which words are sorted for people: accents and capitals count last.

    >>> sorted(["Zebra", "Äpfel", "apfel", "Ostern", "Öl"], key=sort_key)
    ['apfel', 'Äpfel', 'Öl', 'Ostern', 'Zebra']
    """
    import unicodedata

    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(each for each in folded if not unicodedata.combining(each)).replace("ß", "ss"), folded


def missing(catalog: Catalog, messages: Iterable[str]) -> list[str]:
    """Which messages a language lacks."""
    return [each for each in messages if each not in catalog.messages and each not in catalog.plurals]
