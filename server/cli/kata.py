"""`helpdesk kata`: prints a KATA text as a tree, or its first mistake."""

import argparse
from typing import Any

from server import kata, template
from server.cli import lines, texts
from server.cli.arguments import offline
from server.cli.workspace import OfflineHost, Workspace, workspace
from server.errors import HelpdeskError, KataSyntax
from server.kata import Environment, Generic
from server.template import Budget, Surroundings

DONE, FAILED = 0, 1
SHAPE = lines.RequestSchema("source", maps=frozenset(("vars",)))


def declare(commands: Any) -> None:
    offline(
        commands,
        "kata",
        _run,
        "{source, vars?} -> {tree, lines, value} or {error: {code, line or path}}; lines count from 0",
    )


def _run(options: argparse.Namespace) -> int:
    with workspace(options.data) as store:
        if options.json_lines:
            lines.serve(SHAPE, lambda request: answer(request, store), _refused, store)
            return DONE
        try:
            document = kata.parse(texts.read(options.file))
        except KataSyntax as error:
            texts.print_mistake(options.file, error)
            return FAILED
        texts.put(texts.as_json(document.tree, indent=1) + "\n")
        return DONE


def answer(request: lines.Request, store: Workspace) -> lines.Request:
    """Returns tree, lines and value of a document. An evaluation error replaces the value; a parse error replaces
    everything."""
    try:
        document = kata.parse(request["source"])
    except KataSyntax as error:
        return {"error": {"code": error.details["code"], "line": error.details["line"]}}
    result: lines.Request = {"tree": document.tree, "lines": document.lines}
    try:
        return result | {"value": Generic(_environment(request.get("vars"), store)).value(document.tree)}
    except KataSyntax as error:
        return result | {"error": {"code": error.details["code"], "path": error.details.get("path", "")}}


def _environment(values: Any, store: Workspace) -> Environment:
    if values is None:
        return Environment()
    budget, around = Budget(), Surroundings(host=OfflineHost(store).functions())
    return Environment(values or {}, lambda text: template.compile(text).render(values or {}, budget, around))


def _refused(error: HelpdeskError) -> lines.Request:
    return {"error": {"code": "BAD_REQUEST", "message": error.message}}
