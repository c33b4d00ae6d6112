"""Webhooks to chat programs: choose a program, paste the address, choose events, see the message, send a test."""

import json
import re
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.visit import Visit
from console.lists import lookup
from console.pages.automation import outgoing
from server.errors import Invalid
from server.fields.languages import is_known
from server.outbound.urls import parsed
from server.outgoing import chat_events, chat_notice, chat_programs, deliveries
from server.outgoing.chat_programs import PROGRAMS, ChatProgram
from server.records import records
from server.records.catalogs import languages
from server.translation import N_, _, speaking

BASE = f"{outgoing.BASE}/chats"
NEW = f"{BASE}/new"
_TOKEN = re.compile(r"[!-~]{1,1000}")  # visible ASCII (RFC 6750, 2.1)
_PREVIEW_ADDRESS = "https://chat.example/preview"  # some messages contain a part of the address


def _program(visit: Visit, record: dict[str, Any]) -> ChatProgram | None:
    return chat_programs.program_of(str(record["program"] if record else visit.query.text("program", "")))


def _instead(visit: Visit) -> PageResponse | None:
    """The list of programs, if none is chosen yet; for a generic webhook, a redirect to its own form."""
    record = lookup.record(visit, outgoing.URI, visit.record_id) if visit.record_id else {}
    if _program(visit, record) is not None:
        return None
    if record:
        return see(f"{outgoing.BASE}/{record['id']}")
    return render(visit, "chat_programs.html", programs=list(PROGRAMS.values()))


def _form(visit: Visit, id: int) -> OpenForm:
    record = lookup.record(visit, outgoing.URI, id) if id else {}
    program = _program(visit, record)
    assert program is not None  # _instead shows another page otherwise
    events = [(name, _(label), _(remark) if remark else "") for name, (label, remark) in chat_events.EVENTS.items()]
    fields = RecordForm(outgoing.URI, tuple(_controls(program, events, is_new=not id)), has_customs=False).open(
        visit, id
    )
    chosen = str(record["events"]).replace(",", " ").split() if record else [chat_events.CREATED]
    fields.before.several["chosen"] = chosen
    if not id:
        fields.fill(name=program.label, language=visit.actor.language, program=program.name)
    return fields


def _controls(program: ChatProgram, events: list[tuple[str, str, str]], *, is_new: bool) -> list[Control]:
    secret = N_("It is a secret: only its host is shown later.") if program.is_secret else ""
    replaced = N_("Paste another address to replace it.") if program.is_secret else ""
    address = Control(
        "url",
        N_("Address"),
        secret if is_new else replaced,
        kind="line",
        attributes={"spellcheck": "false", "autocomplete": "off", "placeholder": program.example},
    )
    controls = [Control("name", N_("Name"), ""), address]
    if program.name == "matrix" and is_new:
        controls[1] = Control(
            "url",
            N_("Home server"),
            "",
            kind="line",
            attributes={"spellcheck": "false", "placeholder": "https://matrix.example.org"},
        )
        controls.append(
            Control(
                "room",
                N_("Room"),
                N_("Its id, such as !abcdef:example.org."),
                is_own=True,
                attributes={"spellcheck": "false"},
            )
        )
    if program.token:
        hint = "" if is_new else N_("Leave blank to keep the stored token.")
        controls.append(Control("token", N_("Access token"), hint, kind="password", is_own=True, also=("headers",)))
    controls += [
        Control(
            "chosen",
            N_("Write when"),
            kind="ticks",
            ticks=events,
            is_own=True,
            also=("events",),
            heading=N_("Messages"),
        ),
        Control("assignee_id", N_("Assigned to"), N_("Only assignments to this worker."), none=N_("Anybody")),
    ]
    if is_new:
        controls += [
            Control(
                "group_id",
                N_("Only tickets of the group"),
                kind="chooser",
                target="group",
                is_own=True,
                none=N_("All groups"),
            ),
            Control(
                "saved_id",
                N_("Only tickets of the saved search"),
                kind="chooser",
                target="saved_search",
                query="context:ticket",
                is_own=True,
                none=N_("None"),
            ),
        ]
    controls += [
        Control("query", N_("Only matching tickets"), N_("A search, such as importance:>50."), kind="line"),
        Control(
            "has_text",
            N_("Include the beginning of the customer's words"),
            N_("Everybody in the channel can read them."),
        ),
        Control("language", N_("Language of the messages"), N_("Such as en_US or de_DE; blank for English.")),
    ]
    return controls if is_new else [*controls, Control("is_disabled", N_("Disabled"))]


def _more(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The values of the controls without a field. Raises Invalid."""
    program = _program(visit, fields.stored)
    assert program is not None
    values: dict[str, Any] = {}
    events = ", ".join(each for each in form.several.get("chosen", []))
    if not fields.id or events != fields.stored["events"]:
        values["events"] = events
    token = form.text("token")
    if token:
        if not _TOKEN.fullmatch(token):
            raise Invalid("token: paste the access token alone, without spaces or line breaks", field="token")
        values["headers"] = f"Authorization: Bearer {token}"
    if fields.id:
        return values
    if program.name == "matrix":
        values["url"] = chat_programs.matrix_address(form.get("url"), form.get("room"))
    return values | {"program": program.name, "query": _query(visit, form)}


def _query(visit: Visit, form: Form) -> str:
    """One search of the chosen group, the saved search and the typed search."""
    group = lookup.chosen_id(visit, "group", form.get("group_id"), "group_id")
    saved_id = lookup.chosen_id(visit, "saved_search", form.get("saved_id"), "saved_id")
    saved = str(lookup.record(visit, "saved_search", saved_id)["query"]) if saved_id else ""
    parts = [f"group.id:{group}" if group else "", saved.strip(), form.text("query")]
    narrowed = [each for each in parts if each]
    return narrowed[0] if len(narrowed) == 1 else " ".join(f"({each})" for each in narrowed)


def _hold(visit: Visit, fields: OpenForm) -> PageResponse | None:
    """The form with a new preview, if that was asked for."""
    return _show(visit, fields.send()) if visit.form.text("do", "") == "preview" else None


def _show(visit: Visit, fields: OpenForm) -> PageResponse:
    program = _program(visit, fields.stored)
    assert program is not None
    id = fields.id
    each = records.retrieve(visit.ctx, outgoing.URI, id, "failing_since,last_error") if id else {}
    latest, total = deliveries.listed(visit.ctx, id, "", outgoing.SHOWN, 0) if id else ([], 0)
    chosen = fields.values.several.get("chosen") or [chat_events.CREATED]
    language = fields.values.text("language")
    with speaking(languages(visit.service).catalog_for(language if is_known(language) else "")):
        event = next((name for name in chosen if name in chat_events.EVENTS), chat_events.CREATED)
        notice = chat_notice.sample_notice(visit.service, event, fields.values.get("has_text") == "1")
        message = program.render(notice, parsed(_PREVIEW_ADDRESS))
    return fields.render(
        "chat_webhook.html",
        each=each,
        program=program,
        target=visit.shown_path if not id else f"{BASE}/{id}",
        notice=notice,
        message=json.dumps(message, ensure_ascii=False, indent=2),
        listed=latest,
        total=total,
        states=outgoing.STATES,
        kept=deliveries.KEPT_DAYS,
    )


def _created(visit: Visit, fields: OpenForm, webhook: dict[str, Any]) -> PageResponse:
    visit.flash(_("{name} created. Send a test now.", name=webhook[lookup.LABEL]))
    return see(f"{BASE}/{webhook['id']}")


declare_pages(
    RecordPages(
        BASE,
        _form,
        _show,
        access="proven admin",
        instead=_instead,
        hold=_hold,
        more=_more,
        after_create=_created,
        stays_open=True,
        deleted="",
    )
)
