"""Word counts of the tickets that workers judged as spam or good, and the score of new mail from them.

The arithmetic is in mail/spam_score.py. A score alone triggers no action."""

import json
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import peewee

from server.context import Service
from server.jobs.scheduler import periodic
from server.mail import spam_score as bayes
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.store.expressions import TRUE, listed_values
from server.store.statements import in_list, slot
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.spam_verdict import GOOD, SPAM, SPAM_LESSON
from server.translation import N_

__all__ = ["GOOD", "SPAM", "SPAM_WORD", "TABLES", "learn_all", "score", "train"]

BATCH = 100  # tickets whose words are counted in one transaction
TICKETS = ""  # the word under which the trained tickets themselves are counted

SPAM_WORD = Table("spam_word", [Column("word", "TEXT"), Column("good"), Column("bad")], key=("word",), is_settled=True)
TABLES = (SPAM_WORD,)


def score(tx: Transaction, words: Iterable[str]) -> float:
    """Returns the probability that a mail of these words (mail.spam.words) is spam, 0.0001 to 0.9999.

    Runs one statement, or none if no ticket was judged yet."""
    word_list = list(words)
    if tx.first(SPAM_WORD, word=TICKETS) is None:  # the writer caches this row
        return bayes.score(dict.fromkeys(word_list[: bayes.DECIDING_WORDS], (0, 0)), 0, 0)
    table: Any = SPAM_WORD.sql
    rows = tx.rows(
        lambda: table.select(table.word, table.good, table.bad).where(in_list(table.word, slot(0))),
        (json.dumps([TICKETS, *word_list]),),
    )
    counts = {word: (good, bad) for word, good, bad in rows}
    n_good, n_bad = counts.pop(TICKETS, (0, 0))
    known_counts = {word: each for word, each in counts.items() if sum(each) >= bayes.SEEN_ENOUGH}
    # All unknown words have the same value, and at most this many can decide.
    others = [word for word in word_list if word not in known_counts][: bayes.DECIDING_WORDS]
    return bayes.score(known_counts | dict.fromkeys(others, (0, 0)), n_good, n_bad)


def train(writing: RecordWriter, ticket_id: int, verdict: str) -> bool:
    """Marks a ticket as GOOD or SPAM. Returns False if it is marked already or missing.

    Its score and its sender's counters follow from the mark; the next run of learn_all counts its words."""
    ticket = writing.record("ticket", ticket_id)
    if ticket is None or ticket["spam_training"]:
        return False
    writing.update("ticket", ticket_id, {"spam_training": verdict})
    return True


@periodic(N_("spam lessons"), N_("Learns from what workers marked which email is spam."))
def learn_all(service: Service, now: int) -> None:
    """Counts the words of all tickets judged since the last run, in the subject and the first message."""
    while lessons := service.store.read(lambda tx: _lessons(service, tx)):
        service.store.write(partial(_learn, lessons))


Lesson = tuple[int, str, frozenset[str]]


def _lessons(service: Service, tx: Transaction) -> list[Lesson]:
    """Returns a batch of judged tickets with their verdicts and words."""
    table: Any = SPAM_LESSON.sql
    rows = tx.rows(lambda: table.select(table.ticket_id, table.verdict).order_by(table.ticket_id).limit(BATCH))
    tickets, messages = service.registry.type("ticket"), service.registry.type("message")
    by_id = {row[0]: tickets.record(row) for row in tx.get_many(tickets.table, [ticket_id for ticket_id, _ in rows])}
    first = [each["initial_message_id"] for each in by_id.values()]
    texts = {row[0]: messages.record(row)["content"] for row in tx.get_many(messages.table, first)}
    lessons = []
    for ticket_id, verdict in rows:
        ticket = by_id.get(ticket_id)
        text = _text(ticket, texts.get(ticket["initial_message_id"], "") if ticket else "")
        lessons.append((ticket_id, str(verdict), frozenset(bayes.words(text))))
    return lessons


def words_of_ticket(service: Service, ticket_id: int) -> frozenset[str]:
    """Returns the words that the lesson of this ticket counts."""
    tickets, messages = service.registry.type("ticket"), service.registry.type("message")

    def read(tx: Transaction) -> str:
        row = tx.get(tickets.table, ticket_id)
        ticket = tickets.record(row) if row is not None else None
        first = tx.get(messages.table, ticket["initial_message_id"]) if ticket is not None else None
        return _text(ticket, messages.record(first)["content"] if first is not None else "")

    return frozenset(bayes.words(service.store.read(read)))


def unlearn(tx: Transaction, ticket_id: int, verdict: str, words: frozenset[str]) -> None:
    """Undoes a lesson: drops it if it is not counted yet, else subtracts its words."""
    if tx.delete(SPAM_LESSON, ticket_id=ticket_id):
        return
    _count_once_less(tx, "good" if verdict == GOOD else "bad", words)


def _count_once_less(tx: Transaction, column: str, words: frozenset[str]) -> None:
    def build() -> Any:
        table: Any = SPAM_WORD.sql
        number = getattr(table, column)
        fewer = peewee.Case(None, ((number > 0, number - 1),), 0)
        return table.update({number: fewer}).where(in_list(table.word, slot(0)))

    tx.run(build, (json.dumps(sorted((TICKETS, *words))),))


def _text(ticket: Record | None, content: str) -> str:
    return f"{ticket['subject']}\n{content}" if ticket is not None else ""


def _learn(lessons: list[Lesson], tx: Transaction) -> None:
    """Counts each word once for the whole batch: PostgreSQL slows down with repeated updates of a row in one
    transaction."""
    table: Any = SPAM_LESSON.sql
    those = (json.dumps([ticket_id for ticket_id, _, _ in lessons]),)
    unlearned = {
        row[0] for row in tx.rows(lambda: table.select(table.ticket_id).where(in_list(table.ticket_id, slot(0))), those)
    }
    tx.run(lambda: table.delete().where(in_list(table.ticket_id, slot(0))), those)
    for is_good in (True, False):
        counted: Counter[str] = Counter()
        for ticket_id, verdict, words in lessons:
            if ticket_id in unlearned and (verdict == GOOD) is is_good:  # another run has learned the rest
                counted.update((TICKETS, *words))
        by_number: dict[int, list[str]] = {}
        for word in sorted(counted):
            by_number.setdefault(counted[word], []).append(word)
        for number, words_of_it in by_number.items():
            _count(tx, words_of_it, is_good, number)


def _count(tx: Transaction, words: list[str], is_good: bool, number: int) -> None:
    """Adds a number to the count of each of these words, in one statement."""
    column = "good" if is_good else "bad"

    def build() -> Any:
        table: Any = SPAM_WORD.sql
        source = listed_values(slot(0), "TEXT", "words")
        query = peewee.Select((source,), (source.each, slot(1), slot(2)))
        # Without WHERE, SQLite parses the ON of ON CONFLICT as a join condition.
        counted = table.insert(query.where(TRUE), columns=[table.word, table.good, table.bad])
        return counted.on_conflict(
            conflict_target=[table.word], update={getattr(table, column): getattr(table, column) + slot(3)}
        )

    tx.later(build, (json.dumps(words), number * is_good, number * (not is_good), number))
