"""`helpdesk automation run`: simulates an automation, command by command."""

import argparse
import sys
from dataclasses import asdict
from typing import Any

from server.automation import engine, trace
from server.automation.engine import ENDED, RunResult
from server.automation.host import FUNCTION, Script
from server.automation.run_dictionary import plain
from server.cli import api, lines, texts
from server.cli.arguments import group, offline, only_for_files
from server.cli.workspace import OfflineHost, Workspace, workspace
from server.errors import HelpdeskError, Invalid, Unavailable, nearest
from server.settings import TOKEN_VARIABLE

DONE, FAILED = 0, 1
SHAPE = lines.RequestSchema("script", texts=frozenset(("policy",)), maps=frozenset(("vars", "functions")))
FUNCTION_PARTS = ("script", "policy", "extension_id")
MAX_FUNCTIONS = 100  # in one request


def declare(commands: Any) -> None:
    run = offline(
        group(commands, "automation", "Automations: scripts in KATA."),
        "run",
        _run,
        "{script, policy?, vars?, functions?} -> {state, return, vars, logs, message}; functions: {name: {script, "
        "policy?, extension_id?}}",
        "Run an automation; print its result, variables, log and commands.",
    )
    run.add_argument("--vars", metavar="JSON", help="the initial dictionary, as a JSON object")
    run.add_argument("--policy", metavar="FILE", help="its policy; without one, it can only compute")
    run.add_argument(
        "--url",
        metavar="URL",
        help=f"simulate it on the server at this address, with its records; the token is in {TOKEN_VARIABLE}",
    )
    run.add_argument(
        "--ticket", metavar="ID", type=int, default=0, help="with --url: the ticket that it is handed over"
    )
    run.add_argument("--simulate", action="store_true", help="run on_simulate branches; write and send nothing")


def _run(options: argparse.Namespace) -> int:
    only_for_files(options, "vars", "policy", "simulate", "url", "ticket")
    if options.url:
        return _run_there(options)
    if options.ticket:
        options.refuse("--ticket needs --url")
    with workspace(options.data) as store:
        if options.json_lines:
            lines.serve(SHAPE, lambda request: answer(request, store), _refused, store)
            return DONE
        return _run_file(options, store)


def _run_file(options: argparse.Namespace, store: Workspace) -> int:
    if options.file == "-" and options.policy == "-":
        raise Invalid("script and policy cannot both come from standard input")
    automation = Script(texts.read(options.file), texts.read(options.policy) if options.policy else "")
    values = texts.variables(options) | ({"__simulate": True} if options.simulate else {})
    result = engine.run(automation, values, OfflineHost(store, dry=options.simulate), traced=trace.MAX_TRACED)
    log = [{"level": each.level, "node": each.node, "message": each.message} for each in result.log]
    more = {"log": log, "trace": [asdict(each) for each in result.trace]}
    texts.put(texts.as_json(_ending(result) | more, indent=1) + "\n")
    if result.state in ENDED:
        return DONE
    print(f"{options.file}: {result.message}", file=sys.stderr)
    return FAILED


def _run_there(options: argparse.Namespace) -> int:
    """Simulates the automation on a server and prints the result. Raises Unavailable, and Invalid if the server refuses
    it."""
    import requests  # imported late: slow, and few runs need it

    sent: dict[str, Any] = {"script": texts.read(options.file), "values": texts.variables(options)}
    if options.policy:
        sent["policy"] = texts.read(options.policy)
    if options.ticket:
        sent["ticket_id"] = options.ticket
    address = f"{options.url.rstrip('/')}/rest/automations/simulate.json"
    try:
        response = requests.post(address, json=sent, auth=api.authorize, timeout=api.TIMEOUT_SECONDS)
        body = response.json()
    except requests.RequestException as error:
        raise Unavailable(f"no response from {address}: {api.cause(error)}") from error
    if not response.ok:
        raise Invalid(str(body.get("message", f"{address} responded with {response.status_code}")))
    fields = {name: value for name, value in body.items() if not name.startswith("__")}
    texts.put(texts.as_json(fields, indent=1) + "\n")
    if body["state"] in ENDED:
        return DONE
    print(f"{options.file}: {body['message']}", file=sys.stderr)
    return FAILED


def answer(request: lines.Request, store: Workspace) -> lines.Request:
    """Returns the result of a run: state, return, vars, logs as [level, node, message], and the message of a failed
    run."""
    host = OfflineHost(store, _functions(request.get("functions") or {}))
    automation = Script(request["script"], request.get("policy", ""))
    result = engine.run(automation, dict(request.get("vars") or {}), host)
    return _ending(result) | {"logs": [[each.level, each.node, each.message] for each in result.log]}


def _ending(result: RunResult) -> dict[str, Any]:
    ending: dict[str, Any] = {"state": result.state, "return": plain(result.returned), "vars": result.variables}
    return ending if result.state in ENDED else ending | {"message": result.message}


def _functions(parts_by_name: dict[str, Any]) -> dict[str, Script]:
    """Returns the automations of a request. Raises Invalid."""
    if len(parts_by_name) > MAX_FUNCTIONS:
        raise Invalid(f"'functions' takes at most {MAX_FUNCTIONS}")
    scripts = {}
    for name, parts in parts_by_name.items():
        if not isinstance(parts, dict) or not all(isinstance(each, str) for each in parts.values()):
            raise Invalid(f"the function '{name[:80]}' must be a map of texts with script and policy")
        for part in parts:
            if part not in FUNCTION_PARTS:
                raise Invalid(f"'{part[:80]}' is not part of a function{nearest(part, FUNCTION_PARTS)}")
        trigger = parts.get("extension_id", FUNCTION)
        scripts[name] = Script(parts.get("script", ""), parts.get("policy", ""), name, trigger)
    return scripts


def _refused(error: HelpdeskError) -> lines.Request:
    return {"error": error.message}
