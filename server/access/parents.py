"""Records that belong to another one: an event to its calendar, a tab to its page. They are read and changed by those
who may read and change that one. Adds its rules to those of rules.py."""

from functools import partial

from server.access.rules import READ_RULES, REASONS, WRITE_RULES, Rules
from server.records.base import Record, RecordType
from server.search import readable as readables
from server.search.conditions import ALWAYS, NEVER, Condition
from server.store.transaction import Transaction

# By the prefix under which a record shows its parent; also the name of the rule in Access.
PARENTS = {"calendar": "calendar", "page": "workspace page", "tab": "workspace tab"}


def _readable(prefix: str, rules: Rules, record_type: RecordType, depth: int) -> Condition:
    nested = record_type.nested_by_prefix[prefix]
    parent = rules.registry.type(nested.target)
    condition = rules.readable(parent, depth)
    if condition is ALWAYS or condition is NEVER:
        return condition
    return readables.behind(record_type.column(nested.id_column), parent, condition)


def _may_change(prefix: str, rules: Rules, record_type: RecordType, record: Record, tx: Transaction) -> bool:
    """Whether the actor may change the parent, privileges on it aside."""
    nested = record_type.nested_by_prefix[prefix]
    parent = rules.registry.type(nested.target)
    row = tx.get(parent.table, record[nested.id_column])
    if row is None:
        return False
    asked = (WRITE_RULES[rule] for rule in parent.access.update if rule in WRITE_RULES)
    return all(rule(rules, parent, parent.record(row), tx) for rule in asked)


for _prefix, _name in PARENTS.items():
    READ_RULES[_prefix] = partial(_readable, _prefix)
    WRITE_RULES[_prefix] = partial(_may_change, _prefix)
    REASONS[_prefix] = f"only those who may change its {_name} may"
