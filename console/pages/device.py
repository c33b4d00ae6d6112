"""The page where a worker enters the code that a program shows, and decides what the program may do (RFC 8628, 3.3).

The rules are in access/device_flow.py."""

from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.pages.login import require_worker
from server.access import device_flow, provider
from server.access.device_flow import DeviceRequest
from server.access.validator import DEVICE_PAGE
from server.apps import app_consent
from server.errors import Invalid, TooMany
from server.translation import _


@page("GET", DEVICE_PAGE, "anyone")
def show(visit: Visit) -> PageResponse:
    """The field for the code; with a code in the address it is filled in, and the worker still has to send it."""
    return require_worker(visit) or _code_form(visit, visit.query.text("user_code", ""))


@page("POST", DEVICE_PAGE)
def decide(visit: Visit) -> PageResponse:
    """The question what the program may do, then the decision."""
    user_code = visit.form.text("user_code", "")
    service, worker_id = visit.service, visit.actor.worker_id
    try:
        request = device_flow.waiting_request(service, worker_id, visit.request.client, user_code, visit.now)
    except Invalid as error:
        return _code_form(visit, user_code, error.message)
    except TooMany as error:
        return _code_form(visit, user_code, error.message, 429)
    decision = visit.form.text("answer", "")
    if decision not in ("allow", "deny"):
        return _question(visit, request, user_code)
    try:
        seal = visit.form.text("seal", "")
        provider.require_seal(service, request.consent, worker_id, seal, visit.now)
        app_consent.decide_device(visit.ctx, request.consent, user_code, decision == "allow")
    except Invalid as error:
        return _question(visit, request, user_code, error.message)
    return render(visit, "device_done.html", app_name=request.consent.app_name, is_allowed=decision == "allow")


def _code_form(visit: Visit, user_code: str, wrong: str = "", status: int = 422) -> PageResponse:
    return render(visit, "device.html", status if wrong else 200, user_code=user_code[:20], wrong=wrong)


def _question(visit: Visit, request: DeviceRequest, user_code: str, wrong: str = "") -> PageResponse:
    return render(
        visit,
        "device_consent.html",
        422 if wrong else 200,
        question=app_consent.question(visit.ctx, request.consent),
        client=request.client,
        user_code=user_code,
        wrong=wrong,
        title=_("Allow {app} to act on your behalf?", app=request.consent.app_name),
    )
