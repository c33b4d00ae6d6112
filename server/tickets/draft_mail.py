"""Converts due drafts of tickets into messages and mail."""

from dataclasses import replace

from server.context import Context
from server.outbox.draft_kinds import Save, makes
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import COMPOSE, FORWARD, REPLY, TRANSACTIONAL
from server.tickets import acknowledging, drafts, letter, send_filter, transactional
from server.tickets.compose import prepare as prepare_compose
from server.tickets.compose import save as save_compose
from server.tickets.reply import prepare as prepare_reply
from server.tickets.reply import save as save_reply


@makes(COMPOSE)
def _ticket(by: Context, draft: Record, is_checked: bool) -> Save:
    draft = send_filter.apply_changes(by, draft) or draft
    prepared = prepare_compose(by, drafts.compose_of(by, draft), draft["worker_id"], is_checked)
    return lambda writing, id: save_compose(writing, prepared, id)[1]


@makes(REPLY, FORWARD)
def _answer(by: Context, draft: Record, is_checked: bool) -> Save:
    if is_checked and acknowledging.is_acknowledgement(draft):
        return acknowledging.acknowledgement_write(by, draft)
    draft = send_filter.apply_changes(by, draft) or draft
    request = replace(drafts.reply_of(by, draft), worker_id=draft["worker_id"])
    prepared = prepare_reply(by, request, is_checked)
    return lambda writing, id: save_reply(writing, prepared, id)[0]


@makes(TRANSACTIONAL)
def _letter(by: Context, draft: Record, is_checked: bool) -> Save:
    prepared = transactional.prepare(by, draft)
    values = {"params": drafts.params_of(prepared.request, {}, draft["worker_id"])}
    return lambda writing, id: letter.queue(writing, prepared.mail, prepared.way, values, 0, id)[0]
