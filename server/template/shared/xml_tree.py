"""XML and HTML as a tree of elements, and the nodes that scripts are given of it. Paths through it: xml_paths.py.

Nothing is read from outside: a document that declares entities is refused, one that names a DTD is read without it.
Ours, over the standard library's expat: each element counts against the memory of its run, which lxml cannot do."""

from collections.abc import Iterator
from typing import Any, Union
from xml.parsers import expat

from server.errors import TemplateFailed
from server.markup.tokens import HtmlTokenKind, tokens
from server.template.run import Rendering
from server.template.shared.texts import TextBuffer, read_slowly
from server.template.values import Markup, is_numeric, key_text, whole

ELEMENT_BYTES = 768  # of an element with its node and its place among the others
ATTRIBUTE_BYTES = 128
MAX_DEPTH = 128  # elements inside each other
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
CLOSED_BY_NEXT = {
    "p": ("p",),
    "li": ("li",),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd"),
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tr": ("tr", "td", "th"),
    "option": ("option",),
    "head": (),
    "body": ("head",),
}


class Element:
    """name: as written, with its prefix. uri: of its namespace. parts: texts and elements in order. declared: the
    namespaces that it introduces, by prefix. prefixes: of the whole document, for paths."""

    __slots__ = ("name", "uri", "attributes", "parts", "parent", "declared", "prefixes", "_index", "_node")

    def __init__(self, name: str, parent: Union["Element", None], uri: str = "") -> None:
        self.name = name
        self.uri = uri
        self.attributes: dict[str, str] = {}
        self.parts: list[str | Element] = []
        self.parent = parent
        self.declared: dict[str, str] = {}
        self.prefixes: dict[str, str] = {} if parent is None else parent.prefixes
        self._index: dict[str, XmlNode] | None = None
        self._node: XmlNode | None = None
        if parent is not None:
            parent.parts.append(self)

    @property
    def local(self) -> str:
        return self.name.rpartition(":")[2]

    def children(self) -> Iterator["Element"]:
        return (part for part in self.parts if isinstance(part, Element))

    def text(self) -> str:
        """Its own text, without that of the elements in it."""
        return "".join(part for part in self.parts if isinstance(part, str))

    def node(self) -> "XmlNode":
        if self._node is None:
            self._node = XmlNode(self, None)
        return self._node

    def named(self, name: str) -> "XmlNode | None":
        """The children of a name, with or without their prefix; found once for all names."""
        if self._index is None:
            groups: dict[str, list[Element]] = {}
            for each in self.children():
                for known in {each.name, each.local}:
                    groups.setdefault(known, []).append(each)
            self._index = {known: XmlNode(group[0], group) for known, group in groups.items()}
        return self._index.get(name)


class XmlNode(Markup):
    """What a script holds of an element: its text, its children by name, and those of the same name by position."""

    __slots__ = ("element", "group")
    element: Element
    group: list[Element] | None

    def __new__(cls, element: Element, group: list[Element] | None) -> "XmlNode":
        found = super().__new__(cls, element.text())
        found.element = element
        found.group = group
        return found

    def child(self, key: Any) -> "XmlNode | None":
        """The children called `key`, or the one at that position among its like."""
        if is_numeric(key):
            group, place = self.group or [self.element], whole(key, -1)
            return group[place].node() if 0 <= place < len(group) else None
        return self.element.named(key_text(key))

    def listed(self) -> list["XmlNode"]:
        """What a loop goes over: all of its name, or its children."""
        return [each.node() for each in (self.group or self.element.children())]


class _EntityDeclared(Exception):
    """The document declares entities."""


def parse_xml(run: Rendering, value: Any) -> XmlNode | None:
    """The root of a document, None when the text is no XML. Raises TemplateFailed for deep nesting."""
    reader = _XmlReader(run)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.namespace_prefixes = True
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartNamespaceDeclHandler = reader.declare
    parser.EntityDeclHandler = reader.refuse
    try:
        parser.Parse(read_slowly(run, value).encode("utf-8", "replace"), True)
    except (expat.ExpatError, _EntityDeclared, ValueError):
        return None
    return next(reader.document.children()).node()


class _XmlReader:
    def __init__(self, run: Rendering) -> None:
        self.document = Element("", None)
        self._at = self.document
        self._depth = 0
        self._budget = run.budget
        self._declared: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._budget.made(1, ELEMENT_BYTES)
        self._budget.made(len(attributes), ATTRIBUTE_BYTES)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TemplateFailed(f"XML has at most {MAX_DEPTH} elements inside each other")
        written, uri = _as_written(name)
        self._at = Element(written, self._at, uri)
        self._at.attributes = {_as_written(key)[0]: value for key, value in attributes.items()}
        self._at.declared, self._declared = self._declared, {}

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._at.parent is not None:
            self._at = self._at.parent

    def characters(self, text: str) -> None:
        self._budget.made(1)
        self._at.parts.append(text)

    def declare(self, prefix: str | None, uri: str | None) -> None:
        self._declared[prefix or ""] = uri or ""

    def refuse(self, *_: Any) -> None:
        raise _EntityDeclared


def _as_written(name: str) -> tuple[str, str]:
    """The name with its prefix, and the URI of its namespace, of "uri name prefix"."""
    uri, _, rest = name.partition(" ")
    if not rest:
        return name, ""
    local, _, prefix = rest.partition(" ")
    return (f"{prefix}:{local}" if prefix else local), uri


def parse_html(run: Rendering, value: Any) -> XmlNode:
    """The element `html` of a page, however badly written; what stands outside of head and body is in the body."""
    root = Element("html", Element("", None))
    stack = [root]
    for token in tokens(read_slowly(run, value)):
        run.budget.made(1, ELEMENT_BYTES)
        run.budget.made(len(token.attributes), ATTRIBUTE_BYTES)
        if token.kind is HtmlTokenKind.TEXT:
            if len(stack) == 1 and not token.value.strip():
                continue
            _body(stack).parts.append(token.value)
        elif token.kind is HtmlTokenKind.END:
            _close(stack, token.value)
        elif token.value == "html":
            root.attributes.update(token.attributes)
        else:
            _open(stack, token.value, token.attributes)
    return root.node()


def _body(stack: list[Element]) -> Element:
    if len(stack) == 1:
        stack.append(Element("body", stack[0]))
    return stack[-1]


def _open(stack: list[Element], name: str, attributes: dict[str, str]) -> None:
    while len(stack) > 1 and stack[-1].name in CLOSED_BY_NEXT.get(name, ()):
        stack.pop()
    if name == "body" and len(stack) > 1:
        return
    made = Element(name, stack[0] if name in ("head", "body") else _body(stack))
    made.attributes = dict(attributes)
    if name not in VOID and len(stack) < MAX_DEPTH:
        stack.append(made)


def _close(stack: list[Element], name: str) -> None:
    for place in range(len(stack) - 1, 0, -1):
        if stack[place].name == name:
            del stack[place:]
            return


def written(run: Rendering, element: Element) -> str:
    """The XML of an element; of the root of a document with a declaration in front."""
    out = TextBuffer(run)
    is_root = element.parent is not None and element.parent.parent is None
    out.add('<?xml version="1.0"?>\n' if is_root else "")
    _write(run, out, element)
    out.add("\n" if is_root else "")
    return out.text()


def _write(run: Rendering, out: TextBuffer, element: Element) -> None:
    run.budget.step(1 + len(element.attributes))
    out.add(f"<{element.name}")
    for prefix, uri in element.declared.items():
        out.add(f' xmlns{":" if prefix else ""}{prefix}="{_escaped(uri)}"')
    for name, value in element.attributes.items():
        out.add(f' {name}="{_escaped(value)}"')
    if not element.parts:
        out.add("/>")
        return
    out.add(">")
    for part in element.parts:
        if isinstance(part, str):
            out.add(_escaped(part, in_attribute=False))
        else:
            _write(run, out, part)
    out.add(f"</{element.name}>")


def _escaped(text: str, in_attribute: bool = True) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("\n", "&#10;") if in_attribute else text
