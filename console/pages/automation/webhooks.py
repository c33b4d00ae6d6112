"""Webhooks: their addresses, the calls and responses, trying one, replaying a call."""

from dataclasses import replace
from typing import Any

from console.forms import overlaps
from console.forms.controls import Control
from console.forms.examples import START, StartExample, options
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import confirmation, resume
from console.html.confirmation import Confirmation
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import moment
from console.http import live
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare, switching
from console.pages.automation.log import KINDS
from console.pages.automation.recipes import BASE as RECIPES
from server.automation import bindings, log_search
from server.automation.binding_edits import with_entry
from server.automation.types.automation_log import LEVELS
from server.automation.webhooks import received_calls, responding, response_preview, sample_requests, webhook_tokens
from server.automation.webhooks.received_calls import MAX_BODY_BYTES
from server.automation.webhooks.responding import WebhookRequest, WebhookSimulation
from server.errors import HelpdeskError
from server.packages import recipes
from server.records import records
from server.translation import N_, N_ngettext, _, shown
from server.web import webhook_trials
from server.web.curl_commands import curl, shell_word
from server.web.webhook_site import received_of, replay

URI = "webhook_listener"
BASE = "/automations/webhooks"
TEXT_BYTES = 4 * 1024 * 1024
SHOWN_DELIVERIES = 25
HOURS = 24  # hours of calls in the list
NEVER = {"at": "", "count": 0}  # shown while a webhook has no calls
TRIED = {name: f"try_{name}" for name in webhook_trials.PARTS}  # {part of a request: field of the form}
METHODS = [(name, name) for name in ("POST", "GET", "PUT", "PATCH", "DELETE")]
FIRST_SAMPLE = "json"
REAL = N_("The automation runs for real: it may write records and send email.")
MAX_SHOWN_CHARS = 20_000  # characters of a simulated response
MAX_SHOWN_ENTRIES = 100  # lines of the log of a delivery
NEW = RecordForm(
    URI,
    (
        Control("name", N_("Name"), hint=""),
        Control(
            "automation",
            N_("Automation"),
            kind="choice",
            is_own=True,
            hint=N_("Automations that run when a webhook receives a request. You can also choose one later."),
        ),
    ),
)
FORM = RecordForm(
    URI,
    (
        Control("name", N_("Name"), hint=""),
        Control("automations_kata", N_("Automation binding"), kind="code", is_drawn=True),
        Control("kept_days", N_("Days to keep deliveries"), "", attributes={"inputmode": "numeric", "required": True}),
        Control(
            "kept_last",
            N_("Recent deliveries to keep, however old"),
            "",
            attributes={"inputmode": "numeric", "required": True},
        ),
        *(Control(name, is_own=True, is_drawn=True) for name in (*TRIED.values(), "sample")),
    ),
)


class _Calls:
    """What came in by the webhooks of a page, and who answers."""

    def __init__(self, visit: Visit, rows: list[dict[str, Any]]) -> None:
        since = visit.now - HOURS * received_calls.HOUR_SECONDS
        latest, hours = received_calls.overview(visit.ctx, since + 1, HOURS)
        self.latest = {each["id"]: latest.get(each["id"], NEVER) for each in rows}
        self.hours = {each["id"]: hours.get(each["id"], [0] * HOURS) for each in rows}
        self.addresses = {each["id"]: visit.service.webhook_url(each["guid"]) for each in rows}
        whole = records.stored(visit.ctx, URI, [each["id"] for each in rows])
        self.verdicts = {each["id"]: response_preview.preview(visit.ctx, each, _empty(visit)) for each in whole}
        self.off = {each["id"] for each in whole if each["is_disabled"]}


_column = DrawnColumns("webhooks")
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Webhooks"),
        ("_label", "state", "address", "answering", "last_call", "day", "calls"),
        own=(
            _column("state", N_("State"), value=lambda row, more: "off" if row["id"] in more.off else "on"),
            _column("address", N_("Address")),
            _column("answering", N_("Automation"), value=lambda row, more: more.verdicts[row["id"]].winner),
            _column("last_call", N_("Last call"), value=lambda row, more: more.latest[row["id"]]["at"]),
            _column("day", N_("Last 24 hours"), value=lambda row, more: sum(more.hours[row["id"]])),
            _column(
                "calls", N_("Stored calls"), kind="number", value=lambda row, more: more.latest[row["id"]]["count"]
            ),
        ),
        row=BASE + "/{id}",
        load=_Calls,
        sort="name",
        actions=switching(
            N_ngettext("Webhook switched off.", "{count} webhooks switched off."),
            N_ngettext("Webhook switched on.", "{count} webhooks switched on."),
        ),
        empty=N_(
            "There are no webhooks yet. A webhook is an address that other programs call, and an automation responds."
        ),
        none=N_("No webhook matches."),
        new=(f"{BASE}/new", N_("New webhook")),
    )
)


@page("GET", f"{BASE}/{{id}}/latest", "admin")
def show_latest(visit: Visit) -> PageResponse:
    """For the page that listens: the last delivery."""
    lookup.record(visit, URI, visit.id)
    return live.latest(visit, received_calls.CHANNEL, lambda ctx: received_calls.newest(ctx, visit.id))


@page("POST", f"{BASE}/{{id}}/try", "admin", form_bytes=TEXT_BYTES)
def try_it(visit: Visit) -> PageResponse:
    """Sends the typed request to the webhook as if it came from outside; or simulates it, or names the automation that
    would respond."""
    fields = PAGES.open(visit, visit.id).send()
    each, form = fields.stored, fields.values
    try:
        received = _received(visit, form)
    except HelpdeskError as error:
        form.refuse(error, names=TRIED)
        return _webhook(visit, fields)
    pressed = visit.form.text("do", "call")
    if pressed == "call" and not confirmation.is_given(visit):
        return _ask(visit, form)
    if pressed == "call":
        webhook_tokens.log_call(visit.ctx, each["id"])
        _, id = responding.deliver(visit.ctx, each, received)
        return see(f"{BASE}/deliveries/{id}")
    simulated = responding.simulate(visit.ctx, each, received) if pressed == "simulate" else None
    return _webhook(visit, fields, simulated)


@page("POST", f"{BASE}/{{id}}/end-address", "proven admin")
def end_address(visit: Visit) -> PageResponse:
    """End an old address before its time."""
    webhook_tokens.end_former(visit.ctx, visit.id, visit.form.id("former", required=True))
    visit.flash(_("The old address no longer works."))
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/rotate", "proven admin", creates=True)
def rotate(visit: Visit) -> PageResponse:
    """Give the webhook a new address."""
    form = overlaps.sent(visit)
    if form.is_wrong:
        return show_rotate(visit, form)
    seconds = int(form.get("overlap"))
    webhook_tokens.rotate(visit.ctx, visit.id, seconds)
    works = _("The webhook has a new address. The old one works until {time}.", time=moment(visit, visit.now + seconds))
    visit.flash(works if seconds else _("The webhook has a new address. The old one no longer works."))
    return see(f"{BASE}/{visit.id}")


@page("GET", f"{BASE}/deliveries/{{id}}", "admin")
def show_delivery(visit: Visit) -> PageResponse:
    """One delivery: request, answer, the steps between."""
    id = visit.id
    delivery = received_calls.one(visit.ctx, id)
    each = lookup.record(visit, URI, delivery["webhook_id"])
    request, run_id = delivery["request"], delivery["run_id"]
    log, total = log_search.entries(visit.ctx, "", MAX_SHOWN_ENTRIES, 0, run_id) if run_id else ([], 0)
    return render(
        visit,
        "delivery.html",
        found=delivery,
        each=each,
        automation=_automation_id(visit, delivery["automation"]),
        curl=curl('"$WEBHOOK_URL"', **{part: request[part] for part in TRIED}),
        is_forgotten=received_calls.is_redacted(delivery) and received_calls.is_forgotten(visit.ctx, id),
        most=MAX_BODY_BYTES,
        log=log[::-1],
        log_total=total,
        kinds=KINDS,
        level_names=LEVELS,
    )


@page("POST", f"{BASE}/deliveries/{{id}}/replay", "admin", creates=True)
def replay_delivery(visit: Visit) -> PageResponse:
    """Replays a request."""
    new_id = replay(visit.ctx, visit.id)
    visit.flash(_("The request was replayed. This is the new delivery."))
    return see(f"{BASE}/deliveries/{new_id}")


def _ask(visit: Visit, form: Form) -> PageResponse:
    """The question before a call for real, where no script has asked it."""
    fields = [*((name, form.get(name)) for name in TRIED.values()), ("do", "call")]
    question = Confirmation(shown(REAL), _("Call for real"))
    return resume.question_page(visit, question, fields, target=visit.path, back=f"{BASE}/{visit.id}")


@page("GET", f"{BASE}/{{id}}/rotate", "proven admin")
def show_rotate(visit: Visit, form: Form | None = None) -> PageResponse:
    """The question how long the present address shall work."""
    return overlaps.ask(visit, "webhook_rotate.html", form, each=lookup.record(visit, URI, visit.id))


def start_examples() -> list[StartExample]:
    """The recipes that create a webhook and the automation that responds."""
    cookbook = sorted(map(recipes.recipe, recipes.names()), key=lambda each: each.title)
    return [
        StartExample(each.name, each.title, {})
        for each in cookbook
        if any(record["_context"] == URI for record in each.package["records"])
    ]


def _open_recipe(visit: Visit) -> PageResponse | None:
    """Opens the recipe of the example that the address names."""
    key = visit.query.text(START, "") if not visit.record_id else ""
    return see(f"{RECIPES}/{key}") if key in {each.key for each in start_examples()} else None


def _new(visit: Visit, fields: OpenForm) -> PageResponse:
    automations = lookup.search(visit, "automation", f"trigger:{responding.TRIGGER}")
    choices = [("", N_("None yet"))] + [(each["name"], each["name"]) for each in automations]
    fields.change(replace(fields.control("automation"), options=choices))
    return fields.render(
        "webhook_new.html",
        has_some=bool(automations),
        starts=options(start_examples()),
        trigger=responding.TRIGGER,
    )


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    """The request to try, shown next to the settings of a webhook. `sample` in the address names a stored sample."""
    if not fields.id:
        return fields
    sample_name = visit.query.text("sample", "")
    sample = sample_requests.SAMPLES.get(sample_name) or sample_requests.SAMPLES[FIRST_SAMPLE]
    request = sample.make(visit.now)
    return fields.fill(
        try_method="POST", try_headers=request.headers, try_body=request.body, sample=sample_name or FIRST_SAMPLE
    )


def _webhook(visit: Visit, fields: OpenForm, simulated: WebhookSimulation | None = None) -> PageResponse:
    each, form = fields.stored, fields.values
    page_number, id = visit.query.integer("page", 1, 1, records.MAX_PAGE), each["id"]
    latest, total = received_calls.of_listener(visit.ctx, id, SHOWN_DELIVERIES, page_number - 1)
    former, last_id = webhook_tokens.former_of(visit.ctx, id), received_calls.newest(visit.ctx, id)
    speed = received_calls.speed(visit.ctx, id)
    url = visit.service.webhook_url(each["guid"])
    try:
        received = _received(visit, form)
    except HelpdeskError:
        received = _empty(visit)
    verdict = response_preview.preview(visit.ctx, each, received)
    fitting = [] if verdict.entries else lookup.search(visit, "automation", f"trigger:{responding.TRIGGER} sort:-id")
    return fields.render(
        "webhook.html",
        each=each,
        url=url,
        trigger=responding.TRIGGER,
        fitting=fitting[0]["name"] if fitting else "",
        curl=curl(shell_word(url), **{part: getattr(received, part) for part in TRIED}),
        mistakes=bindings.problems(form.get("automations_kata")),
        listed=latest,
        total=total,
        page=page_number,
        speed=speed,
        methods=METHODS,
        former=former,
        last_id=last_id,
        real=REAL,
        most_shown=MAX_SHOWN_CHARS,
        answer=confirmation.ANSWER,
        verdict=verdict,
        simulated=simulated,
        checks=sample_requests.CHECKS,
        kept_failures=received_calls.KEPT_FAILURES,
        samples=[(name, sample.label) for name, sample in sample_requests.SAMPLES.items()],
    )


def _binding(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The binding of a new webhook: the automation that was chosen, if any."""
    if fields.id:
        return {}
    name = form.text("automation")
    return {"automations_kata": with_entry("", "answer", name) if name else ""}


PAGES = declare_pages(RecordPages(
    BASE, FORM, _webhook, LIST, form_bytes=TEXT_BYTES, takes_up=True, new_form=NEW, show_new=_new, fill=_fill,
    instead=_open_recipe, more=_binding, stays_open=True, created=N_("{name} is ready."),
    switched_off=N_("{name} switched off. Its address responds with 404."),
    deleted=N_("{name} deleted. Its address responds with 404."),
))  # fmt: skip


def _empty(visit: Visit) -> WebhookRequest:
    """A request with nothing in it."""
    return received_of("POST", "", "", [], b"", visit.request.client)


def _received(visit: Visit, form: Form) -> WebhookRequest:
    """The request that was typed. Raises Invalid."""
    texts = {part: form.get(name) for part, name in TRIED.items()}
    return webhook_trials.typed_request(texts, visit.request.client)


def _automation_id(visit: Visit, name: str) -> int:
    return records.id_of(visit.ctx, "automation", name=name) if name else 0
