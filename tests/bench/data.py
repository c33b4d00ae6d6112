"""The contents of the bench's tickets, computed only from their numbers (`Sample`), so that all machines measure the
same.

loading.py stores them in a database."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

RARE_WORD = "quartzite"  # occurs in RARE_TICKETS tickets, whatever the total number
RARE_TICKETS = 50
VOCABULARY = 3000
MESSAGE_BYTES = 1000
BYTES_A_WORD = 7  # including the space
PHRASES, PHRASE_WORDS = 10_000, 20  # messages consist of these phrases, since choosing single words would take minutes
SUBJECT_WORDS = 6
SENDERS = 500
LAST_CREATED = 1_795_000_000  # Unix seconds
SECONDS_APART, MOST_SECONDS = 600, 300_000_000  # 100,000 tickets span two years, larger numbers less than ten
GROUPS = ("Depot", "Sales", "Workshop")  # in addition to the default one
ORGS, ACME_EVERY = 500, 50  # each fiftieth organization is called Acme and a number
OWNERS = 8
TIERS = ("Gold", "Silver", "Bronze")  # a picklist on tickets; the other custom field is a text
REFUND_WORD, REFUND_EVERY = "refund", 20  # in one message of each twentieth ticket
PHRASES_A_MESSAGE = MESSAGE_BYTES // BYTES_A_WORD // PHRASE_WORDS
SHAPE = 6  # increased when the data changes, so that older copies are not reused
OPEN_EVERY, WAITING_EVERY = (
    5,
    7,
)  # each fifth ticket is open, each seventh other waits, the rest are closed


@dataclass(frozen=True)
class Sample:
    """A ticket to load, determined by its number and `count`. Its texts are created on access, as they take most of
    the time."""

    number: int
    count: int

    @property
    def created(self) -> int:
        """Unix seconds."""
        return LAST_CREATED - (self.count - self.number) * min(SECONDS_APART, MOST_SECONDS // self.count)

    @property
    def status(self) -> int:
        """The number of the status, as in the API."""
        return 0 if self.number % OPEN_EVERY == 0 else 1 if self.number % WAITING_EVERY == 0 else 2

    @property
    def sender(self) -> int:
        """The number of an address."""
        return self.number % SENDERS

    @property
    def size(self) -> int:
        """The number of its messages."""
        return 2 + self.number % 2

    @property
    def first_message(self) -> int:
        """The id of its first message; ids increase with the tickets."""
        return 1 + 2 * (self.number - 1) + self.number // 2

    def subject(self) -> str:
        """A line of invented words."""
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
    """Returns tickets 1 to count."""
    return (Sample(number, count) for number in range(1, count + 1))


def sender_of(number: int) -> str:
    """Returns the address of a sender, from 0 to SENDERS - 1."""
    return f"customer{number}@example.com"


def org_name(number: int) -> str:
    """Returns the name of an organization, from 0 to ORGS - 1."""
    return f"{'Acme' if number % ACME_EVERY == 0 else 'Larch'} {number}"


def text(chance: random.Random) -> str:
    """Returns about MESSAGE_BYTES of invented words, some frequent and most rare, as in real text."""
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
    """Returns cumulative weights for `choices`; the n-th word is n times rarer than the first."""
    return tuple(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
