"""Words counted from trained tickets, and the resulting scores."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.mailroom import Receipt
from server.store.transaction import Transaction
from server.tickets import spam
from tests.desk.mailroom import Desk, mail


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


_NUMBERS = itertools.count()  # equal bytes would be the same mail


def trained(desk: Desk, verdict: str, body: str, times: int = 5, sender: str = "ann@kite.example") -> list[Receipt]:
    """Receives this number of tickets with one text, and trains them."""
    received = [
        desk.receive(mail(body, From=sender, Subject=f"n{number}", X_Number=f"{next(_NUMBERS)}"))
        for number in range(times)
    ]
    assert all(train(desk, each, verdict) for each in received)
    return received


def train(desk: Desk, received: Receipt, verdict: str) -> bool:
    trained = bool(desk.write(lambda writing: spam.train(writing, received.ticket_id, verdict)))
    spam.learn_all(desk.service, 0)
    return trained


def score(desk: Desk, *words: str) -> float:
    return float(desk.read(lambda tx: spam.score(tx, words)))


def test_words_of_spam_raise_the_score_of_new_mail_and_good_words_lower_it(desk: Desk) -> None:
    trained(desk, spam.SPAM, "lottery prizes winner")
    trained(desk, spam.GOOD, "pumps valve leaking")
    assert desk.ticket(desk.receive(mail("lottery prizes", Subject="winner")))["spam_score"] > 0.9
    assert desk.ticket(desk.receive(mail("pumps valve", Subject="leaking")))["spam_score"] < 0.1


def test_a_word_seen_fewer_than_five_times_has_no_weight(desk: Desk) -> None:
    trained(desk, spam.SPAM, "lottery", times=4)
    assert score(desk, "lottery") == pytest.approx(0.4)
    trained(desk, spam.SPAM, "lottery", times=1)
    assert score(desk, "lottery") == pytest.approx(0.9999)


def test_many_unknown_words_count_as_fifteen(desk: Desk) -> None:
    assert score(desk, *(f"word{number}" for number in range(400))) == pytest.approx(0.0023, abs=1e-4)


def test_tickets_trained_together_count_one_by_one(desk: Desk) -> None:
    judged = [("lottery prizes", spam.SPAM), ("lottery", spam.SPAM), ("pumps lottery", spam.GOOD), ("pumps", spam.GOOD)]
    for number, (body, verdict) in enumerate(judged):
        received = desk.receive(mail(body, Subject=f"n{number}"))
        desk.write(lambda writing, id=received.ticket_id, verdict=verdict: spam.train(writing, id, verdict))
    for _ in range(2):  # a ticket is trained once
        spam.learn_all(desk.service, 0)
        counted = {row[0]: row[1:] for row in desk.read(lambda tx: tx.find(spam.SPAM_WORD))}
        assert [counted[word] for word in ("lottery", "prizes", "pumps", spam.TICKETS)] == [
            (1, 2), (0, 1), (2, 0), (2, 2),
        ]  # fmt: skip


def test_training_marks_the_ticket_and_counts_its_sender(desk: Desk) -> None:
    [bad, *_] = trained(desk, spam.SPAM, "lottery")
    [good, *_] = trained(desk, spam.GOOD, "pumps", sender="bo@oak.example")
    assert (desk.ticket(bad)["spam_training"], desk.ticket(bad)["spam_score"]) == ("S", 0.9999)
    assert (desk.ticket(good)["spam_training"], desk.ticket(good)["spam_score"]) == ("N", 0.0001)
    assert desk.one("address", email="ann@kite.example")["num_spam"] == 5
    assert desk.one("address", email="bo@oak.example")["num_nonspam"] == 5


def test_a_ticket_trains_once(desk: Desk) -> None:
    [received] = trained(desk, spam.SPAM, "lottery", times=1)
    before = desk.counts()
    assert not train(desk, received, spam.SPAM) and not train(desk, received, spam.GOOD)
    assert desk.counts() == before and desk.ticket(received)["spam_training"] == "S"
    assert not desk.write(lambda writing: spam.train(writing, 999, spam.SPAM))


def test_a_score_takes_one_statement_whatever_the_number_of_words(desk: Desk) -> None:
    def statements(tx: Transaction) -> int:
        before = tx.statements
        spam.score(tx, [f"word{number}" for number in range(400)])
        return tx.statements - before

    assert desk.read(statements) == 1
