"""Examples that a form for a new record may start from."""

from collections.abc import Sequence

from console.html.ui import Option
from console.http.visit import Visit
from server.dataclass import dataclass
from server.translation import N_, Words

START = "start"  # the parameter that names an example


@dataclass(frozen=True)
class StartExample:
    """Values of a new record. key: in the address."""

    key: str
    label: Words
    values: dict[str, str]


EXAMPLES: dict[str, tuple[StartExample, ...]] = {
    "snippet": (
        StartExample(
            "question",
            N_("Ask for more information"),
            {
                "title": "Ask for more information",
                "content": "Thank you for your message about “{{subject}}”.\n\nTo help you, we need:\n\n"
                "- what you did before it happened\n- the exact words of the message that you saw\n",
            },
        ),
        StartExample(
            "closing",
            N_("Close with thanks"),
            {
                "title": "Close with thanks",
                "content": "We are glad that it works again, and close {{mask}}.\n\n"
                "If anything is left, reply to this email.\n",
            },
        ),
    ),
    "email_signature": (
        StartExample(
            "short",
            N_("Name and group"),
            {
                "name": "Name and group",
                "signature": "{{full_name}}\n{{group_name}}\n",
                "signature_html": "<p>{{full_name}}<br>{{group_name}}</p>\n",
            },
        ),
    ),
    "html_template": (
        StartExample(
            "footer",
            N_("Message and footer"),
            {
                "name": "Message and footer",
                "content": '<div style="max-width: 600px">\n  {{message_body}}\n  <hr>\n'
                '  <p style="color: #55606e">{{group_name}}</p>\n</div>\n',
            },
        ),
    ),
    "calendar_event_recurring": (
        StartExample(
            "weekdays",
            N_("Office hours on weekdays"),
            {
                "name": "Office hours",
                "patterns": "weekdays",
                "event_start": "09:00",
                "event_end": "17:00",
                "is_available": "1",
            },
        ),
    ),
}


def options(examples: Sequence[StartExample]) -> list[Option]:
    """The choices of a form: empty, or an example; none without examples."""
    return [("", N_("Empty")), *((each.key, each.label) for each in examples)] if examples else []


def chosen(visit: Visit, examples: Sequence[StartExample]) -> dict[str, str]:
    """The values of the example that the address names."""
    return next((each.values for each in examples if each.key == visit.query.text(START, "")), {})
