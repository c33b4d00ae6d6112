"""The question before what cannot be undone: a dialog where scripts run, else a page of its own."""

from console.http.visit import Visit

# Fields of such a form: what is asked, and `1` once it was answered.
QUESTION, ANSWER = "_ask", "_sure"
VERB = "_verb"  # what the button says that the form was sent with: the one that answers says it again


def is_open(visit: Visit) -> bool:
    """Whether a form that asks first was sent without the answer."""
    return QUESTION in visit.form and visit.form.text(ANSWER, "") != "1"
