"""Which automation would respond to a request of a webhook, and problems that callers should not be the first to
find."""

import json

from server.automation.bindings import BindingCandidate
from server.automation.inputs import misfit
from server.automation.run_dictionary import plain
from server.automation.webhooks import responding
from server.automation.webhooks.responding import WebhookRequest
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, Required
from server.record_types.record_type import Record
from server.record_types.shared import checks
from server.translation import _

MAX_SHOWN_INPUTS = 500  # characters of the inputs that an automation would be given


@dataclass(frozen=True)
class PreviewedEntry:
    """An entry of a binding. state: `off`; `broken`, it cannot respond; `fails`, with 500; `responds`; `passed`, an
    entry above it responds. reason: why, in words. inputs: the inputs of the automation as JSON, "" for none."""

    of: BindingCandidate
    state: str
    reason: str = ""
    inputs: str = ""


@dataclass(frozen=True)
class ResponsePreview:
    """The automation that responds to a request. trouble: the reason why callers get no response, "" if they get one.
    winner: the name of the automation, "" for none. is_broken: whether callers get 500."""

    entries: list[PreviewedEntry]
    trouble: str = ""
    winner: str = ""
    is_broken: bool = False


def preview(ctx: Context, listener: Record, received: WebhookRequest) -> ResponsePreview:
    """Returns which automation responds by the stored binding."""
    try:
        candidates = responding.webhook_candidates(ctx, listener, received)
    except HelpdeskError as error:
        return ResponsePreview(
            [], _("The binding fails, so callers get 500: {reason}", reason=error.message), is_broken=True
        )
    entries: list[PreviewedEntry] = []
    winner, wrong = None, None
    for each in candidates:
        if each.handler is None:
            entries.append(PreviewedEntry(each, "off" if each.is_off else "broken", each.reason))
        elif winner is None:
            winner, inputs = each.handler.automation, each.handler.inputs
            wrong = misfit(winner.script, inputs)
            as_json = json.dumps(plain(inputs), ensure_ascii=False, default=str)[:MAX_SHOWN_INPUTS] if inputs else ""
            state, reason = ("fails", wrong.message) if wrong else ("responds", "")
            entries.append(PreviewedEntry(each, state, reason, as_json))
        else:
            entries.append(PreviewedEntry(each, "passed", _("an entry above it responds")))
    if winner is None:
        none = _("Callers get 404: none of the automations below can respond.")
        return ResponsePreview(entries, none if candidates else _("Callers get 404: no automation is bound yet."))
    trouble = ""
    mistakes = checks.mistakes("script", winner.script)
    if mistakes:
        line, reason = mistakes[0]
        trouble = _(
            "The script of {name} has a mistake, so callers get 500: line {line}: {reason}",
            name=winner.name,
            line=line,
            reason=reason,
        )
    elif wrong and not isinstance(wrong, Required):  # what is missing here may come with another request
        trouble = _(
            "{name} refuses the values of the binding, so callers get 500: {reason}",
            name=winner.name,
            reason=wrong.message,
        )
    return ResponsePreview(entries, trouble, winner.name, is_broken=bool(trouble))
