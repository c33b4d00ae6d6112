"""Who writes what when: the conversations of a year until now, of stories, people and one seed. Touches no database.

A conversation goes on in the rhythm of working days, as far as there is time until now. What becomes of it follows from
who wrote last."""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random

from server.dataclass import dataclass
from server.first_start.demo import desk
from server.first_start.demo.desk import Person
from server.first_start.demo.files import DemoFile, file_of
from server.first_start.demo.stories import Story, Turn, stories
from server.first_start.demo.words import Words, days_around

TICKETS = 400
SPAM, DELETED = 18, 6  # of these
MINE = 8  # assigned to the administrator who loads the demo
SEED = 2027
HOUR, DAY = 3600, 86400  # seconds
MAIL, REPLY, NOTE, TAKE, END = "mail", "reply", "note", "take", "end"
GIVE = "give"  # the last thing: to who fills the service

OPEN, WAITING, CLOSED = "open", "waiting", "closed"
UNWANTED_DAYS = 24  # deleted tickets are purged some time later
OPEN_HOUR, CLOSE_HOUR = 7, 17  # UTC
STALLED = 0.2  # of the recent conversations wait for a long time

Quoted = tuple[int, str, str]  # when it was written, by whom, what
NOT_QUOTED = (0, "", "")


@dataclass(frozen=True, slots=True)
class Step:
    """An event of the plan. kind: mail (from a customer), reply, note, take (somebody takes the ticket), end (it is
    closed or deleted), give. text: Markdown. quoted: the reply below it. status: of the ticket afterwards."""

    at: int
    kind: str
    by: Person
    text: str = ""
    files: tuple[DemoFile, ...] = ()
    is_html: bool = False
    quoted: Quoted = NOT_QUOTED
    status: str = ""
    reopen_at: int = 0


@dataclass(slots=True)
class PlannedTicket:
    """One ticket, from its first mail to how it stands."""

    number: int
    story: Story
    customer: Person
    subject: str
    steps: list[Step] = field(default_factory=list)


def conversations(now: int) -> list[PlannedTicket]:
    """All tickets of the year before `now` (Unix seconds), the oldest first."""
    rand = Random(SEED)
    told = [*_wanted(rand, now), *_unwanted(rand, now)]
    told.sort(key=lambda each: each[0])
    found = [_Teller(rand, now, number, start, story).tell() for number, (start, story) in enumerate(told, 1)]
    _give_some(rand, now, found)
    return found


def _wanted(rand: Random, now: int) -> Iterator[tuple[int, Story]]:
    """Starts and stories of real tickets: more of late, no story again soon."""
    count = TICKETS - SPAM - DELETED
    ages = sorted((365 * rand.random() ** 1.9 for _ in range(count)), reverse=True)
    for age, story in zip(ages, _rounds(rand, [each for each in stories() if each.ends == CLOSED]), strict=False):
        yield min(_day_time(rand, now - int(age * DAY)), now - rand.randint(600, 2 * HOUR)), story


def _unwanted(rand: Random, now: int) -> Iterator[tuple[int, Story]]:
    for ends, count in (("spam", SPAM), ("deleted", DELETED)):
        for story in islice(_rounds(rand, [each for each in stories() if each.ends == ends]), count):
            yield now - rand.randint(2 * HOUR, UNWANTED_DAYS * DAY), story


def _rounds(rand: Random, listed: list[Story]) -> Iterator[Story]:
    """All values in a random order, again and again."""
    while True:
        yield from rand.sample(listed, len(listed))


def _give_some(rand: Random, now: int, told: Sequence[PlannedTicket]) -> None:
    """Assigns a part of the open work to the administrator who loads the demo."""
    undone = [each for each in told if each.steps[-1].status == OPEN and now - each.steps[-1].at < 20 * DAY]
    for each in rand.sample(undone, min(MINE, len(undone))):
        last = each.steps[-1]
        each.steps.append(Step(min(last.at + HOUR // 4, now), GIVE, desk.members(each.story.group)[0]))


class _Teller:
    """Tells one conversation."""

    def __init__(self, rand: Random, now: int, number: int, start: int, story: Story) -> None:
        # A generator of its own, so that the length of one conversation does not change later ones.
        self._rand = Random(f"{SEED} {number}")
        self._now = now
        self._at = start
        self._story = story
        self._worker = self._rand.choice(desk.members(story.group))
        customer = self._rand.choice(desk.customers()[story.who])
        colleague = self._rand.choice(desk.members(story.group))
        self._words = Words(
            self._rand,
            {
                "name": customer.name,
                "first": customer.first_name,
                "shop": customer.org or customer.name,
                "host": customer.email.rpartition("@")[2],
                "worker2": colleague.first_name,
                **days_around(start, self._rand),
                **self._place(customer),
            },
        )
        # Some people's programs write HTML, others' do not.
        self._is_html = sum(customer.email.encode()) % 3 == 0
        self._told = PlannedTicket(number, story, customer, _sentence(self._words.say(story.subject)))

    def tell(self) -> PlannedTicket:
        """The whole of it until now."""
        story = self._story
        self._write(story.text, story.files, is_html=story.is_html or self._is_html, is_first=True)
        if story.ends != CLOSED:
            self._drop()
            return self._told
        stall = self._stall()
        for place, turn in enumerate(story.turns):
            if place == stall or not self._take_turn(turn, place + 1 == len(story.turns)):
                break
        else:
            self._close()
        self._settle()
        return self._told

    def _place(self, customer: Person) -> dict[str, str]:
        return {"city": desk.cities()[customer.org]} if customer.org else {}

    def _stall(self) -> int:
        """The turn that does not come for long, len(turns) for none."""
        is_late = self._now - self._at < 90 * DAY and self._rand.random() < STALLED
        return self._rand.randrange(len(self._story.turns)) if is_late else len(self._story.turns)

    def _take_turn(self, turn: Turn, is_last: bool) -> bool:
        """Adds the next message; False if it would be in the future."""
        if not self._pass(turn.who):
            return False
        if turn.who == "them":
            self._write(turn.text, (turn.file,) if turn.file else (), is_html=self._is_html)
        elif turn.who == "note":
            self._add(NOTE, self._rand.choice(desk.members(self._story.group)), _sentence(self._words.say(turn.text)))
        else:
            self._answer(turn, is_last)
        return True

    def _pass(self, who: str) -> bool:
        """Advances the time to the next message; False if that is in the future."""
        if who == "them":
            at = self._at + int(self._rand.expovariate(1 / 11) * HOUR) + HOUR // 6
            at = max(_day_time(self._rand, at), self._at + HOUR // 6)
        else:
            mean_hours = 0.7 if who == "note" else 7
            at = _working_time(self._rand, self._at + int(self._rand.expovariate(1 / mean_hours) * HOUR) + HOUR // 10)
        if at >= self._now:
            return False
        self._at = at
        return True

    def _write(self, text: str, files: tuple[str, ...], *, is_html: bool, is_first: bool = False) -> None:
        words, customer = self._words, self._told.customer
        said = words.say(text)
        if self._story.who != "spam":
            hello = words.one_of("hello_them") if is_first or self._rand.random() < 0.5 else ""
            said = "\n\n".join(filter(None, (hello, _sentence(said), words.one_of("bye_them"))))
        self._add(
            MAIL,
            customer,
            said,
            tuple(file_of(each, self._words, self._rand) for each in files),
            is_html=is_html,
            quoted=self._quoted(),
            status=OPEN,
        )

    def _quoted(self) -> Quoted:
        """The last reply, as most programs put it below an answer."""
        sent = [each for each in self._told.steps if each.kind == REPLY]
        if not sent or self._rand.random() < 0.3:
            return NOT_QUOTED
        return sent[-1].at, sent[-1].by.name, sent[-1].text

    def _answer(self, turn: Turn, is_last: bool) -> None:
        is_taken = any(each.kind == REPLY for each in self._told.steps)
        if not is_taken or self._rand.random() < 0.85:
            by = self._worker
        else:  # the worker is on holiday: a colleague replies
            by = self._rand.choice(desk.members(self._story.group))
        words = self._words
        said = (words.one_of("hello_us"), _sentence(words.say(turn.text)), words.one_of("bye_us", worker=by.name))
        files = (file_of(turn.file, words, self._rand),) if turn.file else ()
        self._add(REPLY, by, "\n\n".join(said), files, is_html=True, status=CLOSED if is_last else WAITING)

    def _close(self) -> None:
        """Nobody replies to thanks; somebody closes the ticket."""
        if self._told.steps[-1].status != CLOSED and self._pass("us"):
            self._add(END, self._worker, status=CLOSED)

    def _drop(self) -> None:
        if self._pass("us"):
            self._add(END, self._worker, status=self._story.ends)

    def _settle(self) -> None:
        """Unfinished work is taken by somebody, or waits for a day."""
        last = self._told.steps[-1]
        if last.status == WAITING and self._rand.random() < 0.6:
            self._told.steps[-1] = replace(last, reopen_at=self._now + self._rand.randint(1, 14) * DAY)
        has_owner = any(each.kind == REPLY for each in self._told.steps)
        if not has_owner and last.status == OPEN and self._rand.random() < 0.4 and self._pass("note"):
            self._add(TAKE, self._worker, status=OPEN)

    def _add(
        self,
        kind: str,
        by: Person,
        text: str = "",
        files: tuple[DemoFile, ...] = (),
        *,
        is_html: bool = False,
        quoted: Quoted = NOT_QUOTED,
        status: str = "",
    ) -> None:
        steps = self._told.steps
        status = status or (steps[-1].status if steps else OPEN)
        steps.append(Step(self._at, kind, by, text, files, is_html, quoted, status))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _day_time(rand: Random, at: int) -> int:
    """A time at which people write mail: nearly never at night, seldom on weekends. Earlier rather than later."""
    moment = datetime.fromtimestamp(at, UTC)
    if moment.weekday() >= 5 and rand.random() < 0.7:
        moment -= timedelta(days=2)
    if not 6 <= moment.hour < 21:
        moment = moment.replace(hour=rand.randint(7, 20))
    return int(moment.timestamp())


def _working_time(rand: Random, at: int) -> int:
    """The same time, or the next at which the desk is open."""
    moment = datetime.fromtimestamp(at, UTC)
    if moment.hour >= CLOSE_HOUR:
        moment = _opening(rand, moment + timedelta(days=1))
    elif moment.hour < OPEN_HOUR:
        moment = _opening(rand, moment)
    if moment.weekday() >= 5:
        moment = _opening(rand, moment + timedelta(days=7 - moment.weekday()))
    return int(moment.timestamp())


def _opening(rand: Random, day: datetime) -> datetime:
    return day.replace(hour=OPEN_HOUR, minute=0, second=0) + timedelta(seconds=rand.randint(300, 3 * HOUR))
