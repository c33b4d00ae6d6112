"""`helpdesk describe`: the content of this program as data. It lists everything that is found by scanning folders, so
that an executable with a missing part differs from its source (build/smoke.py)."""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import console
from server import app, late_files, resources
from server.automation import commands as automation_commands
from server.automation import template_functions
from server.automation.behaviors import actions
from server.automation.behaviors.action import ACTIONS
from server.automation.command import COMMANDS, Command
from server.cli import texts
from server.cli.arguments import command
from server.jobs import job_queue, scheduler
from server.packages import bundle
from server.queries import query_run
from server.record_types import registry as record_types
from server.record_types.describe import describe as describe_type
from server.store import schema
from server.template import registry as language
from server.web import oauth
from server.web.openapi import openapi_site as openapi
from server.web.routes import ENDPOINTS

CODE = (".py", ".pyc")
NOT_SHIPPED = (".", "__pycache__", "screenshots")  # prefixes of names; the screenshots are those of README.md


def declare(commands: Any) -> None:
    describe = command(
        commands,
        "describe",
        _run,
        "List the record types and the endpoints; with TYPE, the fields and the filters of that type.",
    )
    describe.add_argument("type", nargs="?", metavar="TYPE", help="a record type, such as ticket")
    describe.add_argument("--json", action="store_true", help="as JSON, with commands, filters and everything else")


def _run(options: argparse.Namespace) -> None:
    if options.type:
        _print_type(options.type, as_json=options.json)
        return
    contents = description()
    if options.json:
        json.dump(contents, sys.stdout, indent=1)
        print()
        return
    for uri, each in contents["record_types"].items():
        print(f"{uri}: {each['label']['plural']} ({len(each['fields'])} fields, {len(each['filters'])} filters)")
    for each in contents["endpoints"]:
        print(f"{each['method']:6} {each['path']}  {each['note']}")


def _print_type(name: str, *, as_json: bool) -> None:
    """Prints one record type, by any of its names. Raises NotFound for an unknown one."""
    type_description = describe_type(record_types.load().type(name))
    if as_json:
        texts.put(texts.as_json(type_description, indent=1) + "\n")
        return
    texts.put(f"{type_description['uri']}: {type_description['label']['plural']}\n\nfields:\n")
    texts.put("".join(_row(each, ", required" if each["required"] else "") for each in type_description["fields"]))
    texts.put("\nfilters:\n")
    texts.put("".join(_row(each, "") for each in type_description["filters"]))


def _row(each: dict[str, Any], more: str) -> str:
    return f"  {each['name']:28} {each['type'] + more:18} {each['note']}\n"


def description() -> dict[str, Any]:
    """Returns the registries as data, by name: {record_types, field_kinds, endpoints, ...}."""
    app.endpoints()
    registry = record_types.load()
    tables = sorted(table.name for table in app.all_tables(registry))
    automation_commands.load()
    actions.load()
    return {
        "record_types": {each.uri: describe_type(each) for each in registry},
        "field_kinds": record_types.field_kinds(),
        "endpoints": sorted(
            [*(each.describe() for each in ENDPOINTS), openapi.DESCRIPTION, *oauth.DESCRIPTIONS],
            key=lambda each: (each["path"], each["method"]),
        ),
        "automation_commands": {name: _command(each) for name, each in sorted(COMMANDS.items())},
        "behavior_actions": {name: each.note for name, each in sorted(ACTIONS.items())},
        "data_query_types": {name: each.describe() for name, each in query_run.query_types().items()},
        "template_filters": _callees(language.FILTERS),
        "template_functions": _callees(language.FUNCTIONS),
        "template_tests": _callees(language.TESTS),
        "service_functions": template_functions.names(),
        "jobs": job_queue.kinds(),
        "scans": scheduler.scans(),
        "starts": scheduler.starts(),
        "tables": tables,
        "migrations": [name for name, _ in schema.all_migrations()],
        "packages": bundle.names(),
        "files": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in shipped_files().items()},
    }


def shipped_files() -> dict[str, Path]:
    """Returns {name such as console/static/console.css: path} of every file that is not code, sorted by name."""
    files: dict[str, Path] = {}
    for name in late_files.FOLDERS:
        late_files.unpack(name)
    for name, folder in (("console", Path(console.__file__).resolve().parent), ("resources", resources.path())):
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            if path.is_file() and path.suffix not in CODE and not any(part.startswith(NOT_SHIPPED) for part in parts):
                files["/".join((name, *parts))] = path
    return dict(sorted(files.items()))


def _command(each: Command) -> dict[str, Any]:
    return {
        "note": each.note,
        "inputs": {one.name: f"{one.kind}, required" if one.required else one.kind for one in each.inputs},
        "governed": each.governed,
    }


def _callees(table: dict[str, language.Callee]) -> dict[str, str]:
    return {name: f"({', '.join(each.names)}) {each.note}".strip() for name, each in sorted(table.items())}
