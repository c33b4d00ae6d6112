"""A package document: what it is called, what it needs and asks, and its sections. Nothing is looked up here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError, Invalid, Required, TimedOut, TooLarge, Unavailable, nearest

MAX_PACKAGE_BYTES = 10 * 1024 * 1024  # of the JSON text
MAX_DEPTH = 64  # maps and lists inside each other
MAX_ENTRIES = 5000  # of all sections together, those inside others among them
MAX_REVISION_CHARS = 80  # that are shown; nothing reads it
MAX_PROMPTS = 200  # prompts, and as many configured placeholders

LISTED = (
    "records",
    "custom_fieldsets",
    "bots",
    "behaviors",
    "behavior_nodes",
    "workspaces",
    "saved_searches",
    "calendars",
    "events",
    "toolbars",
)
MAPPED = ("settings", "worker_preferences")
ABSENT = {
    "portals": "community portals",
    "classifiers": "classifiers",
    "project_boards": "project boards",
}
RESERVED = ("uid", "default")  # placeholders that every package has
Tree = dict[str, Any]


@dataclass(frozen=True)
class PackageDocument:
    """name, revision: for people. requires, prompts, placeholders: as written. sections: {name: list or map}, those
    that hold something."""

    name: str
    revision: str
    requires: Tree
    prompts: list[Tree]
    placeholders: list[Tree]
    disable_events: bool
    sections: Tree


def read(value: Any) -> PackageDocument:
    """The document of a decoded JSON text. Raises Invalid, TooLarge."""
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
    """The uids of the entries of all sections, those inside others left out."""
    listed = [document.sections.get(name) for name in LISTED]
    entries = [each for section in listed if isinstance(section, list) for each in section if isinstance(each, dict)]
    return {str(each["uid"]) for each in entries if each.get("uid")}


def bad(message: str) -> Invalid:
    """The error for a package that cannot be imported."""
    return Invalid(message, field="package_json")


@contextmanager
def at(where: str) -> Iterator[None]:
    """Tell errors with their place in the package. What has nothing to do with the package stays as it is."""
    try:
        yield
    except (Unavailable, TimedOut):
        raise
    except HelpdeskError as error:
        kind = next((each for each in (Conflict, TooLarge, Required) if isinstance(error, each)), Invalid)
        raise kind(f"{where}: {error.message}", field="package_json") from error


def is_yes(value: Any) -> bool:
    """Whether a switch is on: not nothing, 0, false, no or off."""
    return str(value if value is not None else "").strip().lower() not in ("", "0", "false", "no", "off")


def _sections(value: Tree) -> Tree:
    found = {name: each for name, each in value.items() if name != "package" and each not in (None, [], {})}
    for name, each in found.items():
        if name in ABSENT:
            raise bad(f"{name}: this service has no {ABSENT[name]}; leave the section out")
        if name not in (*LISTED, *MAPPED):
            raise bad(f"'{name[:80]}' is not a section of a package{nearest(name, (*LISTED, *MAPPED))}")
        if name in MAPPED and not isinstance(each, dict):
            raise bad(f"{name}: takes a map")
    return found


def _map(tree: Tree, name: str, where: str) -> Tree:
    found = tree.get(name)
    if found in (None, []):
        return {}
    if not isinstance(found, dict):
        raise bad(f"{where}: {name} takes a map")
    return found


def _maps(configure: Tree, name: str) -> list[Tree]:
    """A list of things with a key each, which must differ from the names that all packages have."""
    found = configure.get(name)
    if found in (None, {}):
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise bad(f"package: configure: {name} takes a list of maps")
    if len(found) > MAX_PROMPTS:
        raise TooLarge(f"package: configure: at most {MAX_PROMPTS} {name}", field="package_json", limit=MAX_PROMPTS)
    for place, each in enumerate(found, 1):
        key = each.get("key")
        if not isinstance(key, str) or not key.strip():
            raise bad(f"package: configure: {name}: entry {place} has no key")
        if key in RESERVED:
            raise bad(f"package: configure: {name}: '{key}' is a placeholder of every package; choose another key")
    return found


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(f"{where} must be a text")
    return value
