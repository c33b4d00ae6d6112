"""Translates messages into the reader's language.

A message is its English text in the code, and is shown as it is in a language that lacks it. Languages are files such
as `de.po`: those of resources/languages/, and those in `languages/` of the data folder, which override ours message by
message. The API, the command line and the log stay English, since programs read them."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from os.path import isfile, sep
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from server.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = "en"  # the language of the messages
FOLDER = "languages"  # in the data folder and in resources
TEMPLATE = "helpdesk.pot"  # all messages, to start a language from
RIGHT_TO_LEFT = frozenset(("ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"))
MAX_FILE_BYTES = 4 * 1024 * 1024
# A parameter or field that holds a message, translated when it is shown. `make messages` finds
# the texts by it.
Words = Annotated[str, "words"]
END = "\x04"  # separates the context of a message from its text
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _english(count: int) -> int:
    return int(count != 1)


@dataclass(frozen=True)
class Catalog:
    """The messages of a language: {English: translation}, {English singular: plural forms}, the rule of its plural
    forms, and the messages of scripts, which pages pass on: pairs of English and translation."""

    language: str
    messages: Mapping[str, str] = field(default_factory=dict)
    plurals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form_of: "Callable[[int], int]" = _english
    script_messages: tuple[tuple[str, str], ...] = ()

    def text(self, message: str, context: str = "") -> str:
        """Returns the translation of a message with this context; English if it is missing."""
        translation = self.messages.get(keyed(message, context)) if context else None
        return str(self.messages.get(message, message)) if translation is None else translation

    @property
    def tag(self) -> str:
        """Returns the language tag for HTML and HTTP, such as `pt-BR` (BCP 47)."""
        return self.language.replace("_", "-")

    @property
    def direction(self) -> str:
        """`rtl` for languages that are written from right to left, else `ltr`."""
        return direction(self.language)

    @property
    def is_source(self) -> bool:
        """Returns whether this is English, which needs no translation."""
        return not self.messages and not self.plurals


ENGLISH = Catalog(SOURCE)
_spoken: ContextVar[Catalog] = ContextVar("spoken", default=ENGLISH)


class Marked(str):
    """A text that is a message; see N_. context: the meaning of an ambiguous text, otherwise ""."""

    context: str = ""

    def __html__(self) -> str:
        """Returns the translation, which templates insert."""
        return html.escape(shown(self))


class LazyMessage(str):
    """An English sentence that remembers its message, to be translated when it is shown. Created by lazy_gettext();
    texts derived from it, such as slices, are plain English."""

    message: str
    values: Mapping[str, object]

    def __html__(self) -> str:
        """Returns the translation, which templates insert."""
        return html.escape(shown(self))


def lazy_gettext(message: str, /, **values: object) -> LazyMessage:
    """Returns a message with its values, for a reader whose language is not known yet.

    >>> lazy_gettext("{count} jobs", count=3), lazy_gettext("{count} jobs", count=3).message
    ('3 jobs', '{count} jobs')
    """
    text = LazyMessage(filled(message, values))
    text.message, text.values = message, values
    return text


FIELD_PROBLEM = "{field}: {problem}"  # the same in every language


def about_field(field: str, problem: str) -> LazyMessage:
    """Returns a problem with the name of its field, as the API reports it.

    >>> about_field("title", lazy_gettext("at most {count} characters", count=9))
    'title: at most 9 characters'
    """
    return lazy_gettext(FIELD_PROBLEM, field=field, problem=problem)


def problem_of(message: str, field: str) -> str:
    """Returns the problem of a field without its name, for a page that shows it next to the field.

    >>> problem_of(about_field("title", "is too long"), "title"), problem_of("title: is taken", "title")
    ('is too long', 'is taken')
    """
    if isinstance(message, LazyMessage) and message.message == FIELD_PROBLEM and message.values["field"] == field:
        problem = message.values["problem"]
        return problem if isinstance(problem, str) else str(problem)
    prefix = f"{field}: "
    return message[len(prefix) :] if message.startswith(prefix) else message  # unchanged, it stays a LazyMessage


def N_(message: str) -> Marked:
    """Marks the text of a constant, to be translated when it is shown."""
    return Marked(message)


def N_pgettext(context: str, message: str) -> Marked:
    """Marks the ambiguous text of a constant; context names its meaning."""
    marked = Marked(message)
    marked.context = context
    return marked


def N_ngettext(one: str, many: str) -> tuple[str, str]:
    """Marks the plural forms of a constant, to be passed to ngettext when they are shown."""
    return one, many


def _(message: str, /, **values: object) -> str:
    """Translates a message into the current language and fills `{name}` in.

    >>> _("{count} of {name}", count=2, name="{count}"), _("{left} as it is")
    ('2 of {count}', '{left} as it is')
    """
    if type(message) is not str:
        return filled(shown(message), values)
    return filled(_spoken.get().messages.get(message, message), values)


def pgettext(context: str, message: str, /, **values: object) -> str:
    """Translates an ambiguous message; context names its meaning. A language that has the message without contexts
    shows that translation.

    >>> pgettext("status", "Open"), keyed("Open", "status")
    ('Open', 'status\\x04Open')
    """
    return filled(_spoken.get().text(message, context), values)


def keyed(message: str, context: str = "") -> str:
    """Returns the key of a message in a catalog: its context, U+0004 and the message, as in GNU MO files."""
    return f"{context}{END}{message}" if context else message


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """Translates a message in the plural form of a count, and fills `{count}` in unless it is passed.

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
    """Joins texts as in a sentence.

    >>> listed(["08:00", "12:00", "16:00"]), listed(["08:00"]), listed([])
    ('08:00, 12:00 and 16:00', '08:00', '')
    """
    if len(texts) < 2:
        return "".join(texts)
    return _("{others} and {last}", others=", ".join(texts[:-1]), last=texts[-1])


def shown(text: str) -> str:
    """Translates a text if it is a message."""
    if isinstance(text, LazyMessage):
        return _(text.message, **text.values)
    return _spoken.get().text(text, context_of(text))


def context_of(text: str) -> str:
    """Returns the context of a marked message."""
    return text.context if isinstance(text, Marked) else ""


def in_sentence(name: str) -> str:
    """Returns the name of a record type inside a sentence: lower case in English, unchanged in other languages.

    >>> in_sentence("OAuth App"), in_sentence("Mail Transports")
    ('oauth app', 'mail transports')
    """
    return name.lower() if _spoken.get().is_source else shown(name)


def shown_mark(text: Any) -> Any:
    """Translates a text marked by N_; returns others unchanged. For places that show messages and names of people
    alike."""
    return shown(text) if isinstance(text, (Marked, LazyMessage)) else text


def filled(text: str, values: Mapping[str, object]) -> str:
    """Fills the placeholders of a text in; those without a value stay. Evaluates nothing else in it."""
    if not values:
        return text
    return _PLACEHOLDER.sub(lambda match: str(shown_mark(values[match[1]])) if match[1] in values else match[0], text)


def spoken() -> Catalog:
    """Returns the language of this request."""
    return _spoken.get()


def speak(catalog: Catalog) -> None:
    """Switches the language until the surrounding speaking() ends."""
    _spoken.set(catalog)


@contextmanager
def speaking(catalog: Catalog) -> Iterator[None]:
    """Sets the language of messages within the block."""
    before = _spoken.set(catalog)
    try:
        yield
    finally:
        _spoken.reset(before)


@dataclass(frozen=True)
class Languages:
    """The available languages. folders: with their files; the first that has a message wins."""

    folders: tuple[Path, ...]

    def names(self) -> list[str]:
        """Returns names such as `de` or `pt_BR`, in order; English is always among them."""
        stems = {path.stem for folder in self.folders if folder.is_dir() for path in folder.glob("*.po")}
        return sorted({SOURCE, *(name for name in stems if _LANGUAGE.fullmatch(name))})

    def catalog_for(self, language: str) -> Catalog:
        """Returns the messages for a locale such as de_CH: those of its own file, then those of `de`; English for
        unknown ones.

        Ignores unreadable files; `helpdesk doctor` reports them."""
        language = language.replace("-", "_")
        alone = language.partition("_")[0]
        # Joined as texts: paths would take a hundred microseconds, for each page.
        if alone == SOURCE and not any(isfile(f"{folder}{sep}{language}.po") for folder in self.folders):
            return ENGLISH
        names = [name for name in dict.fromkeys((language, alone)) if _LANGUAGE.fullmatch(name)]
        files = [folder / f"{name}.po" for name in names for folder in self.folders]
        return _merged(names[-1] if names else SOURCE, tuple((path, *_state(path)) for path in files if path.is_file()))

    def accepted(self, header: str) -> str:
        """Returns the available language that a browser prefers by its Accept-Language; "en" if there is none.

        >>> Languages(()).accepted("fr, en-GB;q=0.9"), Languages(()).accepted("*")
        ('en_GB', 'en')
        """
        available = set(self.names())
        for tag in preferred_tags(header):
            name = tag.replace("-", "_")
            alone = name.partition("_")[0]
            if name in available or alone in available:
                return name if name.count("_") < 2 else alone
        return SOURCE


_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z][A-Za-z]{1,3})?")
_LIKED = re.compile(r"\s*([A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?")
_MAX_HEADER_CHARS = 400


def preferred_tags(header: str) -> list[str]:
    """Returns the languages of an Accept-Language, the most preferred first (RFC 9110, section 12.5.4).

    >>> preferred_tags("fr;q=0.5, zh-Hant-TW, en;q=0, *")
    ['zh-Hant-TW', 'fr']
    """
    liked = [match for part in header[:_MAX_HEADER_CHARS].split(",") if (match := _LIKED.fullmatch(part))]
    scored = [(float(match[2] or 1), match[1]) for match in liked]
    return [name for score, name in sorted(scored, key=lambda each: -each[0]) if score > 0]


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(64)  # reading a language takes 0.3 seconds
def _merged(language: str, files: tuple[tuple[Path, int, int], ...]) -> Catalog:
    """Returns the merged catalog of files; the first that has a message wins. Cached until one of them changes."""
    catalogs = [each for path, _, size in files if (each := _read(path, size)) is not None]
    if not catalogs:
        return ENGLISH
    messages: dict[str, str] = {}
    plurals: dict[str, tuple[str, ...]] = {}
    for each in reversed(catalogs):
        messages.update(each.messages)
        plurals.update(each.plurals)
    scripts = dict.fromkeys(message for each in catalogs for message, _ in each.script_messages)
    return Catalog(language, messages, plurals, catalogs[0].form_of, tuple((each, messages[each]) for each in scripts))


def _read(path: Path, size: int) -> Catalog | None:
    """Returns the text of a file, None if it cannot be read."""
    if size > MAX_FILE_BYTES:
        return None
    try:
        return read(path.read_text("utf-8"), path.stem)
    except (OSError, ValueError):
        return None


def read(text: str, language: str) -> Catalog:
    """Parses a file into a catalog. Skips fuzzy messages, which await review. Raises ValueError for an invalid file."""
    import polib  # only needed beyond English

    try:
        entries = polib.pofile(text)
    except OSError as error:  # its error for bad syntax
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
    """Returns whether a translation has no placeholder or element that its message lacks: it would be shown
    literally."""
    allowed = marks(f"{entry.msgid} {entry.msgid_plural}")  # type: ignore[attr-defined]
    translations = [entry.msgstr, *entry.msgstr_plural.values()]  # type: ignore[attr-defined]
    return all(marks(each) <= allowed for each in translations)


_MARKS = re.compile(r"\{\w+\}|</?[a-z][^>]*>")


def marks(text: str) -> set[str]:
    """Returns the placeholders and tags of a message.

    >>> sorted(marks("{count} of <b>them</b>"))
    ['</b>', '<b>', '{count}']
    """
    return set(_MARKS.findall(text))


def _plural_rule(header: str) -> "Callable[[int], int]":
    """Parses the plural rule in the header of a file: `nplurals=2; plural=(n != 1);`."""
    from gettext import c2py

    match = re.search(r"plural=([^;]+)", header)
    if match is None:
        return _english
    rule: Callable[[int], int] = c2py(match[1])
    return rule


def direction(language: str) -> str:
    """`rtl` for languages that are written from right to left, else `ltr`."""
    return "rtl" if language.replace("-", "_").partition("_")[0] in RIGHT_TO_LEFT else "ltr"


def sort_key(text: str) -> tuple[str, str]:
    """Returns the key that sorts words for people: accents and capitals count last.

    >>> sorted(["Zebra", "Äpfel", "apfel", "Ostern", "Öl"], key=sort_key)
    ['apfel', 'Äpfel', 'Öl', 'Ostern', 'Zebra']
    """
    import unicodedata

    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(each for each in folded if not unicodedata.combining(each)).replace("ß", "ss"), folded


def missing(catalog: Catalog, messages: Iterable[str]) -> list[str]:
    """Returns the messages that a language lacks."""
    return [each for each in messages if each not in catalog.messages and each not in catalog.plurals]
