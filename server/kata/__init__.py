"""KATA, the notation of automations, policies, event bindings and schemas: text to a tree, a tree to values, and back.

Knows no database and no template language: whoever evaluates hands in how a template is rendered."""

from server.kata.encode import encode
from server.kata.evaluate import Environment, Generic, Parameters, entry_at
from server.kata.parser import Document, Tree, parse
from server.kata.schema import Problem, check

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
