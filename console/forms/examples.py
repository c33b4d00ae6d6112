"""Examples that a form for a new record may start from."""

from collections.abc import Mapping, Sequence

from console.html.ui import Option
from console.http.visit import Visit
from server.dataclass import dataclass
from server.translation import N_, Words, shown_mark

START = "start"  # the parameter that names an example


@dataclass(frozen=True)
class StartExample:
    """Values of a new record; messages among them are translated. key: in the address."""

    key: str
    label: Words
    values: Mapping[str, str]


EXAMPLES: dict[str, tuple[StartExample, ...]] = {
    "snippet": (
        StartExample(
            "question",
            N_("Ask for more information"),
            {
                "title": N_("Ask for more information"),
                "content": N_(
                    "Thank you for your message about “{{subject}}”.\n\nTo help you, we need:\n\n"
                    "- what you did before it happened\n- the exact words of the message that you saw\n"
                ),
            },
        ),
        StartExample(
            "closing",
            N_("Close with thanks"),
            {
                "title": N_("Close with thanks"),
                "content": N_(
                    "We are glad that it works again, and close {{mask}}.\n\n"
                    "If anything is left, reply to this email.\n"
                ),
            },
        ),
    ),
    "email_signature": (
        StartExample(
            "short",
            N_("Name and group"),
            {
                "name": N_("Name and group"),
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
                "name": N_("Message and footer"),
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
                "name": N_("Office hours"),
                "patterns": "weekdays",
                "event_start": "09:00",
                "event_end": "17:00",
                "is_available": "1",
            },
        ),
    ),
}

# Of the operation that runs a data query.
DATA_QUERIES = (
    StartExample(
        "subtotals",
        N_("Tickets of 30 days by group and status"),
        {"q": 'type:worklist.subtotals of:ticket by:[group,status] query:(created:"-30 days") format:table'},
    ),
    StartExample(
        "series",
        N_("Tickets created each day"),
        {
            "q": 'type:worklist.series series.new:(of:ticket x:created@day query:(created:"-30 days") label:New) '
            "format:timeseries"
        },
    ),
    StartExample(
        "metrics",
        N_("Average time to the first response this month"),
        {
            "q": "type:worklist.metrics values.first:(of:ticket field:response.first function:avg "
            'query:(created:"first day of this month to now") label:Seconds) format:table'
        },
    ),
    StartExample(
        "records",
        N_("Overdue tickets with their owners"),
        {"q": "type:worklist.records of:ticket query:(due:<now sort:due limit:20) expand:[owner_] format:dictionaries"},
    ),
)


def options(examples: Sequence[StartExample]) -> list[Option]:
    """The choices of a form: empty, or an example; none without examples."""
    return [("", N_("Empty")), *((each.key, each.label) for each in examples)] if examples else []


def chosen(visit: Visit, examples: Sequence[StartExample]) -> dict[str, str]:
    """The values of the example that the address names."""
    values = next((each.values for each in examples if each.key == visit.query.text(START, "")), {})
    return {name: shown_mark(value) for name, value in values.items()}
