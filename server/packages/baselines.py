"""What the last import of a package sent and stored, so that an update can tell whose change is whose.

Of values only digests are kept: they tell whether one is another than it was, and may be of secrets. Source: ours."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.packages import library
from server.packages.document import Tree
from server.records.registry import Registry
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

CREATE, UPDATE = MODES = ("create", "update")
REFUSE, KEEP, TAKE = POLICIES = ("refuse", "keep", "take")  # where the desk and the package changed the same
DIGEST_CHARS = 16
UNKNOWN = "?"  # in place of the digest of a value that is nobody's but the desk's

PACKAGE_ENTRY = Table(
    "package_entry",
    [
        Column("package", "TEXT"), Column("entry", "TEXT"), Column("context", "TEXT"), Column("record_id"),
        Column("sent", "TEXT"), Column("stored", "TEXT"),
    ],
    [Index(("package", "entry"), "what an entry of a package became", unique=True)],
)  # fmt: skip
PACKAGE_ANSWERS = Table("package_answers", [Column("package", "TEXT"), Column("answers", "TEXT")], key=("package",))


@dataclass
class Baseline:
    """An entry of a package as its last import left it. context, id: the record that it became; "" and 0 for what is no
    record. sent: {name: digest} of what the package said. stored: {name: digest} of what was stored then."""

    context: str = ""
    id: int = 0
    sent: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)

    def is_as_sent(self, name: str, value: Any) -> bool:
        """Whether the package says what it said before."""
        return self.sent.get(name, "") == digest(value)

    def is_as_stored(self, name: str, value: Any) -> bool:
        """Whether the desk has what the import left."""
        return self.stored.get(name, "") == digest(value)


@dataclass
class Past:
    """All that is known of the last import of a package. answers: {prompt or random placeholder: value}."""

    entries: dict[str, Baseline] = field(default_factory=dict)
    answers: Tree = field(default_factory=dict)


def digest(value: Any) -> str:
    """A short digest of a value; "" for None, which is no value.

    >>> digest({"a": 1}) == digest({"a": 1}), digest("1") == digest(1), digest(None)
    (True, False, '')
    """
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]


def digests(values: Mapping[str, Any]) -> dict[str, str]:
    """{name: digest}."""
    return {name: digest(value) for name, value in values.items()}


def past(ctx: Context, package: str) -> Past:
    """What is known of the last import of a package, by its name; of records those that still exist.

    An import that left no baselines, as of a former version of the program, gives its records alone."""

    def read(tx: Transaction) -> Past:
        found = {
            each["entry"]: Baseline(
                each["context"], each["record_id"], json.loads(each["sent"]), json.loads(each["stored"])
            )
            for each in (
                dict(zip(PACKAGE_ENTRY.names, row, strict=True)) for row in tx.find(PACKAGE_ENTRY, package=package)
            )
        }
        row = tx.first(PACKAGE_ANSWERS, package=package)
        answers = json.loads(row[PACKAGE_ANSWERS.names.index("answers")]) if row is not None else {}
        return Past(found, answers)

    known = ctx.service.store.read(read)
    if not known.entries:
        imports = library.list_imports(ctx, package)
        known.entries = {uid: Baseline(context, id) for each in imports[:1] for context, uid, id, _ in each.made}
    there = ctx.service.store.read(lambda tx: existing(tx, ctx.service.registry, known.entries))
    known.entries = {name: each for name, each in known.entries.items() if not each.id or name in there}
    return known


def existing(tx: Transaction, registry: Registry, entries: Mapping[str, Baseline]) -> set[str]:
    """The names of those entries whose records exist."""
    names: dict[str, dict[int, str]] = {}
    for name, each in entries.items():
        if each.id:
            names.setdefault(each.context, {})[each.id] = name
    found = set()
    for context, by_id in names.items():
        record_type = registry.find(context)
        if record_type is not None:
            found |= {by_id[row[0]] for row in tx.get_many(record_type.table, set(by_id))}
    return found


def remember(tx: Transaction, package: str, entries: Mapping[str, Baseline], answers: Tree) -> None:
    """Keep what an import leaves, for the next update. A package without a name cannot be updated."""
    if not package:
        return
    tx.delete(PACKAGE_ENTRY, package=package)
    for name, each in entries.items():
        tx.insert(PACKAGE_ENTRY, {
            "package": package, "entry": name, "context": each.context, "record_id": each.id,
            "sent": json.dumps(each.sent), "stored": json.dumps(each.stored),
        })  # fmt: skip
    tx.put(PACKAGE_ANSWERS, {"package": package, "answers": json.dumps(answers, ensure_ascii=False)})
