"""Declarations as data, in the form of `helpdesk describe --json`, for reference pages and checks."""

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from server.record_types import traits

if TYPE_CHECKING:
    from server.fields import Field
    from server.record_types.record_type import RecordType


def describe(record_type: "RecordType") -> dict[str, Any]:
    """The declaration as data: names, label, operations, access, fields, keys, expand, filters, sort, subtotals,
    events."""
    features = {each.name: record_type.has(type(each)) for each in sorted(traits.ALL, key=attrgetter("name"))}
    filters = [each.describe() for each in dict.fromkeys(record_type.filter_by_name.values())]
    has_links = "links" in record_type.filter_by_name and record_type.filter_by_name["links"].type == "links"
    patterns = _filter_patterns(record_type, has_links)
    sort = record_type.sort_names()
    custom = [name for trait in record_type.traits for name in trait.sorts]
    countable = list(record_type.subtotals.also) + (["links", "links.<uri>"] if has_links else [])
    return {
        "uri": record_type.uri,
        "aliases": list(record_type.aliases),
        "context": record_type.context,
        "label": {"singular": record_type.label_names[0], "plural": record_type.label_names[1]},
        "tier": record_type.tier,
        "lookup": record_type.lookup or None,
        "note": (type(record_type).__doc__ or "").strip(),
        "features": features,
        "operations": dict(record_type.operations),
        "access": {
            "read": record_type.access.read,
            "create": " + ".join(record_type.access.create),
            "update": " + ".join(record_type.access.update),
            "delete": " + ".join(record_type.access.delete),
            **({"publish": " + ".join(record_type.access.publish)} if record_type.access.publish else {}),
        },
        "fields": fields(record_type),
        "keys": keys(record_type),
        "expand": expand(record_type),
        "filters": filters + patterns,
        "sort": sort + custom,
        "subtotals": {
            "search": list(record_type.subtotals.search) + custom,
            "query": sorted({*sort, *countable}) + custom,
            "query_virtual": list(record_type.subtotals.virtual),
            "query_aliases": dict(record_type.subtotals.aliases),
            "search_aliases": {
                name: meant
                for name in (*record_type.subtotals.aliases, *record_type.subtotals.older)
                if (meant := record_type.subtotals.meant(name)) != name
            },
        },
        "events": [{"point": each.point, "when": each.when} for each in record_type.all_events()],
    }


def fields(record_type: "RecordType") -> list[dict[str, Any]]:
    """The fields that create, update and upsert accept."""
    id_field = [
        {
            "name": "id",
            "type": "id",
            "required": False,
            "immutable": True,
            "unique": False,
            "default": None,
            "note": "Set by the service; sending it is an error.",
        }
    ]
    return id_field + [each.describe() for each in record_type.fields.values()]


def sort_filters(record_type: "RecordType") -> dict[str, str]:
    """Returns {key or column: the filter that sorts by it}."""
    filters: dict[str, str] = {}
    for each in dict.fromkeys(record_type.filter_by_name.values()):
        if each.sortable:
            filters.setdefault(each.column_name, each.name)
            filters.setdefault(each.name, each.name)
    for field in record_type.fields.values():
        if field.shown and field.name in filters:
            filters.setdefault(field.key, filters[field.name])
    return filters


def keys(record_type: "RecordType") -> list[dict[str, Any]]:
    """The keys of the dictionary."""
    when = "expand" if record_type.label_on_expand else "default"
    by_key: dict[str, dict[str, Any]] = {}

    def add(key: str, type: str, note: str, returned: str = "default", **more: Any) -> None:
        by_key.setdefault(key, {"key": key, "type": type, "returned": returned, "note": note} | more)

    add("_context", "context", "Full context of the record type.")
    add("_type", "text", "Uri of the record type.")
    add("_label", "text", "Label of the record.", when)
    add("id", "id", "Record id.")
    if record_type.has_url:
        add("record_url", "url", "Address of the record's page.")
    for key in record_type.keys:
        more = {"target": key.target} if key.target else {}
        if key.origin:
            more["origin"] = key.origin
        add(key.name, key.type, key.note, "expand" if key.on_expand else "default", **more)
    for nested in record_type.nested:
        stub = [f"{nested.prefix}__context", f"{nested.prefix}_id"]
        add(f"{nested.prefix}_", "record", nested.note, "expand", target=nested.target, stub=stub)
        if nested.stub:
            add(stub[0], "context", f"Context of the record behind `{nested.prefix}_`.")
            add(stub[1], "id", nested.note, target=nested.target)
            if nested.is_nullable:
                by_key[stub[1]]["nullable"] = True
        if nested.target == "*":
            add(f"{nested.prefix}__label", "text", f"Label of the record behind `{nested.prefix}_`.", "expand")
    for field in record_type.fields.values():
        if field.shown:
            add(field.key, _key_type(field), field.note)
    for name in record_type.for_admins & by_key.keys():
        by_key[name] |= {"for_admins": True, "note": f"{by_key[name]['note']} For administrators only."}
    return sorted(by_key.values(), key=lambda each: str(each["key"]))


def _key_type(field: "Field") -> str:
    return {"uint": "number", "object": "object"}.get(field.type, field.type)


def expand(record_type: "RecordType") -> list[dict[str, Any]]:
    """The names that `expand` accepts, including the prefixes of nested records."""
    entries = []
    for each in record_type.expand_by_name.values():
        description: dict[str, Any] = {"key": each.name, "type": each.type, "common": each.common, "note": each.note}
        if each.target:
            description["target"] = each.target
        entries.append(description)
    names = {each["key"] for each in entries}
    for key in record_type.keys:
        if key.on_expand and key.name not in names:
            entries.append({"key": key.name, "type": key.type, "common": False, "note": key.note})
    for nested in record_type.nested:
        entries.append(
            {
                "key": f"{nested.prefix}_",
                "type": "record",
                "target": nested.target,
                "common": False,
                "note": "Every key of the record, under this prefix.",
            }
        )
    return entries


def _filter_patterns(record_type: "RecordType", has_links: bool) -> list[dict[str, Any]]:
    patterns = []
    for name, each in record_type.filter_by_name.items():
        if each.type == "links" and name == each.name:
            patterns.append((f"{name}.<uri>", "deep", False, "A record of that type matches the query."))
    if record_type.org_column:
        patterns.append(("org.<custom field>", "by custom field", False, "Custom fields of the organization."))
    descriptions = [
        {"name": name, "type": kind, "default": False, "sortable": sortable, "note": note}
        for name, kind, sortable, note in patterns
    ]
    return descriptions + [each for trait in record_type.traits for each in trait.filter_patterns()]
