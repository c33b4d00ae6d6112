"""Automations: a list, and an editor that tells mistakes at their lines, simulates and runs. Source: ours."""

import json
from typing import Any

from console import lists
from console.forms import Form
from console.rendering import render
from console.routes import page
from console.shown import INVALID, Shown, see
from console.visit import Visit
from server.automation import checker, service
from server.automation.dictionary import plain
from server.automation.engine import Result
from server.automation.host import FUNCTION, Automation
from server.automation.webhooks import deliveries
from server.desk import records
from server.errors import AdminOnly, HelpdeskError, Invalid
from server.records.automation import declared_inputs
from server.records.shared.triggers import TRIGGERS
from server.web.json_text import loads
from server.web.webhooks import received_of

URI = "automation"
BASE = "/automations"
FIELDS = ("name", "extension_id", "description", "script", "policy_kata", "values")
STORED = FIELDS[:-1]
TEXT_BYTES = 8 * 1024 * 1024
MAX_SHOWN_CHARS = 20_000  # of what a run returned or left behind
MAX_SHOWN_STEPS = 500  # of a trace
LABELS = {"name": "Name", "extension_id": "Started by", "script": "Script", "policy_kata": "Policy", "values": "Values"}
FIRST_SCRIPT = "start:\n  return:\n    hello: world\n"
STATES = {"return": "ok", "exit": "ok", "await": "info", "error": "err", "failure": "err"}


@page("GET", BASE)
def show_list(visit: Visit) -> Shown:
    """All automations that the worker may read."""
    found, wrong = lists.found(visit, URI, "sort:name")
    return render(visit, "automations.html", found=found, wrong=wrong)


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> Shown:
    """The editor, with a first script."""
    return _editor(visit, Form.of({"extension_id": FUNCTION, "script": FIRST_SCRIPT, "values": "{}"}), 0)


@page("POST", f"{BASE}/new", "admin", form_bytes=TEXT_BYTES)
def create(visit: Visit) -> Shown:
    """Make an automation, or simulate what is not made yet."""
    return _do(visit, 0)


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> Shown:
    """The editor. `delivery` in the address fills in the values of a webhook's request."""
    record = lists.record(visit, URI, visit.id)
    delivery = visit.query.id("delivery", 0)
    values = _of_delivery(visit, delivery) if delivery else _sample(record["script"])
    return _editor(visit, Form.of({name: record[name] for name in STORED} | {"values": values}), visit.id)


@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=TEXT_BYTES)
def change(visit: Visit) -> Shown:
    """Save, check, simulate or run, by the button that was pressed."""
    lists.record(visit, URI, visit.id)
    return _do(visit, visit.id)


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> Shown:
    """Remove an automation."""
    record = lists.record(visit, URI, visit.id)
    records.delete(visit.ctx, URI, visit.id)
    visit.tell(f"{record['name']} is removed.")
    return see(BASE)


def _do(visit: Visit, id: int) -> Shown:
    form = Form.sent(visit.form, FIELDS)
    for name in FIELDS:
        form.values[name] = form.get(name).replace("\r\n", "\n")
    pressed = visit.form.text("do", "save")
    if pressed == "save":
        return _save(visit, form, id)
    if pressed == "run" and not visit.form.flag("sure"):
        return render(visit, "automation_run.html", form=form, id=id)
    result = _run(visit, form, is_dry=pressed != "run") if pressed in ("simulate", "run") else None
    return _editor(visit, form, id, result, is_dry=pressed != "run")


def _save(visit: Visit, form: Form, id: int) -> Shown:
    fields = {name: form.get(name) for name in STORED if name != "name" or form.text("name")}
    try:
        if id:
            records.update(visit.ctx, URI, id, fields)
        else:
            id = records.create(visit.ctx, URI, fields)["id"]
    except HelpdeskError as error:
        return _editor(visit, form.refuse(error), id)
    visit.tell("Saved.")
    return see(f"{BASE}/{id}")


def _run(visit: Visit, form: Form, is_dry: bool) -> Result | None:
    """How a run with the texts of the form ends, saved or not; None when its values cannot be read."""
    if not visit.ctx.actor.is_admin:
        raise AdminOnly("only administrators may run automations")
    try:
        values = loads(form.get("values") or "{}", "'values'", field="values")
        if not isinstance(values, dict):
            raise Invalid("The values are a map, such as {\"inputs\": {}}.", field="values")
    except HelpdeskError as error:
        form.refuse(error)
        return None
    automation = Automation(
        form.get("script"), form.get("policy_kata"), form.text("name"), form.get("extension_id") or FUNCTION
    )
    return service.perform(visit.ctx, automation, values, dry=is_dry, traced=MAX_SHOWN_STEPS)


def _editor(visit: Visit, form: Form, id: int, result: Result | None = None, is_dry: bool = True) -> Shown:
    script, policy = form.get("script"), form.get("policy_kata")
    return render(
        visit, "automation.html", INVALID if form.is_wrong else 200, form=form, id=id, labels=LABELS,
        mistakes=[(each.line, each.message) for each in checker.check(script)] if script.strip() else [],
        policy_mistakes=[(each.line, each.message) for each in checker.check_policy(policy)],
        triggers=[(name, name) for name in TRIGGERS], result=_shown(result) if result is not None else None,
        is_dry=is_dry,
    )  # fmt: skip


def _shown(result: Result) -> dict[str, Any]:
    """A run for people: what is long is cut."""
    return {
        "state": result.state, "kind": STATES.get(result.state, "muted"), "message": result.message,
        "returned": _json(plain(result.returned)), "values": _json(result.variables), "log": result.log,
        "trace": result.trace, "steps": len(result.trace),
        "ms": round(sum(step.ms for step in result.trace), 1),
    }  # fmt: skip


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "\n… (cut)"


def _sample(script: str) -> str:
    """Values that name the inputs which a script declares."""
    return json.dumps({"inputs": dict.fromkeys(declared_inputs(script), "")}, indent=1)


def _of_delivery(visit: Visit, id: int) -> str:
    """What an automation was given by a delivery's request; secrets stay hidden. Raises NotFound."""
    found = deliveries.shown(visit.service.store.read(lambda tx: deliveries.row_of(tx, id)))
    request = found["request"]
    headers = [(str(name), str(value)) for name, value in request["headers"]]
    received = received_of(
        request["method"], request["path"], request["query"], headers, request["body"].encode(), found["client_ip"]
    )
    values = {
        "request_method": received.method, "request_path": received.path,
        "request_headers": {name.lower().replace("-", "_"): value for name, value in headers},
        "request_params": received.params, "request_body": request["body"],
        "request_client_ip": found["client_ip"], "inputs": {},
    }  # fmt: skip
    return json.dumps(values, ensure_ascii=False, indent=1)
