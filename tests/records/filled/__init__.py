"""Databases with a record of every type, with every field that filters of other types read: one for each family of
types. They are used by test_every_name.py and by the tests of the family."""

from types import ModuleType

from tests.records.filled import automation, mail, spaces, tools, work

# By name: each has TYPES, the uris of its record types, and populate(desk), which returns the ids of its records.
FAMILIES: dict[str, ModuleType] = {
    "mail": mail, "work": work, "automation": automation, "spaces": spaces, "tools": tools,
}  # fmt: skip
