"""Runs the automations that may change or refuse an outgoing mail before it is sent."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from server import contexts, log
from server.context import Context
from server.contexts import DRAFT
from server.errors import Forbidden
from server.record_types.record_type import Record
from server.records import event_publishing
from server.template import Budget
from server.template.script_patterns import compiled, matches
from server.template.values import items, printed

SEND = "mail.send"
VALIDATE = {True: "mail.reply.validate", False: "mail.draft.validate"}
# Params that an automation may set; others stay unchanged.
PARAMS = frozenset(
    (
        "to",
        "cc",
        "bcc",
        "subject",
        "content",
        "format",
        "group_id",
        "bucket_id",
        "owner_id",
        "status_id",
        "status",
        "status_name",
        "ticket_reopen",
        "file_ids",
        "html_template_id",
        "custom_fields",
    )
)
STATUSES = {"open": 0, "waiting": 1, "closed": 2, "deleted": 3}
MAX_CHANGES = 50  # changes of the content by one automation
LOG = log.get("mail")


def apply_filters(ctx: Context, draft: Callable[[], Record], *, leaves_now: bool) -> Record | None:
    """Returns the draft of a worker's mail as automations changed it, or None if unchanged or scheduled for later, when
    they run again.

    draft: returns its values as a record; called only if an automation is bound. Raises Forbidden if one refuses the
    mail."""
    if not event_publishing.is_bound(ctx, SEND, *VALIDATE.values()):
        return None
    written = draft()
    _require_assent(ctx, written)
    return apply_changes(ctx, written) if leaves_now else None


def _require_assent(ctx: Context, draft: Record) -> None:
    """Raises Forbidden if an automation refuses a worker's mail. draft: its values as a record."""
    is_reply = bool(draft.get("ticket_id"))

    def values() -> dict[str, Any]:
        caller: dict[str, Any] = {"caller_name": "svc.reply" if is_reply else "svc.compose", "caller_params": {}}
        worker = event_publishing.record_values("worker", contexts.WORKER, draft.get("worker_id") or 0)
        return _values(draft) | caller | worker

    for answer in event_publishing.automation_results(ctx, VALIDATE[is_reply], values):
        if event_publishing.is_yes(answer.get("reject")):
            why = printed(answer.get("message") or answer.get("reject_message") or "").strip()
            raise Forbidden(f"an automation refused this email{f': {why[:300]}' if why else ''}")


def apply_changes(ctx: Context, draft: Record) -> Record | None:
    """Returns the draft as automations of mail.send changed it, or None if none changed it."""
    values: dict[str, Any] = {}

    def begin() -> dict[str, Any]:
        values.update(_values(draft))
        return values

    params: dict[str, Any] = dict(draft["params"])
    for answer in event_publishing.automation_results(ctx, SEND, begin):
        changes = answer.get("draft") if isinstance(answer.get("draft"), Mapping) else {}
        sent = changes.get("params") if isinstance(changes, Mapping) else None
        for name, value in (sent or {}).items() if isinstance(sent, Mapping) else ():
            if name in PARAMS:
                params[name] = value
        for content in (changes.get("content"), answer.get("content")):  # type: ignore[union-attr]
            if isinstance(content, Mapping):
                params["content"] = edited(str(params.get("content") or ""), content)
        values["draft_params"] = params
    if params == draft["params"]:
        return None
    if "status" in params:
        word = printed(params.pop("status")).strip().lower()
        params["status_id"] = STATUSES.get(word, word)
    was = draft["params"]
    if str(params.get("status_id")) != str(was.get("status_id")) and params.get("status_name") == was.get(
        "status_name"
    ):
        params.pop("status_name", None)  # the name of the former state
    LOG.info("mail.changed", by=SEND)
    return {**draft, "params": params, "to": params.get("to"), "name": params.get("subject") or draft["name"]}


def edited(text: str, changes: Mapping[str, Any]) -> str:
    """Applies `append`, `prepend` and `replace` entries to a content, in their order.

    `text` is put after or before the content; `replace` puts `with` in place of `text`, or, if `regex` is true, of the
    matches of the pattern `text`. `on` is ignored: the stored message is the sent one, so a change applies to both.

    Raises TemplateFailed for an invalid pattern, BudgetSpent for too much work."""
    budget = Budget()
    for key, change in list(changes.items())[:MAX_CHANGES]:
        for each in [change] if isinstance(change, (str, Mapping)) else items(change):
            text = _edited(budget, text, key.partition("/")[0], {"text": each} if isinstance(each, str) else each)
    return text


def _edited(budget: Budget, text: str, kind: str, change: Any) -> str:
    if not isinstance(change, Mapping):
        return text
    operand = printed(change.get("text") or "")
    budget.text(len(text) + len(operand))
    if kind == "append":
        return f"{text}\n{operand}" if text and not text.endswith("\n") else text + operand
    if kind == "prepend":
        return f"{operand}\n{text}" if operand and not operand.endswith("\n") else operand + text
    if kind != "replace" or not operand:
        return text
    new = printed(change.get("with") or "")
    if not event_publishing.is_yes(change.get("regex")):
        budget.text(len(text) + text.count(operand) * len(new))
        return text.replace(operand, new)
    pieces: list[str] = []
    end = 0
    for match in matches(budget, compiled(operand), text):
        pieces += (text[end : match.start()], _filled(new, match))
        budget.text(len(pieces[-1]))
        end = match.end()
    return "".join((*pieces, text[end:]))


def _filled(new: str, match: Any) -> str:
    r"""A replacement with its groups `$1` or `\1` filled in."""
    groups = (match.group(0), *match.groups())

    def group(reference: re.Match[str]) -> str:
        place = int(reference[1])
        return (groups[place] or "") if place < len(groups) else ""

    return re.sub(r"[$\\]([0-9])", group, new)


def _values(draft: Record) -> dict[str, Any]:
    """The draft as values with the prefix `draft_`; a draft that is not stored has the id 0."""
    values = {f"draft_{name}": draft.get(name) for name in ("name", "type", "to", "params", "ticket_id", "worker_id")}
    return {
        **event_publishing.record_values("draft", DRAFT, draft.get("id") or 0),
        **values,
        "draft_id": draft.get("id") or 0,
    }
