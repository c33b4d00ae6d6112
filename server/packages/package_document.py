"""A package document: its name, requirements, prompts and sections. Parsing does not access the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError, Invalid, Required, TimedOut, TooLarge, Unavailable, nearest

MAX_PACKAGE_BYTES = 10 * 1024 * 1024  # size of the JSON text
MAX_DEPTH = 64  # nested maps and lists
MAX_ENTRIES = 5000  # in all sections together, including nested ones
MAX_REVISION_CHARS = 80  # for display only
MAX_PROMPTS = 200  # also the limit of configured placeholders

LISTED = (
    "records",
    "custom_fieldsets",
    "bots",
    "behaviors",
    "behavior_nodes",
    "workspaces",
    "saved_searches",
    "calendars",
    "project_boards",
    "events",
    "toolbars",
)
MAPPED = ("settings", "worker_preferences")
ABSENT = {
    "portals": "community portals",
    "classifiers": "classifiers",
}
RESERVED = ("uid", "default")  # placeholders that every package has
Tree = dict[str, Any]


@dataclass(frozen=True)
class PackageDocument:
    """A parsed document. name, revision: for people. requires, prompts, placeholders: as written. sections: {name: list
    or map}, without empty ones."""

    name: str
    revision: str
    requires: Tree
    prompts: list[Tree]
    placeholders: list[Tree]
    disable_events: bool
    sections: Tree

    @property
    def counts(self) -> dict[str, int]:
        """{section: number of its entries}."""
        return {name: len(entries) for name, entries in self.sections.items() if isinstance(entries, list | dict)}


def read(value: Any) -> PackageDocument:
    """Returns the document of a decoded JSON text. Raises Invalid, TooLarge."""
    if not isinstance(value, dict) or not isinstance(value.get("package"), dict):
        raise bad('a package is a JSON object with the key "package", an object as well')
    package: Tree = value["package"]
    configure = _map(package, "configure", "package")
    options = _map(configure, "options", "package: configure")
    return PackageDocument(
        _text(package.get("name"), "package: name"),
        str(package.get("revision") or "")[:MAX_REVISION_CHARS],
        _map(package, "requires", "package"),
        _maps(configure, "prompts"),
        _maps(configure, "placeholders"),
        is_yes(options.get("disable_events")),
        _sections(value),
    )


def uids(document: PackageDocument) -> set[str]:
    """Returns the uids of the entries of all sections, without nested ones."""
    sections = [document.sections.get(name) for name in LISTED]
    entries = [each for section in sections if isinstance(section, list) for each in section if isinstance(each, dict)]
    return {str(each["uid"]) for each in entries if each.get("uid")}


def bad(message: str) -> Invalid:
    """Returns the error for a package that cannot be imported."""
    return Invalid(message, field="package_json")


@contextmanager
def at(where: str) -> Iterator[None]:
    """Adds the place in the package to the message of errors. Errors that the package does not cause pass unchanged."""
    try:
        yield
    except (Unavailable, TimedOut):
        raise
    except HelpdeskError as error:
        kind = next((each for each in (Conflict, TooLarge, Required) if isinstance(error, each)), Invalid)
        raise kind(f"{where}: {error.message}", field="package_json") from error


def is_yes(value: Any) -> bool:
    """Whether a switch is on: not empty, 0, false, no or off."""
    return str(value if value is not None else "").strip().lower() not in ("", "0", "false", "no", "off")


def _sections(value: Tree) -> Tree:
    filled = {name: each for name, each in value.items() if name != "package" and each not in (None, [], {})}
    for name, each in filled.items():
        if name in ABSENT:
            raise bad(f"{name}: this service has no {ABSENT[name]}; leave the section out")
        if name not in (*LISTED, *MAPPED):
            raise bad(f"'{name[:80]}' is not a section of a package{nearest(name, (*LISTED, *MAPPED))}")
        if name in MAPPED and not isinstance(each, dict):
            raise bad(f"{name}: must be a map")
    return filled


def _map(tree: Tree, name: str, where: str) -> Tree:
    value = tree.get(name)
    if value in (None, []):
        return {}
    if not isinstance(value, dict):
        raise bad(f"{where}: {name} must be a map")
    return value


def _maps(configure: Tree, name: str) -> list[Tree]:
    """Returns a list of maps, each with a key that differs from the reserved ones."""
    entries = configure.get(name)
    if entries in (None, {}):
        return []
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise bad(f"package: configure: {name} must be a list of maps")
    if len(entries) > MAX_PROMPTS:
        raise TooLarge(f"package: configure: at most {MAX_PROMPTS} {name}", field="package_json", limit=MAX_PROMPTS)
    for place, each in enumerate(entries, 1):
        key = each.get("key")
        if not isinstance(key, str) or not key.strip():
            raise bad(f"package: configure: {name}: entry {place} has no key")
        if key in RESERVED:
            raise bad(f"package: configure: {name}: '{key}' is a placeholder of every package; choose another key")
    return entries


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(f"{where} must be a text")
    return value
