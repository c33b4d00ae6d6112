"""KATA, the notation of automations, policies, event bindings and schemas: text to a tree, a tree to values, and back.

Independent of the database and of the template language: the caller passes the function that renders a template.

Not YAML, although it looks alike: every value is a text, keys carry annotations, and each key knows its line."""

from server.kata.encode import encode
from server.kata.evaluate import Environment, Generic, Parameters, entry_at
from server.kata.kata_parser import Document, Tree, parse
from server.kata.kata_schema import Problem, check

__all__ = [
    "Document",
    "Generic",
    "Environment",
    "Parameters",
    "Problem",
    "Tree",
    "check",
    "encode",
    "entry_at",
    "parse",
]
