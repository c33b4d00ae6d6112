"""What workers judged as spam and as good mail, counted by word; from that the score of new mail. The arithmetic is in
mail/spam.py. No score does anything by itself. Source: Mail, Spam score."""

import json
from collections.abc import Iterable
from typing import Any

import peewee

from server.desk.writing import Writer
from server.mail import spam as bayes
from server.records.base import Record
from server.records.tickets.spam import GOOD, SPAM
from server.store.statements import in_list, slot
from server.store.tables import Column, Table
from server.store.transaction import Transaction

__all__ = ["GOOD", "SPAM", "SPAM_WORD", "TABLES", "learn", "score", "train"]

TICKETS = ""  # the word under which the trained tickets themselves are counted

SPAM_WORD = Table("spam_word", [Column("word", "TEXT"), Column("good"), Column("bad")], key=("word",))
TABLES = (SPAM_WORD,)


def score(tx: Transaction, words: Iterable[str]) -> float:
    """The probability that a mail of these words (mail.spam.words) is spam, 0.0001 to 0.9999. One statement."""
    listed = list(words)
    table: Any = SPAM_WORD.sql
    rows = tx.rows(
        ("spam words",),
        lambda: table.select(table.word, table.good, table.bad).where(in_list(table.word, slot(0))),
        (json.dumps([TICKETS, *listed]),),
    )
    counts = {word: (good, bad) for word, good, bad in rows}
    n_good, n_bad = counts.pop(TICKETS, (0, 0))
    known = {word: each for word, each in counts.items() if sum(each) >= bayes.SEEN_ENOUGH}
    # All others have the same value, and so many of them at most can be among those that decide.
    others = [word for word in listed if word not in known][: bayes.DECIDING_WORDS]
    return bayes.score(known | dict.fromkeys(others, (0, 0)), n_good, n_bad)


def train(writing: Writer, ticket_id: int, verdict: str) -> bool:
    """Mark a ticket as GOOD or SPAM and learn from it; False for a ticket that is marked already, or not there.

    Its score and its sender's counters follow from the mark."""
    ticket = writing.record("ticket", ticket_id)
    if ticket is None or ticket["spam_training"]:
        return False
    writing.update("ticket", ticket_id, {"spam_training": verdict})
    learn(writing, ticket, verdict)
    return True


def learn(writing: Writer, ticket: Record, verdict: str) -> None:
    """Count the words of a ticket's subject and first message. The ticket itself is left as it is: for callers that
    have just marked it, for the first time."""
    message = writing.record("message", ticket["initial_message_id"]) if ticket["initial_message_id"] else None
    text = message["content"] if message else ""
    _count(writing.tx, bayes.words(f"{ticket['subject']}\n{text}"), verdict)


def _count(tx: Transaction, words: Iterable[str], verdict: str) -> None:
    """One more of each word, and one ticket more. One statement."""
    good = int(verdict == GOOD)
    column = "good" if good else "bad"

    def build() -> Any:
        table: Any = SPAM_WORD.sql
        source = peewee.fn.json_each(slot(0))
        query = peewee.Select((source,), (peewee.Entity("value"), slot(1), slot(2)))
        # Without a condition SQLite would read the ON of ON CONFLICT as that of a join.
        counted = table.insert(query.where(slot(3)), columns=[table.word, table.good, table.bad])
        return counted.on_conflict(
            conflict_target=[table.word], update={getattr(table, column): getattr(table, column) + 1}
        )

    tx.run(("count spam words", column), build, (json.dumps([TICKETS, *sorted(words)]), good, 1 - good, 1))
