"""What the tickets of a bench say, from their numbers alone (`Sample`), so that two machines measure the same.

Not for how they get into a database (loading.py)."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

RARE_WORD = "quartzite"  # stands in RARE_TICKETS tickets, whatever their number in all
RARE_TICKETS = 50
VOCABULARY = 3000
MESSAGE_BYTES = 1000
BYTES_A_WORD = 7  # with the blank
PHRASES, PHRASE_WORDS = 10_000, 20  # that messages are put together from, as their words would take minutes to choose
SUBJECT_WORDS = 6
SENDERS = 500
LAST_CREATED = 1_795_000_000  # Unix seconds
SECONDS_APART, MOST_SECONDS = 600, 300_000_000  # 100,000 tickets come over two years, many over less than ten
GROUPS = ("Depot", "Sales", "Workshop")  # beside the default one
ORGS, ACME_EVERY = 500, 50  # each fiftieth organization is called Acme and a number
OWNERS = 8
TIERS = ("Gold", "Silver", "Bronze")  # a picklist on tickets; the other custom field is a text
REFUND_WORD, REFUND_EVERY = "refund", 20  # in one message of each twentieth ticket
PHRASES_A_MESSAGE = MESSAGE_BYTES // BYTES_A_WORD // PHRASE_WORDS
SHAPE = 5  # raised when the data is another, so that no older copy is taken for it
OPEN_EVERY, WAITING_EVERY = 5, 7  # each fifth ticket is open, of the others each seventh is waiting, the rest closed


@dataclass(frozen=True)
class Sample:
    """One ticket to load, by its number among `count`; always the same for the same two. What it says is made when it
    is asked for, as it takes most of the time."""

    number: int
    count: int

    @property
    def created(self) -> int:
        """Unix seconds."""
        return LAST_CREATED - (self.count - self.number) * min(SECONDS_APART, MOST_SECONDS // self.count)

    @property
    def status(self) -> int:
        """As in the API."""
        return 0 if self.number % OPEN_EVERY == 0 else 1 if self.number % WAITING_EVERY == 0 else 2

    @property
    def sender(self) -> int:
        """The number of an address."""
        return self.number % SENDERS

    @property
    def size(self) -> int:
        """How many messages it has."""
        return 2 + self.number % 2

    @property
    def first_message(self) -> int:
        """The id of the first; ids rise with the tickets."""
        return 1 + 2 * (self.number - 1) + self.number // 2

    def subject(self) -> str:
        """A line of made-up words."""
        return " ".join(_choose(random.Random(2 * self.number), SUBJECT_WORDS))

    def messages(self) -> list[str]:
        """Texts of about MESSAGE_BYTES, the oldest first."""
        chance, phrases = random.Random(2 * self.number + 1), _phrases()
        made = [" ".join(chance.choices(phrases, k=PHRASES_A_MESSAGE)) for _ in range(self.size)]
        if self.number % max(self.count // RARE_TICKETS, 1) == 0:
            made[0] += f" {RARE_WORD}"
        if self.number % REFUND_EVERY == 0:
            made[-1] += f" {REFUND_WORD}"
        return made


def samples(count: int) -> Iterator[Sample]:
    """Tickets 1 to count."""
    return (Sample(number, count) for number in range(1, count + 1))


def sender_of(number: int) -> str:
    """The address of a sender, from 0 to SENDERS - 1."""
    return f"customer{number}@example.com"


def org_name(number: int) -> str:
    """The name of an organization, from 0 to ORGS - 1."""
    return f"{'Acme' if number % ACME_EVERY == 0 else 'Larch'} {number}"


def text(chance: random.Random) -> str:
    """About MESSAGE_BYTES of made-up words, some frequent and most rare, as in real text."""
    return " ".join(_choose(chance, MESSAGE_BYTES // BYTES_A_WORD))


def _choose(chance: random.Random, number: int) -> list[str]:
    return chance.choices(_words(), cum_weights=_weights(), k=number)


@cache
def _phrases() -> tuple[str, ...]:
    chance = random.Random(1)
    return tuple(" ".join(_choose(chance, PHRASE_WORDS)) for _ in range(PHRASES))


@cache
def _words() -> tuple[str, ...]:
    chance = random.Random(0)
    syllables = [first + second for first in "bdfgklmnprstv" for second in "aeiou"]
    return tuple("".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(VOCABULARY))


@cache
def _weights() -> tuple[float, ...]:
    """Cumulated, as `choices` wants them; the n-th word is n times rarer than the first."""
    return tuple(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
