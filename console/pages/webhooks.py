"""Webhooks: their addresses, what was called and answered, trying one, calling one again. Source: Webhook."""

import json
from typing import Any

from console import lists
from console.forms import Form
from console.rendering import render
from console.routes import page
from console.shown import Shown, see
from console.ui import moment, shell
from console.visit import Visit
from server.automation import bindings
from server.automation.webhooks import deliveries, responding, tokens
from server.automation.webhooks.tokens import MAX_OVERLAP_SECONDS
from server.desk import records
from server.errors import HelpdeskError, Invalid
from server.store.transaction import Transaction
from server.web.webhooks import received_of, replay

URI = "webhook_listener"
BASE = "/automations/webhooks"
TEXT_BYTES = 4 * 1024 * 1024
SHOWN_DELIVERIES = 25
HOURS = 24  # that a list shows the calls of
TRIED = ("try_method", "try_path", "try_query", "try_headers", "try_body")
METHODS = [(name, name) for name in ("POST", "GET", "PUT", "PATCH", "DELETE")]
SAMPLE_HEADERS, SAMPLE_BODY = "Content-Type: application/json", '{"hello": "world"}'
OVERLAPS = [("0", "ends now"), ("3600", "works 1 hour more"), ("86400", "works 1 day more"),
            ("604800", "works 7 days more")]  # fmt: skip


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> Shown:
    """All webhooks, with the last call of each."""
    found, wrong = lists.found(visit, URI)
    since = visit.now - HOURS * deliveries.HOUR_SECONDS
    latest, hours = visit.service.store.read(
        lambda tx: (deliveries.latest(tx), deliveries.by_hour(tx, since + 1, HOURS))
    )
    urls = {each["id"]: tokens.url(visit.service, each["guid"]) for each in found["results"]}
    return render(visit, "webhooks.html", found=found, wrong=wrong, latest=latest, urls=urls, hours=hours)


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> Shown:
    """The form for a new webhook."""
    return _new(visit, Form.of({"name": "", "automation": ""}))


@page("POST", f"{BASE}/new", "admin")
def create(visit: Visit) -> Shown:
    """Make a webhook that an automation answers to."""
    form = Form.sent(visit.form, ("name", "automation"))
    name = form.text("automation")
    binding = f"automation/answer:\n  uri: svc:automation:{name}\n" if name else ""
    try:
        made = records.create(visit.ctx, URI, {"name": form.text("name"), "automations_kata": binding})
    except HelpdeskError as error:
        return _new(visit, form.refuse(error))
    visit.tell(f"{form.text('name')} listens.")
    return see(f"{BASE}/{made['id']}")


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> Shown:
    """One webhook: its address, who answers, the last deliveries, a request to try."""
    each = lists.record(visit, URI, visit.id)
    return _webhook(visit, each, _form(each))


@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=TEXT_BYTES)
def save(visit: Visit) -> Shown:
    """Change name and binding."""
    each = lists.record(visit, URI, visit.id)
    form = Form.sent(visit.form, ("name", "automations_kata"))
    fields = {"name": form.text("name"), "automations_kata": form.get("automations_kata").replace("\r\n", "\n")}
    try:
        records.update(visit.ctx, URI, visit.id, fields)
    except HelpdeskError as error:
        return _webhook(visit, each, _form(each, form.refuse(error)))
    was = {"name": each["name"], "automations_kata": each["automations_kata"]}
    visit.tell(f"{form.text('name')} is saved.", f"{BASE}/{visit.id}", **was)
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/try", "admin", form_bytes=TEXT_BYTES)
def try_it(visit: Visit) -> Shown:
    """Let the webhook answer to a request that was typed, as if it had come from outside."""
    each, form = lists.record(visit, URI, visit.id), Form.sent(visit.form, TRIED)
    try:
        headers = _headers(form.get("try_headers"))
        received = received_of(
            form.get("try_method") or "POST", form.text("try_path").lstrip("/"), form.text("try_query"), headers,
            form.get("try_body").encode(), visit.request.client,
        )  # fmt: skip
    except HelpdeskError as error:
        return _webhook(visit, each, _form(each, form.refuse(error)))
    _, id = responding.deliver(visit.ctx, each, received)
    return see(f"{BASE}/deliveries/{id}")


@page("GET", f"{BASE}/{{id}}/rotate", "proven admin")
def show_rotate(visit: Visit) -> Shown:
    """The question how long the present address shall work."""
    each = lists.record(visit, URI, visit.id)
    return render(visit, "webhook_rotate.html", each=each, form=Form.of({"overlap": "86400"}), overlaps=OVERLAPS)


@page("POST", f"{BASE}/{{id}}/rotate", "proven admin")
def rotate(visit: Visit) -> Shown:
    """Give the webhook a new address."""
    seconds = visit.form.integer("overlap", 0, 0, MAX_OVERLAP_SECONDS)
    tokens.rotate(visit.ctx, visit.id, seconds)
    until = f"works until {moment(visit, visit.now + seconds)}" if seconds else "works no more"
    visit.tell(f"The webhook has a new address. The old one {until}.")
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> Shown:
    """Remove a webhook with its deliveries."""
    each = lists.record(visit, URI, visit.id)
    records.delete(visit.ctx, URI, visit.id)
    visit.tell(f"{each['name']} is removed; its address answers 404.")
    return see(BASE)


@page("GET", f"{BASE}/deliveries/{{id}}", "admin")
def show_delivery(visit: Visit) -> Shown:
    """One delivery: request, answer, the steps between."""
    id = visit.id
    found = deliveries.shown(visit.service.store.read(lambda tx: deliveries.row_of(tx, id)))
    each = lists.record(visit, URI, found["webhook_id"])
    automation = _automation_id(visit, found["automation"])
    return render(visit, "delivery.html", found=found, each=each, automation=automation, curl=_curl(visit, found))


@page("POST", f"{BASE}/deliveries/{{id}}/replay", "admin")
def replay_delivery(visit: Visit) -> Shown:
    """Let the webhook answer to the same request once more."""
    made = replay(visit.ctx, visit.id)
    visit.tell("The request was answered once more; this is the new delivery.")
    return see(f"{BASE}/deliveries/{made}")


def _new(visit: Visit, form: Form) -> Shown:
    found = records.search(visit.ctx, "automation", records.SearchRequest(f"trigger:{responding.TRIGGER}", 500))
    automations = [("", "None yet")] + [(each["name"], each["name"]) for each in found["results"]]
    return render(visit, "webhook_new.html", form.status, form=form, automations=automations)


def _form(each: dict[str, Any], sent: Form | None = None) -> Form:
    form = Form.of({
        "name": each["name"], "automations_kata": each["automations_kata"], "try_method": "POST",
        "try_headers": SAMPLE_HEADERS, "try_body": SAMPLE_BODY,
    })  # fmt: skip
    if sent is not None:
        form.values |= sent.values
        form.errors, form.status = sent.errors, sent.status
    return form


def _webhook(visit: Visit, each: dict[str, Any], form: Form) -> Shown:
    page_number = visit.query.integer("page", 1, 1, records.MAX_PAGE)

    def read(tx: Transaction) -> tuple[list[dict[str, Any]], int]:
        return deliveries.listed(tx, each["id"], SHOWN_DELIVERIES, page_number - 1)

    listed, total = visit.service.store.read(read)
    return render(
        visit, "webhook.html", form.status, each=each, form=form, url=tokens.url(visit.service, each["guid"]),
        mistakes=bindings.problems(form.get("automations_kata")), listed=listed, total=total, page=page_number,
        methods=METHODS, labels={"name": "Name", "automations_kata": "Who answers", "try_headers": "Headers"},
    )  # fmt: skip


def _headers(text: str) -> list[tuple[str, str]]:
    """Header lines as pairs. Raises Invalid for one without a colon."""
    found = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip().isascii():
            raise Invalid(f"'{line[:60]}' is no header; write Name: value.", field="try_headers")
        found.append((name.strip(), value.strip()))
    return found


def _automation_id(visit: Visit, name: str) -> int:
    table = visit.service.registry.type("automation").table
    row = visit.service.store.read(lambda tx: tx.first(table, name=name)) if name else None
    return int(row[0]) if row is not None else 0


def _curl(visit: Visit, found: dict[str, Any]) -> str:
    """The request of a delivery as a command; secrets stay hidden."""
    request = found["request"]
    query = f"?{request['query']}" if request["query"] else ""
    path = f"/{request['path']}" if request["path"] else ""
    lines = [f"curl -X {request['method']} {json.dumps('$WEBHOOK_URL' + path + query)}"]
    lines += [f"  -H {shell(f'{name}: {value}')}" for name, value in request["headers"]
              if name.lower() not in ("host", "content-length", "connection", "accept-encoding")]  # fmt: skip
    if request["body"]:
        lines.append(f"  --data-binary {shell(request['body'])}")
    return " \\\n".join(lines)

