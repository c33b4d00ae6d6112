"""Lets templates be translated as they are written: what stands between their tags are messages, without a mark.

A run of text with the inline elements and values in it is one message: `Mail to {address} goes <1>elsewhere</1>.` Its
elements are numbered, its values named after what they are. So are the texts of attributes that people read or hear,
and the texts that a value chooses between. Source: ours; `make messages` reads templates by it."""

import ast
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from tornado.escape import xhtml_escape
from tornado.template import Loader, Template

from console.html import script_words
from server import translation
from server.dataclass import dataclass
from server.late_pattern import late_pattern

INLINE = frozenset("a abbr b bdi cite code em i kbd mark q samp small span strong sub sup time var".split())
VERBATIM = frozenset("code kbd pre samp var script style textarea".split())  # never a message by themselves
_SKIPPED = frozenset(("pre", "script", "style", "textarea"))  # whose text is not for the ears of translators
# Attributes that people read or hear.
SPOKEN = frozenset("aria-label title placeholder alt data-busy data-waits data-label data-confirm".split())
# Components that are a value in a sentence; others stand by themselves.
_VALUES = late_pattern(r"ui\.(when|moment|number|counted|breakable|bytes_text|distance)\(")
_LETTERS = late_pattern(r"[^\W\d_]{2}")
_TOKEN = late_pattern(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->|<![a-z]+[^>]*>|</?[A-Za-z]|[<{]|[^<{]+", re.DOTALL)
_EXPRESSION = late_pattern(r"\{\{(.*?)\}\}|\{%\s*raw\s+(.*?)%\}", re.DOTALL)
_ATTRIBUTE = late_pattern(r'([a-z-]+)="([^"]*)"')
_CONTEXT = late_pattern(r"\{#\s*context:\s*(.+?)\s*#\}")
_WORD = late_pattern(r"[A-Za-z]\w*")
_BLANKS = late_pattern(r"\s+")


@dataclass
class TemplatePiece:
    """kind: text, value (`{{ }}`, or a raw component that is one), open, close, or other: what ends a run. element: the
    name of the tag."""

    kind: str
    source: str
    element: str = ""


@dataclass
class TemplateMessage:
    """What a run says: its text, its values as Python ({name: expression}), and the opening tags of its elements with
    the closing ones. context: of its words, as the comment before the run names it."""

    text: str = ""
    context: str = ""
    values: dict[str, str] = field(default_factory=dict)
    elements: list[tuple[str, str]] = field(default_factory=list)

    def name(self, expression: str) -> str:
        """The name that a value gets: the last word of its expression; the same value has the same."""
        words = [word.strip("_") for word in _WORD.findall(expression)] or ["value"]
        base = name = words[-1] or "value"
        number = 1
        while self.values.get(name, expression) != expression:
            number += 1
            name = f"{base}{number}"
        self.values[name] = expression
        return name


class Spoken:
    """What templates are given as `_t`: the language of the request."""

    def __init__(self) -> None:
        self.catalog = translation.spoken()
        self.is_source = self.catalog.is_source
        self.language = self.catalog.language.replace("_", "-")
        self.direction = translation.direction(self.catalog.language)
        self._messages = self.catalog.messages

    def text(self, message: str, context: str = "") -> str:
        """A message without anything to fill in. context: of its words, where they have several meanings."""
        return self.catalog.text(message, context or translation.context_of(message))

    def scripts(self) -> str:
        """What scripts say, as JSON."""
        return script_words.as_json(self.catalog)

    def fill(self, message: str, **values: object) -> str:
        """A message with values, which are not escaped: whoever shows it does that."""
        return translation.filled(self._messages.get(message, message), values)

    def html(
        self, message: str, values: Mapping[str, str], elements: Sequence[tuple[str, str]], context: str = ""
    ) -> str:
        """A message as HTML. values: as HTML. elements: the opening and closing tags of those that are numbered."""
        return filled_html(self.catalog.text(message, context), values, elements)

    @staticmethod
    def say(value: Any) -> Any:
        """A value as it is shown: what N_ marked is translated."""
        return translation.shown_mark(value)

    @classmethod
    def escape(cls, value: Any) -> str:
        """A value as HTML."""
        value = cls.say(value)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        return xhtml_escape(value if isinstance(value, str) else str(value))


_PARTS = late_pattern(r"&lt;(/?)(\d+)&gt;|\{(\w+)\}")


def filled_html(text: str, values: Mapping[str, str], elements: Sequence[tuple[str, str]]) -> str:
    """A translated text as HTML: escaped, with its values and elements put in.

    >>> filled_html("<1>{name}</1> & more", {"name": "<b>"}, [("<a>", "</a>")])
    '<a><b></a> &amp; more'
    """

    def part(found: re.Match[str]) -> str:
        if found[3]:
            return values.get(found[3], found[0])
        number = int(found[2]) - 1
        return elements[number][1 if found[1] else 0] if 0 <= number < len(elements) else ""

    return _PARTS.sub(part, xhtml_escape(text))


class TranslatedLoader(Loader):
    """Loads templates so that what they say is translated."""

    def _create_template(self, name: str) -> Template:
        with open(f"{self.root}/{name}", encoding="utf-8") as opened:
            return Template(translated(opened.read()), name=name, loader=self)


def translated(source: str) -> str:
    """The source of a template that says the same in the language of `_t`."""
    return "".join(_rewritten(_pieces(source)))


def messages(source: str) -> list[str]:
    """The messages that a template says by itself, as keys of a catalog; those in its expressions are read as Python,
    see expressions()."""
    return [translation.keyed(each.text, each.context) for each in _said(source)]


def expressions(source: str) -> Iterator[str]:
    """The Python expressions of a template: values, and what its directives compute."""
    for found in re.finditer(r"\{\{(.*?)\}\}|\{%\s*(\w+)\s*(.*?)%\}", source, re.DOTALL):
        if found[1]:
            yield found[1].strip()
        elif found[2] in ("raw", "if", "elif", "while"):
            yield found[3].strip()
        elif found[2] in ("set", "for") and found[3].strip():
            yield re.split(r"(?<![=!<>])=(?!=)|\bin\b", found[3], maxsplit=1)[-1].strip()


def _said(source: str) -> Iterator[TemplateMessage]:
    pieces = _pieces(source)
    for piece in pieces:
        if piece.kind in ("open", "other"):
            yield from (each for _, each in _spoken_attributes(piece.source) if each is not None)
    context = ""
    for run in _runs(pieces):
        if isinstance(run, list):
            yield from _messages_of(run, context)
        context = _context(run) if isinstance(run, TemplatePiece) else ""
    for piece in pieces:
        if piece.kind == "value":
            for text in _chosen(_EXPRESSION.fullmatch(piece.source)):
                yield TemplateMessage(text)


def _context(piece: TemplatePiece) -> str:
    """The context that a comment such as {# context: log #} gives to the run behind it."""
    found = _CONTEXT.fullmatch(piece.source)
    return found[1] if found else ""


def _messages_of(run: list[TemplatePiece], context: str = "") -> Iterator[TemplateMessage]:
    core = _core(run)[1]
    if not _says(core):
        for inner in _inside(core):
            yield from _messages_of(inner)
    else:
        yield _message(core, context)


# -- reading -----------------------------------------------------------------------------------------------------------


def _pieces(source: str) -> list[TemplatePiece]:
    """A template as pieces; together they are the source."""
    pieces: list[TemplatePiece] = []
    place, skipped = 0, ""
    while place < len(source):
        found = _TOKEN.match(source, place)
        assert found is not None
        text = found[0]
        if re.match(r"</?[A-Za-z]", text):
            text = source[place : _end_of_tag(source, place)]
            piece = _tag(text)
            if skipped and piece.source[:2] == "</" and piece.element == skipped:
                skipped = ""
            elif piece.element in _SKIPPED and piece.source[:2] != "</":
                skipped = piece.element
        else:
            piece = _other(text)
        if skipped and piece.kind != "other":
            piece = TemplatePiece("other", piece.source, piece.element)
        place += len(text)
        if piece.kind == "text" and pieces and pieces[-1].kind == "text":
            pieces[-1].source += piece.source
        else:
            pieces.append(piece)
    return pieces


def _end_of_tag(source: str, place: int) -> int:
    """Where a tag ends: its attributes may hold directives with the sign for it."""
    for found in re.compile(r"\{%.*?%\}|\{\{.*?\}\}|>", re.DOTALL).finditer(source, place):
        if found[0] == ">":
            return found.end()
    raise ValueError(f"a tag does not end: {source[place : place + 80]}")


def _tag(text: str) -> TemplatePiece:
    name = re.match(r"</?([A-Za-z0-9-]+)", text)
    assert name is not None
    element = name[1].lower()
    if element not in INLINE or "{%" in text:
        return TemplatePiece("other", text, element)
    return TemplatePiece("close" if text.startswith("</") else "open", text, element)


def _other(text: str) -> TemplatePiece:
    if text.startswith("{{"):
        return TemplatePiece("value", text)
    if text.startswith("{%"):
        is_value = re.match(r"\{%\s*raw\s", text) is not None and _VALUES.search(text) is not None
        return TemplatePiece("value" if is_value else "other", text)
    return TemplatePiece("other" if text.startswith(("{#", "<!")) else "text", text)


def _runs(pieces: list[TemplatePiece]) -> Iterator[TemplatePiece | list[TemplatePiece]]:
    """The pieces, those of a run together. An element that is not closed in its run ends it."""
    run: list[TemplatePiece] = []
    for piece in [*pieces, TemplatePiece("other", "")]:
        if piece.kind != "other":
            run.append(piece)
            continue
        yield from _balanced(run)
        run = []
        yield piece


def _balanced(run: list[TemplatePiece]) -> Iterator[TemplatePiece | list[TemplatePiece]]:
    opened: list[int] = []
    unmatched: set[int] = set()
    for place, piece in enumerate(run):
        if piece.kind == "open":
            opened.append(place)
        elif piece.kind == "close":
            if opened and run[opened[-1]].element == piece.element:
                opened.pop()
            else:
                unmatched.add(place)
    unmatched.update(opened)
    part: list[TemplatePiece] = []
    for place, piece in enumerate(run):
        if place not in unmatched:
            part.append(piece)
            continue
        if part:
            yield part
        part = []
        yield TemplatePiece("other", piece.source, piece.element)
    if part:
        yield part


def _core(run: list[TemplatePiece]) -> tuple[list[TemplatePiece], list[TemplatePiece], list[TemplatePiece]]:
    """A run without the blanks at its ends, which stay where they are."""
    start, end = 0, len(run)
    while start < end and run[start].kind == "text" and not run[start].source.strip():
        start += 1
    while end > start and run[end - 1].kind == "text" and not run[end - 1].source.strip():
        end -= 1
    return run[:start], run[start:end], run[end:]


def _says(run: list[TemplatePiece]) -> bool:
    """Whether words stand outside of the elements of a run."""
    depth = 0
    for piece in run:
        depth += {"open": 1, "close": -1}.get(piece.kind, 0)
        if piece.kind == "text" and not depth and _LETTERS.search(html.unescape(piece.source)):
            return True
    return False


def _inside(run: list[TemplatePiece]) -> Iterator[list[TemplatePiece]]:
    """What stands in each element of a run, but not in those that hold code."""
    opened: list[TemplatePiece] = []
    inner: list[TemplatePiece] = []
    for piece in run:
        if piece.kind == "close" and opened:
            opened.pop()
            if not opened:
                yield inner
        if opened and opened[0].element not in VERBATIM:
            inner.append(piece)
        if piece.kind == "open":
            opened.append(piece)
            if len(opened) == 1:
                inner = []


def _message(core: list[TemplatePiece], context: str = "") -> TemplateMessage:
    message, open_elements = TemplateMessage(context=context), []
    for piece in core:
        if piece.kind == "text":
            message.text += html.unescape(piece.source)
        elif piece.kind == "value":
            message.text += f"{{{message.name(_python(piece.source))}}}"
        elif piece.kind == "open":
            message.elements.append((_tag_python(piece.source), f"</{piece.element}>"))
            open_elements.append(len(message.elements))
            message.text += f"<{open_elements[-1]}>"
        else:
            message.text += f"</{open_elements.pop()}>"
    message.text = _BLANKS.sub(" ", message.text).strip()
    return message


# -- writing -----------------------------------------------------------------------------------------------------------


def _rewritten(pieces: list[TemplatePiece]) -> Iterator[str]:
    context = ""
    for each in _runs(pieces):
        yield _piece(each) if isinstance(each, TemplatePiece) else _run(each, context)
        context = _context(each) if isinstance(each, TemplatePiece) else ""


def _run(run: list[TemplatePiece], context: str = "") -> str:
    before, core, after = _core(run)
    text = "".join(map(_piece, core))
    if _says(core):
        message = _message(core)
        values = ", ".join(f"{name!r}: {value}" for name, value in message.values.items())
        elements = ", ".join(f"({start}, {end!r})" for start, end in message.elements)
        behind = f", {context!r}" if context else ""
        said = f"_t.html({message.text!r}, {{{values} }}, [{elements}]{behind})"
        # What cannot stand in a directive as it is.
        said = said.replace("%}", "%\\x7d")
        lead, tail = _blanks(text)
        text = f"{lead}{{% if _t.is_source %}}{text.strip()}{{% else %}}{{% raw {said} %}}{{% end %}}{tail}"
    elif any(piece.kind == "open" for piece in core):
        text = "".join(_elements(core))
    return "".join(piece.source for piece in before) + text + "".join(piece.source for piece in after)


def _blanks(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _elements(core: list[TemplatePiece]) -> Iterator[str]:
    """A run whose words stand inside its elements: each of these is one of its own."""
    opened: list[TemplatePiece] = []
    inner: list[TemplatePiece] = []
    for piece in core:
        if piece.kind == "close":
            opened.pop()
            if not opened:
                yield _run(inner)
        if not opened or opened[0].element in VERBATIM:
            yield _piece(piece)
        else:
            inner.append(piece)
        if piece.kind == "open":
            opened.append(piece)
            if len(opened) == 1:
                inner = []


def _piece(piece: TemplatePiece) -> str:
    """A piece by itself: its attributes, and the texts that a value chooses between, are translated."""
    if piece.kind == "value" and piece.source.startswith("{{"):
        return f"{{{{ {_translating(piece.source[2:-2].strip())} }}}}"
    if piece.kind == "open" or (piece.kind == "other" and piece.source.startswith("<") and piece.element):
        return _with_attributes(piece.source)
    return piece.source


def _with_attributes(tag: str) -> str:
    for found in _ATTRIBUTE.finditer(tag):
        if found[1] in SPOKEN and "{%" not in found[2] and not _LETTERS.search(_EXPRESSION.sub("", found[2])):
            said = _EXPRESSION.sub(lambda each: f"{{{{ {_translating((each[1] or each[2]).strip())} }}}}", found[2])
            tag = tag.replace(found[0], f'{found[1]}="{said}"', 1)
    for whole, message in _spoken_attributes(tag):
        if message is not None:
            given = "".join(f", {name}={value}" for name, value in message.values.items())
            said = f"_t.fill({message.text!r}{given})" if given else f"_t.text({message.text!r})"
            name = whole.partition("=")[0]
            tag = tag.replace(whole, f'{name}="{{{{ {said} }}}}"', 1)
    return tag


def _spoken_attributes(tag: str) -> Iterator[tuple[str, TemplateMessage | None]]:
    """The attributes that people read or hear, each as it stands and as a message; without one when it says nothing."""
    if not tag.startswith("<") or tag.startswith(("<!", "</")):
        return
    for found in _ATTRIBUTE.finditer(tag):
        name, value = found[1], found[2]
        if name in SPOKEN and "{%" not in value and _LETTERS.search(_EXPRESSION.sub("", html.unescape(value))):
            message = TemplateMessage()
            message.text = _BLANKS.sub(" ", html.unescape(_EXPRESSION.sub(
                lambda each: f"{{{message.name(_translating((each[1] or each[2]).strip()))}}}", value  # noqa: B023
            ))).strip()  # fmt: skip
            yield found[0], message


def _python(source: str) -> str:
    """The expression of a value as HTML."""
    found = _EXPRESSION.fullmatch(source)
    assert found is not None, source
    if found[2]:
        return f"str({found[2].strip()})"
    return f"_t.escape({_translating(found[1].strip())})"


def _tag_python(tag: str) -> str:
    """The expression that makes an opening tag."""
    parts: list[str] = []
    place = 0
    tag = _with_attributes(tag)
    for found in _EXPRESSION.finditer(tag):
        parts += [repr(tag[place : found.start()]), _python(found[0])]
        place = found.end()
    return " + ".join((*parts, repr(tag[place:])))


def _translating(expression: str) -> str:
    """An expression whose texts are translated where it chooses between them, as are texts that were marked.

    >>> _translating('"Save" if group else name')
    "_t.say(_t.text('Save') if group else name)"
    """
    tree = ast.parse(expression, mode="eval")
    if not list(choices(tree.body)):
        return f"_t.say({expression})"
    return f"_t.say({ast.unparse(_Translating().visit_choice(tree.body))})"


def _chosen(found: re.Match[str] | None) -> Iterator[str]:
    if found is not None and found[1]:
        yield from choices(ast.parse(found[1].strip(), mode="eval").body)


def choices(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _LETTERS.search(node.value):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from choices(node.body)
        yield from choices(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from choices(each)


class _Translating:
    """Puts the call around the texts that an expression may be."""

    def visit_choice(self, node: Any) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _LETTERS.search(node.value):
            return ast.Call(ast.Attribute(ast.Name("_t"), "text"), [node], [])
        if isinstance(node, ast.IfExp):
            node.body, node.orelse = self.visit_choice(node.body), self.visit_choice(node.orelse)
        elif isinstance(node, ast.BoolOp):
            node.values = [self.visit_choice(each) for each in node.values]
        return node
