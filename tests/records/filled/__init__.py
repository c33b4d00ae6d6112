"""Databases in which there is a record of every type, everything filled in that others could look at: a family of types
each, and what is asked of them in test_every_name.py and in the tests of the family."""

from types import ModuleType

from tests.records.filled import automation, mail, spaces, tools, work

# By name: each has TYPES, the uris of its record types, and populate(desk), which answers the ids of what it made.
FAMILIES: dict[str, ModuleType] = {
    "mail": mail, "work": work, "automation": automation, "spaces": spaces, "tools": tools,
}  # fmt: skip
