"""Replaces references (`key@ref: name`) in a KATA document by its definitions (`&name:` at the top)."""

from typing import TYPE_CHECKING

from server.errors import KataSyntax

if TYPE_CHECKING:
    from server.kata.kata_parser import Document, Tree

MAX_EXPANDED = 100_000  # keys that references may add: nested definitions grow exponentially
MAX_NESTED = 100  # references inside references, and the maps around them
MAX_PATH_CHARS = 32 * 1024 * 1024  # paths that references add


def resolve(document: "Document") -> None:
    """Replaces every reference by its definition and removes the definitions. A reference to nothing keeps its text,
    without its annotations. Raises KataSyntax for circular definitions and for too many keys."""
    definitions = {key: value for key, value in document.tree.items() if key.startswith("&")}
    tree = {key: value for key, value in document.tree.items() if not key.startswith("&")}
    resolver = _Resolver(definitions, document.lines)
    lines: dict[str, int] = {}
    document.tree = resolver.map(tree, "", "", lines, ())
    document.lines = lines


class _Resolver:
    def __init__(self, definitions: "Tree", lines: dict[str, int]) -> None:
        self._definitions = {key[1:].partition("@")[0]: (key, value) for key, value in definitions.items()}
        self._lines = lines
        self._expanded = 0
        self._path_chars = 0
        self._children: dict[int, dict[str, str]] = {}  # keyed by id() of a map, which the document keeps alive

    def map(self, tree: "Tree", source: str, path: str, lines: dict[str, int], using: tuple[str, ...]) -> "Tree":
        """Returns the map with its references replaced. source: the path of its keys in the document. path: their path
        in the result. using: the definitions that enclose the map."""
        resolved: Tree = {}
        for key, value in tree.items():
            name, _, annotation_text = key.partition("@")
            own = f"{source}:{name}" if source else name
            here = f"{path}:{name}" if path else name
            lines[here] = self._lines[own]
            if using:
                self._count(own, here)
            annotations = annotation_text.split(",") if annotation_text else []
            if isinstance(value, str) and "ref" in annotations:
                key, value = self._used(name, annotations, value, own, here, lines, using)
                resolved[key] = value
            else:
                resolved[key] = value if isinstance(value, str) else self.map(value, own, here, lines, using)
        return resolved

    def _used(
        self,
        name: str,
        key_annotations: list[str],
        text: str,
        own: str,
        here: str,
        lines: dict[str, int],
        using: tuple[str, ...],
    ) -> "tuple[str, str | Tree]":
        target = text.strip()
        definition = self._find(target)
        if definition is None:
            return name, text
        source, annotations, value = definition
        if target in using:
            raise self._error("CYCLE", own, f"'{target[:80]}' is defined in terms of itself")
        if len(using) >= MAX_NESTED:
            raise self._error("TOO_DEEP", own, f"at most {MAX_NESTED} definitions inside each other")
        place = key_annotations.index("ref")
        key_annotations = [
            *key_annotations[:place],
            *annotations,
            *(each for each in key_annotations[place + 1 :] if each != "ref"),
        ]
        lines[here] = self._lines[source]
        within = (*using, target)
        if isinstance(value, str) and "ref" in annotations:
            return self._used(name, key_annotations, value, source, here, lines, within)
        if not isinstance(value, str):
            value = self.map(value, source, here, lines, within)
        return (f"{name}@{','.join(key_annotations)}" if key_annotations else name), value

    def _find(self, target: str) -> "tuple[str, list[str], str | Tree] | None":
        """Path in the document, annotations and value of what `a:b:c` names among the definitions."""
        first, *rest = target.split(":")
        definition = self._definitions.get(first)
        if definition is None:
            return None
        key, value = definition
        path = key.partition("@")[0]
        for part in rest:
            if isinstance(value, str):
                return None
            key = self._named(value).get(part, "")
            if not key:
                return None
            value, path = value[key], f"{path}:{part}"
        annotations = key.partition("@")[2]
        return path, annotations.split(",") if annotations else [], value

    def _named(self, tree: "Tree") -> dict[str, str]:
        """The keys of a map by their names."""
        keys = self._children.get(id(tree))
        if keys is None:
            keys = self._children[id(tree)] = {key.partition("@")[0]: key for key in tree}
        return keys

    def _count(self, own: str, path: str) -> None:
        self._expanded += 1
        self._path_chars += len(path)
        if self._expanded > MAX_EXPANDED:
            raise self._error("TOO_LARGE", own, f"the definitions make more than {MAX_EXPANDED:,} keys")
        if self._path_chars > MAX_PATH_CHARS:
            raise self._error("TOO_LARGE", own, "the definitions make too many keys below long ones")

    def _error(self, code: str, own: str, reason: str) -> KataSyntax:
        line = self._lines[own] + 1
        return KataSyntax(f"{reason} (line {line})", code=code, line=line)
