"""Generates the help pages of record types from their declarations, and the table that links to them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from cells import code, head, row, shown

from server.access.parents import PARENTS
from server.record_types import registry
from server.record_types.describe import describe
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry, names_of
from server.record_types.shared.points import POINTS

OPERATIONS = ("retrieve", "search", "create", "update", "delete")
# Descriptions of access rules (server/access/rules.py). A rule of PARENTS depends on access to another record.
ACCESS = {
    "any worker": "any worker",
    "admins": "administrators",
    "nobody": "nobody (not available through the API)",
    "privilege": "workers whose role has the privilege `contexts.{context}.{operation}`",
    "group": "workers who can read its group",
    "group members": "members of its group",
    "group manager": "managers of its group",
    "group managers": "managers of the group",
    "macro owner": "any worker; a macro that is built by form: its owner, as for snippets",
    "owner": "its owner: the worker, or members of the group or role; any worker if the service owns it",
    "worker": "its worker",
    "rating": "its worker, managers of its group, and workers whose role grants it, if they can read its ticket",
    "worker or ticket": "its worker, and workers who can read its ticket",
    "author": "its author",
    "target": "workers who can read the record it belongs to",
    "attached": "workers who can read a record it is attached to",
}
ALREADY = re.compile(r"omitted|unless|is an error")  # the note already states it
SET_BY_SERVICE = re.compile(r"(?:set|kept) by the service", re.IGNORECASE)
AUTO = {
    "now": "now when omitted",
    "generated": "generated when omitted",
    "derived": "derived from other fields",
    "setting": "defaults to a setting",
    "built_in": "set by the service",
}


@cache
def types() -> Registry:
    """Every record type of the service."""
    return registry.load()


def pages() -> dict[str, str]:
    """Returns {path below resources/help: page} of every record type."""
    return {f"types/{each.uri}.md": "\n".join(_page(each)) + "\n" for each in types()}


def type_rows() -> Iterator[str]:
    """One row for each record type, with a link to its page."""
    yield from head("Record type", "Name in paths", "Description")
    for each in types():
        yield row(f"[{each.label_names[0]}](types/{each.uri}.md)", code(each.uri), note(type(each).__doc__ or ""))


def activity_points() -> Iterator[str]:
    """One row for each activity point, with the sentence of its entries."""
    yield from head("Activity point", "Name", "Sentence")
    for each in POINTS.values():
        yield row(code(each.id), each.name, code(each.pattern))


def _page(record_type: RecordType) -> Iterator[str]:
    about = describe(record_type)
    yield f"# {about['label']['singular']}"
    yield ""
    yield note(about["note"])
    yield ""
    yield from _summary(about, sorted({*names_of(record_type)} - {record_type.uri, record_type.context}))
    yield ""
    yield "For requests, see [records](../api/records.md); for the search language, see [search](../search.md)."
    yield from _section("Fields", _fields(about), "Fields that requests accept. Required fields are bold.")
    yield from _section(
        "Keys",
        _keys(about),
        "Keys of a record in responses. An expanded key is returned only if `expand` names it; one that ends in `_` "
        "loads the keys of the linked record, with that prefix.",
    )
    yield from _section("Expand", _expands(about), "Further keys for `expand`.")
    yield from _section(
        "Filters", _filters(about), "Terms of a search, as `name:value`. Words without a name use the bold filter."
    )
    yield from _section("Sort", _names(about["sort"]), "Names for `sort:`. A `-` before the name reverses the order.")
    yield from _section("Subtotals", _subtotals(about), "")
    yield from _section("Activity", _events(about), "Entries in the activity log, by activity point.")


def _section(title: str, lines: Iterator[str], about: str) -> Iterator[str]:
    found = list(lines)
    if not found:
        return
    yield ""
    yield f"## {title}"
    yield ""
    if about:
        yield about
        yield ""
    yield from found


def _summary(about: dict[str, Any], others: list[str]) -> Iterator[str]:
    yield from head("Property", "Value")
    yield row("Name in paths", code(about["uri"]) + (f"; also {code(*others)}" if others else ""))
    if about["context"]:
        yield row("Context", code(about["context"]))
    yield row("Requests", ", ".join(_operation(about, name) for name in OPERATIONS if about["operations"][name]))
    if about["lookup"]:
        yield row("Referenced by", f"its id, or its {code(about['lookup'])}")
    for operation in ("read", "create", "update", "delete", "publish"):
        if operation in about["access"] and about["operations"].get(operation, True):
            yield row(f"Who can {operation}", _access(about, operation))
    has = [name.replace("_", " ") for name, is_there in about["features"].items() if is_there and name != "search"]
    if has:
        yield row("Features", ", ".join(has))


def _operation(about: dict[str, Any], name: str) -> str:
    return f"{name} (sets the status to deleted)" if about["operations"][name] == "soft" else name


def _access(about: dict[str, Any], operation: str) -> str:
    """Describes who can do an operation. All rules, joined by ` + `, apply."""
    words = []
    for rule in about["access"][operation].split(" + "):
        parent = f"workers who can change its {PARENTS[rule].type.replace('_', ' ')}" if rule in PARENTS else ""
        words.append(ACCESS.get(rule, "") or parent or _missing(rule))
    return " and ".join(words).format(context=about["context"], operation=operation)


def _missing(rule: str) -> str:
    raise SystemExit(f"build/type_pages.py has no description of the access rule '{rule}'")


def _fields(about: dict[str, Any]) -> Iterator[str]:
    if not (about["operations"]["create"] or about["operations"]["update"]):
        return
    yield from head("Field", "Type", "Description")
    for each in about["fields"]:
        name = code(each["name"])
        yield row(f"**{name}**" if each["required"] else name, _takes(each), f"{note(each['note'])}{_details(each)}")


def _takes(each: dict[str, Any]) -> str:
    target = f" of [{each['target']}]({each['target']}.md)" if _has_page(each.get("target", "")) else ""
    return f"{each['type']}{target}"


def _details(each: dict[str, Any]) -> str:
    """Describes the other attributes of a field, as sentences."""
    found = []
    if each.get("allowed"):
        found.append(f"One of {code(*filter(None, each['allowed']))}")
    if each.get("max_length"):
        found.append(f"Up to {shown(each['max_length'])} character{'s' if each['max_length'] > 1 else ''}")
    if each.get("min_length"):
        found.append(f"At least {shown(each['min_length'])} characters")
    if "min" in each or "max" in each:
        end = f" to {shown(each['max'])}" if "max" in each else ""
        found.append(f"From {shown(each.get('min', 0))}{end}")
    if each.get("pattern"):
        found.append(f"Format: `{each['pattern']}`")
    if each["default"] not in (None, "", [], {}):
        found.append(f"Default: {code(str(each['default']))}")
    if each.get("auto") and not each["immutable"] and not ALREADY.search(each["note"]):
        found.append(AUTO[each["auto"]].capitalize())
    if each["unique"]:
        found.append("Must be unique")
    if each["immutable"] and not ALREADY.search(each["note"]):
        is_stated = SET_BY_SERVICE.search(each["note"])
        found.append("Sending it is an error" if is_stated else "Set by the service; sending it is an error")
    if each.get("alternatives"):
        found.append(f"Alternative: {' or '.join(code(name) for name in each['alternatives'])}")
    if each.get("alternative_to"):
        found.append(f"An alternative to {code(each['alternative_to'])}")
    return "".join(f" {sentence}." for sentence in found)


def _keys(about: dict[str, Any]) -> Iterator[str]:
    yield from head("Key", "Type", "Returned", "Description")
    for each in about["keys"]:
        when = "always" if each["returned"] == "default" else "expanded"
        yield row(code(each["key"]), _takes(each), when, note(each["note"]))


def _expands(about: dict[str, Any]) -> Iterator[str]:
    known = {each["key"] for each in about["keys"]}
    rest = [each for each in about["expand"] if each["key"] not in known]
    if rest:
        yield from head("Key", "Type", "Description")
    for each in rest:
        yield row(code(each["key"]), _takes(each), note(each["note"]))


def _filters(about: dict[str, Any]) -> Iterator[str]:
    if about["filters"]:
        yield from head("Filter", "Type", "Description")
    for each in about["filters"]:
        name = code(each["name"])
        more = f" One of {code(*each['values'])}." if each.get("values") else ""
        more += f" Also {code(*each['aliases'])}." if each.get("aliases") else ""
        takes = _takes(each | {"type": "search"}) if each["type"] == "deep" else each["type"]
        yield row(f"**{name}**" if each["default"] else name, takes, f"{note(each['note'])}{more}")


def _names(names: list[str]) -> Iterator[str]:
    if names:
        yield f"{code(*names)}."


def _subtotals(about: dict[str, Any]) -> Iterator[str]:
    found = about["subtotals"]
    listed = {
        "In a search, as `subtotals[]`": found["search"],
        "Aliases of these": found["search_aliases"],
        "In [data queries](../data-queries.md), as `by:`": [*found["query"], *found["query_virtual"]],
    }
    if any(listed.values()):
        yield from head("Use", "Names")
    for place, names in listed.items():
        if names:
            yield row(place, code(*names))


def _events(about: dict[str, Any]) -> Iterator[str]:
    if about["events"]:
        yield from head("Activity point", "Event")
    for each in about["events"]:
        yield row(code(each["point"]), f"{each['when']}.")


def note(text: str) -> str:
    """Returns a note on one line, with a full stop."""
    words = " ".join(text.split())
    return words if words.endswith(".") or not words else f"{words}."


def _has_page(uri: str) -> bool:
    return any(each.uri == uri for each in types())
