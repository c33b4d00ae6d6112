"""Evaluates a KATA tree: renders its templates and applies its annotations.

`Generic` is for event bindings, policies, inputs, toolbars and `kata.parse`. `Parameters` is for the parameters of an
automation's commands, where a mistake gives false and a line in the log, and the run continues."""

from collections.abc import Callable
from typing import Any

from server import clock, times
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import HelpdeskError, KataSyntax, TemplateFailed, nearest
from server.kata import annotations as notes
from server.kata import kata_parser
from server.kata.kata_parser import Tree

Log = Callable[[str, TemplateFailed], None]


def _read_date(text: str) -> int | None:
    try:
        return times.instant(text, clock.now(), times.zone("UTC"))
    except HelpdeskError:
        return None


@dataclass
class Environment:
    """The surroundings of an evaluation.

    values: the dictionary that `key` reads, if any. render: renders a template to text; may raise TemplateFailed.
    read_date: parses a time in words to Unix seconds. log: receives the path and the error of a failed template.
    charge: called with each annotation and its text before the conversion; may raise BudgetSpent."""

    values: dict[str, Any] | None = None
    render: Callable[[str], str] | None = None
    read_date: Callable[[str], int | None] = _read_date
    log: Log = lambda path, error: None
    charge: Callable[[str, str], None] = lambda annotation, text: None


class Generic:
    """strict: whether a failed template ends the evaluation; otherwise its value is null and the error is logged."""

    def __init__(self, environment: Environment, strict: bool = True) -> None:
        self.environment = environment
        self.strict = strict

    def value(self, tree: Tree) -> Any:
        """The values of a whole document. Raises KataSyntax with `code` and `path`."""
        entries = self.map(tree, "")
        if isinstance(entries, dict) and entries and all(key.isdigit() for key in entries):
            return list(entries.values())
        return entries

    def map(self, tree: Tree, path: str) -> Any:
        entries: dict[str, Any] = {}
        for key, value in tree.items():
            name = kata_parser.plain(key)
            here = f"{path}:{name}" if path else name
            result = self.leaf(key, value, here) if isinstance(value, str) else self._below(key, value, here)
            if result is not None:
                entries[result[0]] = result[1]
        return notes.list_or_map(entries)

    def _below(self, key: str, tree: Tree, path: str) -> tuple[str, Any]:
        name = kata_parser.plain(key)
        return name, (tree if "raw" in kata_parser.annotations(key) else self.map(tree, path))

    def leaf(self, key: str, text: str, path: str) -> tuple[str, Any] | None:
        """Name and value of one key that holds text; None to leave it out."""
        name, annotations = kata_parser.parts(key)
        if "raw" in annotations:
            before = annotations[: annotations.index("raw")] if self.environment.values is None else ()
            others = [each for each in annotations if each != "raw"]
            return kata_parser.joined(name, others), self._annotated(text, before, path)
        try:
            rendered: Any = text if self.environment.render is None else self.environment.render(text)
        except TemplateFailed as error:
            return name, self.failed(error, path)
        return self.finished(name, self._annotated(rendered, annotations, path), annotations)

    def _annotated(self, value: Any, annotations: tuple[str, ...], path: str) -> Any:
        for each in annotations:
            value = self.applied(each, value, path)
        return value

    def applied(self, annotation: str, value: Any, path: str) -> Any:
        """The value after one annotation."""
        environment = self.environment
        if isinstance(value, str):
            environment.charge(annotation, value)
        if annotation == "key":
            if environment.values is None or not isinstance(value, str):
                return value if environment.values is None else None
            return self.entry(environment.values, value)
        simple = notes.SIMPLE.get(annotation)
        if simple is not None:
            return simple(value)
        if annotation == "date":
            return notes.as_date(environment.read_date, value)
        if annotation == "kata":
            return _parsed(value)
        if annotation in notes.KNOWN:
            return value
        return self.unknown(annotation, value, path)

    # -- what the two ways do differently ---------------------------------------------------------------------------

    def entry(self, values: dict[str, Any], path: str) -> Any:
        """The entry of the dictionary that `key` names."""
        entry: Any = values
        for part in path.split("."):
            entry = _child(entry, part)
        return entry

    def failed(self, error: TemplateFailed, path: str) -> Any:
        """Returns the value that replaces a failed template."""
        if self.strict:
            raise KataSyntax(f"[{path}] {error.message}", code="TEMPLATE_ERROR", path=path, **_line(error)) from error
        self.environment.log(path, error)
        return None

    def unknown(self, annotation: str, value: Any, path: str) -> Any:
        """Returns the value after an unknown annotation."""
        raise KataSyntax(
            f"[{path}] '@{annotation[:50]}' is not an annotation{nearest(annotation, notes.KNOWN)}",
            code="UNKNOWN_ANNOTATION",
            path=path,
        )

    def finished(self, name: str, value: Any, annotations: tuple[str, ...]) -> tuple[str, Any] | None:
        """Returns the final name and value, or None to leave the key out."""
        return name, value


class Parameters(Generic):
    """The parameters of an automation's commands."""

    def entry(self, values: dict[str, Any], path: str) -> Any:
        return entry_at(values, path)

    def failed(self, error: TemplateFailed, path: str) -> Any:
        self.environment.log(path, error)
        return False

    def unknown(self, annotation: str, value: Any, path: str) -> Any:
        return value

    def applied(self, annotation: str, value: Any, path: str) -> Any:
        if annotation in ("int", "float") and isinstance(value, str) and "E+" in value:
            return value
        return super().applied(annotation, value, path)

    def finished(self, name: str, value: Any, annotations: tuple[str, ...]) -> tuple[str, Any] | None:
        return None if "optional" in annotations and value in (None, "") and value is not False else (name, value)


def entry_at(values: dict[str, Any], path: str) -> Any:
    """Resolves the path of a `key` annotation in a command: parts joined by colons."""
    if ":" not in path:
        return values.get(path)
    entry: Any = values
    for part in path.split(":"):
        if entry is not None and not isinstance(entry, (dict, list)):
            return entry  # a path into a scalar ends at the scalar
        entry = _child(entry, part)
    return entry


def _child(container: Any, part: str) -> Any:
    if isinstance(container, dict):
        return container.get(part)
    if isinstance(container, list) and is_whole(part, 9) and int(part) < len(container):
        return container[int(part)]
    return None


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return False
    try:
        return kata_parser.parse(value).tree
    except KataSyntax:
        return False


def _line(error: TemplateFailed) -> dict[str, object]:
    return {"line": error.details["line"]} if "line" in error.details else {}
