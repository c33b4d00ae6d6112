"""Confirmation of acts that cannot be undone or that disturb a colleague: a dialog if scripts run, else a page."""

from console.http.visit import Visit
from server.dataclass import dataclass

# Fields of such a form: the question, and `1` after it was answered.
QUESTION, ANSWER = "_ask", "_sure"
VERB = "_verb"  # the label of the form's button; the button of the confirmation repeats it


def is_open(visit: Visit) -> bool:
    """Whether a form that asks first was sent without the answer."""
    return QUESTION in visit.form and not is_given(visit)


def is_given(visit: Visit) -> bool:
    """Whether the form was sent with the answer."""
    return visit.form.text(ANSWER, "") == "1"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question in the language of the worker. verb: the label of the button that goes on."""

    text: str
    verb: str
