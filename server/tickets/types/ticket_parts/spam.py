"""What judging a ticket as spam or not does: its score, its sender's counters, and a lesson to be learned later.

The words are counted by tickets/spam.py, in batches: those of one ticket would be a sixth of what composing costs."""

from server.mail.spam import HIGHEST, LOWEST
from server.record_types.parts import Change, Writing
from server.store.tables import Column, Table

SPAM, GOOD = "S", "N"
SPAM_LESSON = Table("spam_lesson", [Column("ticket_id"), Column("verdict", "TEXT")], key=("ticket_id",))
_SCORES = {SPAM: HIGHEST, GOOD: LOWEST}


def train(change: Change) -> None:
    """The score follows the judgement, unless one is given along with it."""
    judgement = change.value("spam_training")
    if change.changes("spam_training") and judgement in _SCORES and "spam_score" not in change.new:
        change.new["spam_score"] = _SCORES[judgement]


def count(change: Change, writing: Writing) -> None:
    """The sender's `num_spam` or `num_nonspam` grows with a ticket's first judgement; each ticket counts once, and not
    those that we began ourselves. Its words are learned soon after."""
    if not change.changes("spam_training") or change.was("spam_training"):
        return
    writing.tx.add_later(SPAM_LESSON, {"ticket_id": change.id, "verdict": change.value("spam_training")})
    if change.is_create:
        return
    sender = writing.record("address", change.value("first_wrote_address_id"))
    column = "num_spam" if change.value("spam_training") == SPAM else "num_nonspam"
    if sender is not None and not sender["mail_transport_id"]:
        writing.set("address", sender["id"], {column: sender[column] + 1})
