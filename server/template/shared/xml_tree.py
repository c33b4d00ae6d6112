"""XML and HTML as a tree of elements, and the nodes that scripts receive. xml_paths.py has the paths.

External resources are never read: a document that declares entities is refused, an external DTD is ignored. Built on
the expat parser of the standard library, because each element is charged to the memory of its run, which lxml cannot
do."""

from collections.abc import Iterator
from typing import Any, Union
from xml.parsers import expat

from server.errors import TemplateFailed
from server.markup.html_tokens import HtmlTokenKind, tokens
from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer, read_slowly
from server.template.values import Markup, is_numeric, key_text, whole

ELEMENT_BYTES = 768  # size of an element with its node and its entry in the parent
ATTRIBUTE_BYTES = 128
MAX_DEPTH = 128  # nested elements
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
    """An element. name: as written, with its prefix. uri: of its namespace. parts: texts and elements in order.
    declared: the namespaces that it declares, by prefix. prefixes: of the whole document, for paths."""

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
        """Returns the element's own text, without that of its descendants."""
        return "".join(part for part in self.parts if isinstance(part, str))

    def node(self) -> "XmlNode":
        if self._node is None:
            self._node = XmlNode(self, None)
        return self._node

    def named(self, name: str) -> "XmlNode | None":
        """Returns the children with a name, with or without prefix. All names are indexed at the first call."""
        if self._index is None:
            groups: dict[str, list[Element]] = {}
            for each in self.children():
                for key in {each.name, each.local}:
                    groups.setdefault(key, []).append(each)
            self._index = {key: XmlNode(group[0], group) for key, group in groups.items()}
        return self._index.get(name)


class XmlNode(Markup):
    """An element as a value of scripts: its text, children by name, and siblings of the same name by position."""

    __slots__ = ("element", "group")
    element: Element
    group: list[Element] | None

    def __new__(cls, element: Element, group: list[Element] | None) -> "XmlNode":
        node = super().__new__(cls, element.text())
        node.element = element
        node.group = group
        return node

    def child(self, key: Any) -> "XmlNode | None":
        """Returns the children called `key`, or the sibling of the same name at that position."""
        if is_numeric(key):
            group, place = self.group or [self.element], whole(key, -1)
            return group[place].node() if 0 <= place < len(group) else None
        return self.element.named(key_text(key))

    def listed(self) -> list["XmlNode"]:
        """Returns the nodes that a loop visits: the siblings of the same name, or the children."""
        return [each.node() for each in (self.group or self.element.children())]


class _EntityDeclared(Exception):
    """The document declares entities."""


def parse_xml(run: Rendering, value: Any) -> XmlNode | None:
    """Returns the root of a document, None for invalid XML. Raises TemplateFailed for deep nesting."""
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
        self._budget.entries(1, ELEMENT_BYTES)
        self._budget.entries(len(attributes), ATTRIBUTE_BYTES)
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
        self._budget.entries(1)
        self._at.parts.append(text)

    def declare(self, prefix: str | None, uri: str | None) -> None:
        self._declared[prefix or ""] = uri or ""

    def refuse(self, *_: Any) -> None:
        raise _EntityDeclared


def _as_written(name: str) -> tuple[str, str]:
    """Splits "uri name prefix" of expat into (name with its prefix, URI)."""
    uri, _, rest = name.partition(" ")
    if not rest:
        return name, ""
    local, _, prefix = rest.partition(" ")
    return (f"{prefix}:{local}" if prefix else local), uri


def parse_html(run: Rendering, value: Any) -> XmlNode:
    """Returns the element `html` of a page, which need not be valid; content outside of head and body is put into the
    body."""
    root = Element("html", Element("", None))
    stack = [root]
    for token in tokens(read_slowly(run, value)):
        run.budget.entries(1, ELEMENT_BYTES)
        run.budget.entries(len(token.attributes), ATTRIBUTE_BYTES)
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
    element = Element(name, stack[0] if name in ("head", "body") else _body(stack))
    element.attributes = dict(attributes)
    if name not in VOID and len(stack) < MAX_DEPTH:
        stack.append(element)


def _close(stack: list[Element], name: str) -> None:
    for place in range(len(stack) - 1, 0, -1):
        if stack[place].name == name:
            del stack[place:]
            return


def written(run: Rendering, element: Element) -> str:
    """Returns the XML of an element, with an XML declaration if it is the root."""
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
