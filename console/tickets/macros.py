"""Macros on one ticket or several: the list, their inputs, and running them."""

from typing import Any
from urllib.parse import urlsplit

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.lists.selection import UNDO, flash_undoable, refusals
from console.tickets import came_from, inbox, interrupting
from console.tickets.acts import back_to
from console.tickets.bulk_form import Tickets, bulk_form, path_of_list
from console.tickets.reply_draft import flash_sent, leaves_at
from console.tickets.show import TICKET, Ticket, ticket_of_mask
from server.automation import inputs, macros
from server.automation.macros import Macro, MacroOutcome, MacroRuns
from server.errors import HelpdeskError
from server.record_types.shared import paths
from server.records import records
from server.tickets.sending_changes import changed_by_sending
from server.translation import _, ngettext

PATH = "/tickets/{mask}/macros"
INPUT = "input:"  # the prefix of a field with an input


@page("GET", PATH)
def show(visit: Visit) -> PageResponse:
    """Shows the macros for a ticket, and with `macro` the inputs of that one. Raises NotFound, Forbidden."""
    ticket = ticket_of_mask(visit)
    records.require(visit.ctx, TICKET, "update", ticket["id"])
    usable = macros.usable(visit.ctx, ticket["id"])
    name = visit.query.text("macro", "")
    form = Form.from_values({"macro": name, "back": visit.query.text("back", "")})
    macro = next((each for each in usable if str(each.id) == name), None)
    for each in macro.inputs if macro is not None else ():
        form.values[INPUT + each.name] = str(each.options.get("default") or "")
    return _page(visit, ticket, form, usable, macro)


@page("POST", PATH, creates=True)
def run(visit: Visit) -> PageResponse:
    """Runs a macro: applies its changes and puts its texts into the reply form. Raises NotFound, Forbidden."""
    ticket, form = ticket_of_mask(visit), Form.sent(visit.form, ("macro", "back"))
    macro = None
    try:
        macro = macros.find(visit.ctx, ticket["id"], form.text("macro"))
        if macro.inputs and "asked" not in visit.form:
            return see(ui.address(visit.path, macro=macro.id, back=form.get("back")))
        values = _given(visit, form, macro)
        question = interrupting.question_on_macro(visit, [ticket], macro)
        if question is not None:
            sent = [("macro", str(macro.id)), ("asked", "1"), ("back", form.get("back"))]
            inputs_sent = [(INPUT + name, text) for name, text in values.items()]
            return interrupting.ask(visit, question, [*sent, *inputs_sent], paths.ticket(ticket["mask"]))
        outcome = macros.run(visit.ctx, ticket["id"], str(macro.id), values, send_at=leaves_at(visit))
    except HelpdeskError as error:
        form.refuse(error, names={name.removeprefix(INPUT): name for name in form.values})
        return _page(visit, ticket, form, macros.usable(visit.ctx, ticket["id"]), macro)
    return _done(visit, ticket, outcome)


def _given(visit: Visit, form: Form, macro: Macro) -> dict[str, str]:
    """Returns the submitted inputs, without blank ones."""
    for each in macro.inputs:
        form.values[INPUT + each.name] = visit.form.text(INPUT + each.name, "").replace("\r\n", "\n")
    return {each.name: text for each in macro.inputs if (text := form.get(INPUT + each.name)).strip()}


def _page(visit: Visit, ticket: Ticket, form: Form, usable: list[Macro], macro: Macro | None) -> PageResponse:
    return render(
        visit,
        "ticket_macros.html",
        ticket=ticket,
        form=form,
        listed=usable,
        macro=macro,
        here=paths.ticket(ticket["mask"]),
    )


# -- what is done with the outcome ------------------------------------------------------------------------------------


def _done(visit: Visit, before: Ticket, outcome: MacroOutcome) -> PageResponse:
    """Flashes the outcome and redirects to the reply form if there is a text to review, to the page after a finished
    ticket if the macro sent mail, closed the ticket or set it to waiting, else to the ticket."""
    here = paths.ticket(before["mask"])
    if not records.may_read(visit.ctx, TICKET, before["id"]):
        visit.flash(_("{macro}: done.", macro=outcome.macro.label))
        return see(inbox.PATH)
    kinds = macros.store_texts(visit.ctx, before["id"], outcome)
    path, sentence = "", ""
    if not kinds and (outcome.delivery is not None or _is_finished(visit, before)):
        path, sentence = came_from.next_page(visit, before["mask"])
    if outcome.delivery is not None:
        fields = {"back": came_from.path_with_list(visit, here), **changed_by_sending(visit.ctx, before)}
        flash_sent(visit, outcome.delivery, here, False, fields, sentence)
    else:
        _flash(visit, here, outcome, kinds, sentence)
    if not kinds:
        return see(path) if path else back_to(visit, before)
    back = urlsplit(own_path(visit.form.text("back", "")))
    params = f"{back.query}&" if back.path == here and back.query and "answer=" not in back.query else ""
    return see(f"{here}/answer?{params}answer={kinds[0]}")


def _is_finished(visit: Visit, before: Ticket) -> bool:
    """Whether a ticket was closed, deleted or set to waiting."""
    return records.retrieve(visit.ctx, TICKET, before["id"])["status"] not in ("open", before["status"])


def _flash(visit: Visit, here: str, outcome: MacroOutcome, kinds: list[str], more: str) -> None:
    sentences = [_("{macro}: done.", macro=outcome.macro.label)]
    sentences += [_("Review the reply, then send it.")] if "reply" in kinds else []
    sentences += [_("Review the note, then add it.")] if "note" in kinds else []
    sentences += [more] if more else []
    if outcome.before:
        back = visit.form.text("back", "")
        visit.flash(" ".join(sentences), f"{here}/restore", back=back, **outcome.before)
    else:
        visit.flash(" ".join(sentences))


# -- several tickets --------------------------------------------------------------------------------------------------


def _options(visit: Visit, selected: Tickets) -> dict[str, Any]:
    usable = macros.usable(visit.ctx, *(each["id"] for each in selected))
    fitting = [each for each in usable if inputs.misfit(each.automation.script, {}) is None]
    return {"options": [(str(each.id), each.label) for each in fitting]}


@bulk_form(f"{inbox.PATH}/macro", "bulk_macro.html", {"macro": ""}, more=_options)
def run_bulk(visit: Visit, selected: Tickets, form: Form) -> str | PageResponse | None:
    """Runs a macro on each ticket separately; refusals are reported."""
    masks, back = {each["id"]: str(each["mask"]) for each in selected}, path_of_list(visit)
    usable = macros.usable(visit.ctx, *masks)
    macro = next((each for each in usable if str(each.id) == form.text("macro")), None)
    if macro is None:
        form.fail("macro", _("Choose a macro."))
        return None
    question = interrupting.question_on_macro(visit, selected, macro)
    if question is not None:
        fields = [("macro", str(macro.id)), ("back", back), *(("ids[]", str(id)) for id in masks)]
        return interrupting.ask(visit, question, fields, back)
    runs = macros.run_each(visit.ctx, list(masks), str(macro.id))
    before = {id: dict(each.before) for id, each in runs.done.items() if each.before}
    flash_undoable(visit, _run_summary(runs, masks), UNDO, before, list=inbox.PATH, do="macro", back=back)
    return back


def _run_summary(runs: MacroRuns, masks: dict[int, str]) -> list[str]:
    sentences = [ngettext("Macro run.", "Macro run on {count} tickets.", len(runs.done))] if runs.done else []
    texts = sum(1 for each in runs.done.values() if each.reply or each.note)
    if texts:
        sentences.append(
            ngettext(
                "The text for {count} ticket was left out: run the macro there to review it.",
                "The texts for {count} tickets were left out: run the macro there to review them.",
                texts,
            )
        )
    if runs.left:
        sentences.append(
            ngettext("Time ran out before {count} ticket.", "Time ran out before {count} tickets.", len(runs.left))
        )
    return [*sentences, *refusals([f"{masks[id]}: {why}" for id, why in runs.refused.items()])]
