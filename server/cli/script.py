"""`helpdesk script`: renders a template."""

import argparse
from typing import Any

from server import template
from server.cli import lines, texts
from server.cli.arguments import offline, only_for_files
from server.cli.workspace import OfflineHost, Workspace, workspace
from server.errors import HelpdeskError, Invalid, ScriptError, nearest, reason
from server.template import PACKAGE, SCRIPT, Surroundings

DONE, FAILED = 0, 1
SHAPE = lines.RequestSchema("template", texts=frozenset(("delimiters",)), maps=frozenset(("vars",)))
DELIMITERS = {"script": SCRIPT, "package": PACKAGE}


def declare(commands: Any) -> None:
    script = offline(
        commands,
        "script",
        _run,
        "{template, vars?, delimiters?} -> {out} or {error, line}; delimiters: script (default) or package",
    )
    script.add_argument("--vars", metavar="JSON", help="the placeholders, as a JSON object")


def _run(options: argparse.Namespace) -> int:
    only_for_files(options, "vars")
    with workspace(options.data) as store:
        if options.json_lines:
            lines.serve(SHAPE, lambda request: answer(request, store), _refused, store)
            return DONE
        source, values = texts.read(options.file), texts.variables(options)
        try:
            texts.put(_rendered(source, values, store))
        except ScriptError as error:
            texts.print_mistake(options.file, error)
            return FAILED
        return DONE


def answer(request: lines.Request, store: Workspace) -> lines.Request:
    """Renders a template. Raises ScriptError, Invalid."""
    delimiters = request.get("delimiters", "script")
    if delimiters not in DELIMITERS:
        raise Invalid(f"'delimiters' is script or package{nearest(delimiters, DELIMITERS)}")
    return {"out": _rendered(request["template"], request.get("vars") or {}, store, delimiters)}


def _rendered(source: str, values: dict[str, Any], store: Workspace, delimiters: str = "script") -> str:
    around = Surroundings(host=OfflineHost(store).functions())
    return template.compile(source, DELIMITERS[delimiters]).render(values, around=around)


def _refused(error: HelpdeskError) -> lines.Request:
    return {"error": reason(error), "line": error.details.get("line")}
