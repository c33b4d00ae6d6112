"""Custom records: each declares a record type. shared/custom_types.py builds the type."""

from typing import TYPE_CHECKING, Any

from server.contexts import short_context
from server.errors import Conflict, Invalid, nearest
from server.fields import Name, Structure, Text, UpdatedAt
from server.fields.link import APP
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared import custom_types, record_owners
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store import schema
from server.translation import about_field, lazy_gettext

if TYPE_CHECKING:
    from server.record_types.registry import Registry

MAX_CUSTOM_TYPES = 500  # each has its own table, and every search for readable records includes all of them


class CustomRecord(RecordType):
    """A record type that an administrator created; its records are available under its uri at once."""

    uri = "custom_record"
    tier = 2
    lookup = "uri"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "name": Name("Singular name, such as Issue.", filter_note="Singular name."),
        "name_plural": Text(
            "Plural name, such as Issues.", required=True, filter="name.plural", filter_note="Plural name."
        ),
        "params": Structure(
            "`owners[contexts]`: the types that may own its records (app, group, role, worker; none: records have no "
            "owner). `options`: a list of attachments, avatars, comments, hide_search.",
            16777215,
        ),
        "updated_at": UpdatedAt(),
        "uri": Text(
            "Name of the record type in paths, links and queries: lower-case letters, digits, underscores.",
            64,
            required=True,
            unique=True,
            pattern=r"[A-Za-z0-9_]*",
            filter_note="Name in paths, links and queries.",
            match="prefix",
        ),
    }
    subtotals = Subtotals(search=("fieldset", "links"))
    bumps = {custom_types.VERSION: ()}

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.is_create and len(self.registry.custom) >= MAX_CUSTOM_TYPES:
            raise Conflict(f"there are already {MAX_CUSTOM_TYPES} custom record types, the maximum; delete one first")
        if "uri" in change.new:
            change.new["uri"] = change.new["uri"].lower()
            self._check_names(change)
        if change.is_create or "params" in change.new:
            change.new["params"] = _params(change.new.get("params") or {}, self.registry)

    def after_write(self, change: Change, writing: Writing) -> None:
        declared = custom_types.record_type({**(change.old or {}), **change.new, "id": change.id})
        schema.add_tables(writing.tx, [declared.table])
        custom_types.publish(writing.tx, self.registry)

    def check_delete(self, record: Record, writing: Writing) -> None:
        declared = custom_types.record_type(record)
        if writing.tx.first(declared.table) is not None:
            raise Conflict(
                f"there are {record['name_plural'].lower()} still; delete them, then the type", type=record["uri"]
            )

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Deletes the custom fields and fieldsets of the type, custom fields that point to it, and its privileges."""
        declared = custom_types.record_type(record)
        for uri in ("custom_field", "custom_fieldset"):
            for id in writing.search_ids(uri, f"context:{declared.context}"):
                if writing.record(uri, id) is not None:  # a fieldset deletes its fields
                    writing.delete(uri, id)
        self._forget_pointing(declared.context, writing)
        self._forget_privileges(declared.context, writing)
        schema.drop_table(writing.tx, declared.table)
        custom_types.publish(writing.tx, self.registry)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _check_names(self, change: Change) -> None:
        uri = change.new["uri"]
        if uri in self.registry.built_in_names:
            raise Conflict(
                about_field(
                    "uri",
                    lazy_gettext("'{value}' is already the name of a built-in record type; choose another", value=uri),
                ),
                field="uri",
            )
        if not uri[:1].isalpha():
            raise Invalid(f"uri: '{uri}' must begin with a letter", field="uri")

    def _forget_pointing(self, context: str, writing: Writing) -> None:
        fields = self.registry.type("custom_field")
        for row in writing.tx.find(fields.table):
            field = fields.record(row)
            if isinstance(field["params"], dict) and field["params"].get("context") == context:
                writing.delete("custom_field", field["id"])

    def _forget_privileges(self, context: str, writing: Writing) -> None:
        roles = self.registry.type("role")
        for row in writing.tx.find(roles.table):
            role = roles.record(row)
            privileges = [each for each in role["privs"] if not each.startswith(f"contexts.{context}.")]
            if privileges != role["privs"]:
                writing.set("role", role["id"], {"privs": privileges})


def _params(raw: Any, registry: "Registry") -> dict[str, Any]:
    """Returns the checked settings. Raises Invalid."""
    if not isinstance(raw, dict):
        if raw:
            raise Invalid("params: must be a map", field="params")
        raw = {}
    unknown = [name for name in raw if name not in ("owners", "options")]
    if unknown:
        name = str(unknown[0])[:50]
        raise Invalid(f"params: '{name}' is not a setting; there are owners and options", field="params")
    return {
        "owners": {"contexts": _owners(raw.get("owners"), registry)},
        "options": _options(raw.get("options")),
    }


def _owners(raw: Any, registry: "Registry") -> list[str]:
    raw_names = raw.get("contexts") if isinstance(raw, dict) else raw
    contexts = []
    for name in _listed(raw_names, "owners[contexts]"):
        word = name.lower()
        target = registry.find(word)
        context = APP if word in ("app", APP) else target.context if target else ""
        if context not in record_owners.OWNERS:
            allowed = ", ".join(short_context(each) for each in record_owners.OWNERS)
            raise Invalid(f"params: owners[contexts]: '{name[:50]}' must be one of {allowed}", field="params")
        contexts.append(context)
    return [each for each in record_owners.OWNERS if each in contexts]


def _options(raw: Any) -> list[str]:
    options = _listed(raw, "options")
    for name in options:
        if name not in custom_types.OPTIONS:
            hint = nearest(name, custom_types.OPTIONS) or f"; known: {', '.join(custom_types.OPTIONS)}"
            raise Invalid(f"params: options: '{name[:50]}' is not an option{hint}", field="params")
    return sorted(set(options))


def _listed(raw: Any, name: str) -> list[str]:
    if raw in (None, ""):
        return []
    if isinstance(raw, dict):
        raw = list(raw.values())
    if not isinstance(raw, list) or not all(isinstance(each, str) for each in raw):
        raise Invalid(f"params: {name} must be a list of names", field="params")
    return [each.strip() for each in raw if each.strip()]
