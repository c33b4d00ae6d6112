"""The rules that a new one may start from."""

from typing import Any

from console.html.ui import Option
from server.dataclass import dataclass
from server.translation import N_, Words, _, shown


@dataclass(frozen=True, slots=True)
class RuleTemplate:
    """A rule to start from. form: without its title, which is the label."""

    key: str
    label: Words
    form: dict[str, Any]


TEMPLATES = (
    RuleTemplate(
        "close",
        N_("Close after seven silent days"),
        {
            "when": ["time"],
            "since": "message",
            "amount": "7",
            "unit": "days",
            "conditions": ["status:waiting"],
            "steps": [{"kind": "close"}],
        },
    ),
    RuleTemplate(
        "vip",
        N_("VIP first"),
        {
            "when": ["created"],
            "conditions": ["participant:(host:vip.example)"],
            "steps": [{"kind": "importance", "importance": "90"}, {"kind": "tags", "tags": "vip"}],
        },
    ),
    RuleTemplate(
        "hours",
        N_("Reply out of hours"),
        {
            "when": ["created"],
            "match": "any",
            "conditions": ["created:(days:sat,sun)", 'created:(times:"00:00-08:59")', 'created:(times:"17:00-23:59")'],
            "steps": [
                {
                    "kind": "reply",
                    "is_automatic": "1",
                    "text": "Thank you for your email. We are back at nine in the morning and reply then.",
                }
            ],
        },
    ),
    RuleTemplate(
        "spam",
        N_("Spam words to a bucket"),
        {
            "when": ["created"],
            "match": "any",
            "conditions": ["subject:*casino*", "subject:*lottery*", "subject:*crypto*"],
            "steps": [{"kind": "move"}],
            "stops": "1",
        },
    ),
    RuleTemplate(
        "bad",
        N_("Tell the lead about a bad rating"),
        {
            "when": ["customer_rated"],
            "conditions": ["rating:bad"],
            "steps": [{"kind": "notify", "worker_ids": "", "text": "A customer gave this ticket a bad rating."}],
        },
    ),
    RuleTemplate(
        "remind",
        N_("Remind the owner"),
        {
            "when": ["time"],
            "since": "message",
            "amount": "2",
            "unit": "days",
            "conditions": ["status:open owner.id:any messages.last:(isOutgoing:no)"],
            "steps": [{"kind": "notify", "to_owner": "1", "text": "A customer has been waiting for two days."}],
        },
    ),
)


def options() -> list[Option]:
    """The choices of the form: empty, or a template."""
    return [("", _("Empty")), *((each.key, shown(each.label)) for each in TEMPLATES)]


def form_of(key: str) -> dict[str, Any]:
    """The form of a template, {} for none."""
    return next(({"title": shown(each.label), **each.form} for each in TEMPLATES if each.key == key), {})
