"""What judging a ticket as spam or not does to its score and to its sender's counters. Words are not counted here."""

from server.mail.spam import HIGHEST, LOWEST
from server.records.parts import Change, Writing

SPAM, GOOD = "S", "N"
_SCORES = {SPAM: HIGHEST, GOOD: LOWEST}


def train(change: Change) -> None:
    """The score follows the judgement, unless one is given along with it. Source: Mail, Spam score."""
    judgement = change.value("spam_training")
    if change.changes("spam_training") and judgement in _SCORES and "spam_score" not in change.new:
        change.new["spam_score"] = _SCORES[judgement]


def count(change: Change, writing: Writing) -> None:
    """The sender's `num_spam` or `num_nonspam` grows with a ticket's first judgement; each ticket counts once, and not
    those that we began ourselves."""
    if not change.changes("spam_training") or change.was("spam_training"):
        return
    sender = writing.record("address", change.value("first_wrote_address_id"))
    column = "num_spam" if change.value("spam_training") == SPAM else "num_nonspam"
    if sender is not None and not sender["mail_transport_id"]:
        writing.set("address", sender["id"], {column: sender[column] + 1})
