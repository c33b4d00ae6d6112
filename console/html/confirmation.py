"""Confirmation of acts that cannot be undone: a dialog if scripts run, else a page."""

from console.http.visit import Visit

# Fields of such a form: the question, and `1` after it was answered.
QUESTION, ANSWER = "_ask", "_sure"
VERB = "_verb"  # the label of the form's button; the button of the confirmation repeats it


def is_open(visit: Visit) -> bool:
    """Whether a form that asks first was sent without the answer."""
    return QUESTION in visit.form and visit.form.text(ANSWER, "") != "1"
