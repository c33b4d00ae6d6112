"""The question before an act on tickets on which colleagues are writing: closing, deleting, another owner, a macro."""

from collections.abc import Collection, Mapping
from typing import Any

from console.html import confirmation, resume
from console.html.confirmation import Confirmation
from console.http.page_response import PageResponse
from console.http.visit import Visit
from console.tickets import present
from server.automation import macros
from server.automation.macros import Macro
from server.digits import id_in
from server.people.presence import Present
from server.records import records
from server.records.records import SearchRequest
from server.tickets import assignment, ticket_statuses
from server.tickets.types.ticket_parts.status import CLOSED
from server.translation import N_, Words, _, ngettext, shown

MAX_NAMED = 3  # tickets that a question names
ENDS = {"closed": "close", "deleted": "delete"}  # {status: the act that sets it}
# {act: the question, and the label of the button that goes on}.
QUESTIONS: dict[str, tuple[Words, Words]] = {
    "close": (N_("{sentence}. Close anyway?"), N_("Close anyway")),
    "delete": (N_("{sentence}. Delete anyway?"), N_("Delete anyway")),
    "spam": (N_("{sentence}. Mark as spam and delete anyway?"), N_("Delete anyway")),
    "owner": (N_("{sentence}. Change the owner anyway?"), N_("Change the owner")),
    "macro": (N_("{sentence}. Run the macro anyway?"), N_("Run the macro")),
    "send": (N_("Not sent yet: {sentence}. Send and close anyway?"), N_("Send anyway")),
}


def question_on_ticket(visit: Visit, ticket_id: int, act: str, owner_id: str = "") -> Confirmation | None:
    """Returns the question before an act, None if no colleague writes on the ticket. act: a key of QUESTIONS.
    owner_id: the next owner, whose own writing does not count."""
    writers = _writers(visit, ticket_id, owner_id)
    return _question(act, _sentences(writers)) if writers else None


def question_on_macro(visit: Visit, tickets: Collection[Mapping[str, Any]], macro: Macro) -> Confirmation | None:
    """Returns the question before a macro that closes, deletes or assigns tickets on which colleagues write; None also
    if the question was answered. What a script does is known only afterwards, so it always asks."""
    if confirmation.is_given(visit):
        return None
    changes = macros.form_changes(macro)
    act = act_of_status(visit, changes) if macro.form else "macro"
    if act:
        return question_on_selected(visit, [each["id"] for each in tickets if ENDS.get(each["status"]) != act], act)
    if not {"owner_id", assignment.FIELD} & changes.keys():
        return None
    owner = str(changes.get("owner_id", ""))
    owner_id = str(visit.actor.worker_id) if owner == "me" else owner
    ids = [each["id"] for each in tickets if str(each["owner_id"]) != owner_id]
    return question_on_selected(visit, ids, "owner", owner_id)


def question_on_status(visit: Visit, ticket: Mapping[str, Any], fields: dict[str, str]) -> Confirmation | None:
    """Returns the question before a change of the status; None also if it closes or deletes nothing, or if the question
    was answered. ticket: its keys in the API. fields: as in act_of_status."""
    act = act_of_status(visit, fields)
    if not act or ENDS.get(ticket["status"]) == act or confirmation.is_given(visit):
        return None
    return question_on_ticket(visit, ticket["id"], act)


def question_on_selected(visit: Visit, ids: Collection[Any], act: str, owner_id: str = "") -> Confirmation | None:
    """Returns the question before an act on selected tickets, which says on how many of them colleagues write; None if
    nobody does on those that the worker may read. act, owner_id: as in question_on_ticket."""
    by_ticket = {id: _writers(visit, id, owner_id) for id in map(int, ids)}
    written_on = [str(id) for id, writers in by_ticket.items() if writers]
    if not written_on:
        return None
    search = SearchRequest(f"id:[{','.join(written_on)}]", len(written_on))
    tickets = records.search(visit.ctx, "ticket", search)["results"]
    if not tickets:
        return None
    if len(by_ticket) == 1:
        return _question(act, _sentences(by_ticket[tickets[0]["id"]]))
    names = [f"“{each['subject']}” ({_sentences(by_ticket[each['id']])})" for each in tickets[:MAX_NAMED]]
    sentence = ngettext(
        "Colleagues are writing on {count} of the {total} selected tickets: {names}",
        "Colleagues are writing on {count} of the {total} selected tickets: {names}",
        len(tickets),
        total=len(by_ticket),
        names="; ".join([*names, *(["…"] if len(tickets) > MAX_NAMED else [])]),
    )
    return _question(act, sentence)


def act_of_status(visit: Visit, fields: dict[str, str]) -> str:
    """Returns the act of QUESTIONS that a change of the status is, "" for none. fields: of the ticket, with `status`,
    or with the id of a name in `status_name_id`."""
    if "status" in fields:
        return ENDS.get(fields["status"], "")
    names = {str(each.id): each for each in ticket_statuses.all_of(visit.ctx)}
    name = names.get(fields.get("status_name_id", ""))
    return "close" if name is not None and name.status_id == CLOSED else ""


def ask(visit: Visit, question: Confirmation, fields: list[tuple[str, str]], back: str) -> PageResponse:
    """Shows the question. fields: of the form that goes on. back: the path of the page with the form."""
    return resume.question_page(visit, question, fields, target=visit.path, back=back, is_undoable=True)


def _writers(visit: Visit, ticket_id: int, owner_id: str) -> list[Present]:
    return [each for each in present.writers(visit, ticket_id) if each.worker_id != id_in(owner_id)]


def _sentences(writers: list[Present]) -> str:
    return ", ".join(map(present.sentence, writers[: present.MAX_SENTENCES]))


def _question(act: str, sentence: str) -> Confirmation:
    text, verb = QUESTIONS[act]
    return Confirmation(_(text, sentence=sentence), shown(verb))
