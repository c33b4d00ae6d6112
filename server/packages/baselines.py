"""The values that the last import of a package sent and stored, so that an update can distinguish changes of the
package from changes of the users.

Only digests are stored: they show whether a value has changed, and the values may be secret."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.packages import library
from server.packages.package_document import PackageDocument, Tree, uids
from server.record_types.registry import Registry
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

CREATE, UPDATE = MODES = ("create", "update")
REFUSE, KEEP, TAKE = POLICIES = (
    "refuse",
    "keep",
    "take",
)  # policies for fields that both the users and the package changed
DIGEST_CHARS = 16
UNKNOWN = "?"  # digest of a value that only the users have set

PACKAGE_ENTRY = Table(
    "package_entry",
    [
        Column("package", "TEXT"),
        Column("entry", "TEXT"),
        Column("context", "TEXT"),
        Column("record_id"),
        Column("sent", "TEXT"),
        Column("stored", "TEXT"),
    ],
    [Index(("package", "entry"), "what an entry of a package became", unique=True)],
)
PACKAGE_ANSWERS = Table("package_answers", [Column("package", "TEXT"), Column("answers", "TEXT")], key=("package",))


@dataclass
class Baseline:
    """An entry of a package after its last import. context, id: its record; "" and 0 for an entry without a record.
    sent: {name: digest} of the values in the package. stored: {name: digest} of the values in the database."""

    context: str = ""
    id: int = 0
    sent: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)

    @property
    def record(self) -> tuple[str, int]:
        """The context and id of its record."""
        return self.context, self.id

    def is_as_sent(self, name: str, value: Any) -> bool:
        """Whether the package has the same value as before."""
        return self.sent.get(name, "") == digest(value)

    def is_as_stored(self, name: str, value: Any) -> bool:
        """Whether the database still has the value of the import."""
        return self.stored.get(name, "") == digest(value)


@dataclass
class Past:
    """The stored state of the last import of a package. answers: {prompt or random placeholder: value}."""

    entries: dict[str, Baseline] = field(default_factory=dict)
    answers: Tree = field(default_factory=dict)


def digest(value: Any) -> str:
    """Returns a short digest of a value; "" for None, which stands for a missing value.

    >>> digest({"a": 1}) == digest({"a": 1}), digest("1") == digest(1), digest(None)
    (True, False, '')"""
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]


def digests(values: Mapping[str, Any]) -> dict[str, str]:
    """Returns {name: digest}."""
    return {name: digest(value) for name, value in values.items()}


def past(ctx: Context, package: str) -> Past:
    """Returns the state of the last import of a package, by its name, limited to records that still exist.

    Imports by former versions of the program have no baselines; for these only the records are known."""
    last = ctx.service.store.read(lambda tx: _read(tx, package))
    if not last.entries:
        imports = library.list_imports(ctx, package)
        last.entries = {uid: Baseline(context, id) for each in imports[:1] for context, uid, id, _ in each.made}
    there = ctx.service.store.read(lambda tx: existing(ctx.service.registry, tx, last.entries.values()))
    last.entries = {name: each for name, each in last.entries.items() if not each.id or each.record in there}
    return last


def last_import(ctx: Context, document: PackageDocument) -> Past:
    """Returns the state of the last import of a package; of another package with the same name nothing."""
    last = past(ctx, document.name) if document.name else Past()
    entry_uids = uids(document)
    return last if not entry_uids or entry_uids & last.entries.keys() else Past()


def existing(registry: Registry, tx: Transaction, entries: Iterable[Baseline]) -> set[tuple[str, int]]:
    """Returns the existing records of these entries as (context, id)."""
    return library.existing(registry, tx, (each.record for each in entries if each.id))


def _read(tx: Transaction, package: str) -> Past:
    entries = {}
    for row in tx.find(PACKAGE_ENTRY, package=package):
        each = dict(zip(PACKAGE_ENTRY.names, row, strict=True))
        sent, stored = json.loads(each["sent"]), json.loads(each["stored"])
        entries[each["entry"]] = Baseline(each["context"], each["record_id"], sent, stored)
    answers = tx.first(PACKAGE_ANSWERS, package=package)
    return Past(entries, json.loads(answers[PACKAGE_ANSWERS.position["answers"]]) if answers is not None else {})


def remember(tx: Transaction, package: str, state: Past) -> None:
    """Stores the state of an import for the next update. A package without a name cannot be updated."""
    if not package:
        return
    tx.delete(PACKAGE_ENTRY, package=package)
    for name, each in state.entries.items():
        tx.insert(
            PACKAGE_ENTRY,
            {
                "package": package,
                "entry": name,
                "context": each.context,
                "record_id": each.id,
                "sent": json.dumps(each.sent),
                "stored": json.dumps(each.stored),
            },
        )
    tx.put(PACKAGE_ANSWERS, {"package": package, "answers": json.dumps(state.answers, ensure_ascii=False)})
