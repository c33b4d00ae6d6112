"""The records of an import as people read them: what it created, and what it changed field by field."""

from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.packages import library
from server.packages.changing import CHANGED, CONFLICT, OVERWRITTEN
from server.packages.exported_types import EXPORTED
from server.packages.library import PastImport
from server.packages.record_creation import ImportResult
from server.packages.results import secret_of
from server.record_types.registry import Registry
from server.translation import N_, shown

STATES = {
    CHANGED: N_("changes"),
    OVERWRITTEN: N_("changed here, will be overwritten"),
    CONFLICT: N_("changed here and in the package"),
}


@dataclass(frozen=True)
class CreatedRecord:
    """A record of an import. uri: of its type, "" for an unknown one; type: the name of the type. is_there: whether it
    exists. secret: shown this once, "" for none."""

    uri: str
    type: str
    uid: str
    id: int
    label: str
    is_there: bool
    secret: str = ""

    @property
    def reference(self) -> str:
        """As `<type>:<id>` for an export; "" if it cannot be exported."""
        return f"{self.uri}:{self.id}" if self.is_there and self.uri in EXPORTED else ""


@dataclass(frozen=True)
class UpdatedRecord:
    """A record that an update changes. changes: see changing.Changes. kept: the fields that stay as they were changed
    here."""

    type: str
    label: str
    changes: list[dict[str, Any]]
    kept: list[str]


def created(registry: Registry, imported: ImportResult, is_there: bool) -> list[CreatedRecord]:
    """Returns the created records, in order. is_there: False for a dry run."""
    return [
        CreatedRecord(*_type(registry, context), uid, each["id"], str(each["label"]), is_there, secret_of(each))
        for context, records in imported.records.items()
        for uid, each in records.items()
    ]


def created_then(ctx: Context, past: PastImport) -> list[CreatedRecord]:
    """Returns the records of a past import, in order."""
    there = library.there(ctx, past)
    return [
        CreatedRecord(*_type(ctx.service.registry, context), uid, id, label, (context, id) in there)
        for context, uid, id, label in past.made
    ]


def updated(registry: Registry, imported: ImportResult) -> list[UpdatedRecord]:
    """Returns the records that an update changes, or of which it keeps fields."""
    rows = []
    for context in dict.fromkeys((*imported.updated, *imported.kept)):
        changed, kept = imported.updated.get(context, {}), imported.kept.get(context, {})
        for uid in dict.fromkeys((*changed, *kept)):
            label = str((changed.get(uid) or kept[uid])["label"])
            changes, fields = changed.get(uid, {}).get("changes", []), kept.get(uid, {}).get("fields", [])
            rows.append(UpdatedRecord(_type(registry, context)[1], label, changes, fields))
    return rows


def _type(registry: Registry, context: str) -> tuple[str, str]:
    """The URI and the name of a record type."""
    record_type = registry.find(context)
    return (record_type.uri, shown(record_type.label_names[0])) if record_type is not None else ("", context)
