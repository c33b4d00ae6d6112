"""The effects of a spam judgement of a ticket: its score, its sender's counters, and a lesson to learn later.

tickets/spam.py counts the words in batches; per ticket it would add a sixth to the cost of compose."""

from server.mail.spam_score import HIGHEST, LOWEST
from server.record_types.parts import Change, Writing
from server.store.tables import Column, Table

SPAM, GOOD = "S", "N"
LIKELY_SPAM = 0.9  # a score; above it, the sender address is probably forged
SPAM_LESSON = Table("spam_lesson", [Column("ticket_id"), Column("verdict", "TEXT")], key=("ticket_id",))
_SCORES = {SPAM: HIGHEST, GOOD: LOWEST}


def train(change: Change) -> None:
    """Derives the score from the judgement, unless the same change sets it."""
    judgement = change.value("spam_training")
    if change.changes("spam_training") and judgement in _SCORES and "spam_score" not in change.new:
        change.new["spam_score"] = _SCORES[judgement]


def count(change: Change, writing: Writing) -> None:
    """Counts the first judgement of a ticket in the sender's `num_spam` or `num_nonspam`, except for composed tickets,
    and queues the lesson."""
    if not change.changes("spam_training") or change.was("spam_training"):
        return
    writing.tx.add_later(SPAM_LESSON, {"ticket_id": change.id, "verdict": change.value("spam_training")})
    if change.is_create:
        return
    sender = writing.record("address", change.value("first_wrote_address_id"))
    column = "num_spam" if change.value("spam_training") == SPAM else "num_nonspam"
    if sender is not None and not sender["mail_transport_id"]:
        writing.set("address", sender["id"], {column: sender[column] + 1})
