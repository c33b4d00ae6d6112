"""The conversations of the last year, generated from stories, people and one seed, without a database.

A conversation follows working days until now. Its outcome depends on the author of the last message."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random

from server.dataclass import dataclass
from server.first_start.demo import desk
from server.first_start.demo.demo_files import DemoFile, file_of
from server.first_start.demo.desk import Person
from server.first_start.demo.stories import Story, Turn, stories
from server.first_start.demo.story_words import Words, days_around

TICKETS = 520
SPAM, DELETED = 18, 6  # included in TICKETS
MINE, MINE_WAITING = 8, 3  # open and waiting tickets of the first administrator
SEED = 2027
HOUR, DAY = 3600, 86400  # seconds
MAIL, REPLY, NOTE, TAKE, END = "mail", "reply", "note", "take", "end"

OPEN, WAITING, CLOSED = "open", "waiting", "closed"
UNWANTED_DAYS = 24  # deleted tickets are purged after some time
OPEN_HOUR, CLOSE_HOUR = 7, 17  # UTC
STALLED = 0.2  # share of recent conversations that wait for a long time
STALLED_DAYS = 5  # the longest time that customers wait for a reply
BUSY = (2, 5, 10, 14, 13, 11, 7, 8, 11, 10, 8, 5, 4, 3, 2)  # new tickets by hour of the day, from six in UTC
RESPONSE_HOURS = 8  # office hours until the first response is due
DUE_MINUTES = (-620, -410, -190, -45, 20, 40, 90, 150, 260, 420)  # office minutes until unanswered tickets are due

Quoted = tuple[int, str, str]  # (time, author, text)
NOT_QUOTED = (0, "", "")


@dataclass(frozen=True, slots=True)
class Step:
    """An event of the plan. kind: mail (from a customer), reply, note, take (a worker takes the ticket), end (it is
    closed or deleted). text: Markdown. quoted: the reply below it. status: of the ticket afterwards."""

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
    """One ticket with all its steps. next_mail: the customer's next reply, None at the end of the story."""

    number: int
    story: Story
    customer: Person
    subject: str
    steps: list[Step] = field(default_factory=list)
    next_mail: Step | None = None

    @property
    def tags(self) -> list[str]:
        """Names of the tags that its subject, first mail and customer have."""
        text = f"{self.subject}\n{self.steps[0].text}".lower()
        return [
            each["name"]
            for each in desk.content()["tag"]
            if self.customer.org in each.get("orgs", ()) or any(word in text for word in each.get("words", ()))
        ]

    @property
    def fields(self) -> dict[str, str]:
        """The values of its custom fields by their names, which its subject or first mail contains."""
        text = f"{self.subject}\n{self.steps[0].text}"
        values = {}
        for each in desk.content()["field"]:
            options = [option for option in each.get("options", ()) if option.lower() in text.lower()]
            found = re.search(each["pattern"], text) if "pattern" in each else None
            if options or found:
                values[each["name"]] = options[0] if options else found[0]  # type: ignore[index]
        return values

    def waits_for(self, step: Step) -> str:
        """Returns the name of the status after a reply, "" for none: of one that waits for parts, or for an answer."""
        if step.status != WAITING or self.story.ends != CLOSED:
            return ""
        names = [each["name"] for each in desk.content()["status"] if self.story.group in each["groups"]]
        return names[self.number % len(names)] if names and self.number % 5 else ""

    @property
    def status(self) -> str:
        """The status after the last step."""
        return self.steps[-1].status


def conversations(now: int) -> list[PlannedTicket]:
    """Returns all tickets of the year before `now` (Unix seconds), the oldest first."""
    rand = Random(SEED)
    new = _new(rand, now)
    starts = [*_legitimate(rand, now), *_unwanted(rand, now), *new]
    starts.sort(key=lambda each: each[0])
    return [
        _Conversation(rand, now, number, start, story).build(is_new=(start, story) in new)
        for number, (start, story) in enumerate(starts, 1)
    ]


def for_first_administrator(tickets: Sequence[PlannedTicket], now: int) -> list[PlannedTicket]:
    """Returns open and waiting tickets for the first administrator: late ones, some due soon, some with files, some
    answered before, and waiting ones that their customers will reply to."""
    recent = [each for each in tickets[::-1] if each.story.ends == CLOSED]
    unanswered = [each for each in recent if each.status == OPEN and not _is_answered(each)]
    answered = [each for each in recent if each.status == OPEN and _is_answered(each)]
    late_before, soon_before = (
        _office_time_before(now, hours * HOUR) for hours in (RESPONSE_HOURS, RESPONSE_HOURS - 1)
    )
    late = [each for each in unanswered if each.steps[0].at < late_before]
    soon = [each for each in unanswered if late_before <= each.steps[0].at < soon_before]
    with_files = [each for each in unanswered if each.steps[0].files]
    chosen = [*late[:2], *soon[:2], *with_files[:2], *answered[:2], *unanswered, *answered]
    waiting = [each for each in recent if each.status == WAITING and each.next_mail is not None]
    return [*_distinct(chosen)[:MINE], *waiting[:MINE_WAITING]]


def _distinct(tickets: Sequence[PlannedTicket]) -> list[PlannedTicket]:
    """Returns the first ticket of each story."""
    firsts: dict[Story, PlannedTicket] = {}
    for each in tickets:
        firsts.setdefault(each.story, each)
    return list(firsts.values())


def _is_answered(ticket: PlannedTicket) -> bool:
    return any(each.kind == REPLY for each in ticket.steps)


def _new(rand: Random, now: int) -> list[tuple[int, Story]]:
    """Returns starts and stories of unanswered tickets whose first response is due soon, or overdue, in office hours;
    every second one has files or HTML."""
    closed = [each for each in stories() if each.ends == CLOSED and each.who != "sales"]
    rich = rand.sample([each for each in closed if each.files or each.is_html], len(DUE_MINUTES) // 2)
    plain = rand.sample([each for each in closed if each not in rich], len(DUE_MINUTES) - len(rich))
    texts = [story for pair in zip(rich, plain, strict=True) for story in pair]
    return [
        (_office_time_before(now, RESPONSE_HOURS * HOUR - minutes * 60), story)
        for minutes, story in zip(DUE_MINUTES, texts, strict=True)
    ]


def _legitimate(rand: Random, now: int) -> Iterator[tuple[int, Story]]:
    """Yields starts and stories of legitimate tickets: more recent than old ones, and no story twice in a row."""
    count = TICKETS - SPAM - DELETED - len(DUE_MINUTES)
    ages = sorted((365 * rand.random() ** 1.7 for _ in range(count)), reverse=True)
    for age, story in zip(ages, _rounds(rand, [each for each in stories() if each.ends == CLOSED]), strict=False):
        at = _day_time(rand, now - int(age * DAY))
        yield min(_busy_time(rand, at) if age > 2 else at, now - rand.randint(600, 2 * HOUR)), story


def _unwanted(rand: Random, now: int) -> Iterator[tuple[int, Story]]:
    for ends, count in (("spam", SPAM), ("deleted", DELETED)):
        for story in islice(_rounds(rand, [each for each in stories() if each.ends == ends]), count):
            yield now - rand.randint(2 * HOUR, UNWANTED_DAYS * DAY), story


def _rounds(rand: Random, choices: list[Story]) -> Iterator[Story]:
    """Yields all values in a random order, over and over."""
    while True:
        yield from rand.sample(choices, len(choices))


class _Conversation:
    """Generates one conversation."""

    def __init__(self, rand: Random, now: int, number: int, start: int, story: Story) -> None:
        # A separate generator, so that the length of one conversation does not change later ones.
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
        # The mail programs of some customers write HTML.
        self._is_html = sum(customer.email.encode()) % 3 == 0
        self._ticket = PlannedTicket(number, story, customer, _sentence(self._words.say(story.subject)))

    def build(self, *, is_new: bool) -> PlannedTicket:
        """Returns the ticket with all steps until now. is_new: whether nobody has replied yet."""
        story = self._story
        self._write(story.text, story.files, is_html=story.is_html or self._is_html, is_first=True)
        if story.ends != CLOSED:
            self._drop()
            return self._ticket
        stall, place = 0 if is_new else self._stall(), 0
        for place, turn in enumerate(story.turns):
            if place == stall or not self._take_turn(turn, place + 1 == len(story.turns)):
                break
        else:
            self._close()
        self._settle()
        if self._ticket.status == WAITING and story.turns[place].who == "them":
            self._ticket.next_mail = self._upcoming(story.turns[place])
        return self._ticket

    def _place(self, customer: Person) -> dict[str, str]:
        return {"city": desk.cities()[customer.org]} if customer.org else {}

    def _stall(self) -> int:
        """Returns the turn that stalls, len(turns) if none does. Only customers take longer than some days."""
        age, turns = self._now - self._at, self._story.turns
        is_late = age < 90 * DAY and self._rand.random() < STALLED
        place = self._rand.randrange(len(turns)) if is_late else len(turns)
        return place if age < STALLED_DAYS * DAY or (is_late and turns[place].who == "them") else len(turns)

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
        words, customer = self._words, self._ticket.customer
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

    def _upcoming(self, turn: Turn) -> Step:
        """Returns the next mail of the customer, which the plan leaves out."""
        self._write(turn.text, (turn.file,) if turn.file else (), is_html=self._is_html)
        return self._ticket.steps.pop()

    def _quoted(self) -> Quoted:
        """Returns the last reply as a quotation, as most mail programs add it."""
        sent = [each for each in self._ticket.steps if each.kind == REPLY]
        if not sent or self._rand.random() < 0.3:
            return NOT_QUOTED
        return sent[-1].at, sent[-1].by.name, sent[-1].text

    def _answer(self, turn: Turn, is_last: bool) -> None:
        is_taken = any(each.kind == REPLY for each in self._ticket.steps)
        if not is_taken or self._rand.random() < 0.85:
            by = self._worker
        else:  # the worker is on holiday: a colleague replies
            by = self._rand.choice(desk.members(self._story.group))
        words = self._words
        said = (words.one_of("hello_us"), _sentence(words.say(turn.text)), words.one_of("bye_us", worker=by.name))
        files = (file_of(turn.file, words, self._rand),) if turn.file else ()
        self._add(REPLY, by, "\n\n".join(said), files, is_html=True, status=CLOSED if is_last else WAITING)

    def _close(self) -> None:
        """Closes a ticket that ends with the customer's thanks."""
        if self._ticket.steps[-1].status != CLOSED and self._pass("us"):
            self._add(END, self._worker, status=CLOSED)

    def _drop(self) -> None:
        if self._pass("us"):
            self._add(END, self._worker, status=self._story.ends)

    def _settle(self) -> None:
        """Assigns unfinished work to a worker, or lets it wait for a day."""
        last = self._ticket.steps[-1]
        if last.status == WAITING and self._rand.random() < 0.6:
            day = self._now // DAY + self._rand.randint(1, 14)
            self._ticket.steps[-1] = replace(last, reopen_at=day * DAY + 9 * HOUR)
        has_owner = any(each.kind == REPLY for each in self._ticket.steps)
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
        steps = self._ticket.steps
        status = status or (steps[-1].status if steps else OPEN)
        steps.append(Step(self._at, kind, by, text, files, is_html, quoted, status))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _day_time(rand: Random, at: int) -> int:
    """Returns a time at which people write mail: rarely at night and on weekends. Moves it earlier rather than
    later."""
    moment = datetime.fromtimestamp(at, UTC)
    if moment.weekday() >= 5 and rand.random() < 0.7:
        moment -= timedelta(days=2)
    if not 6 <= moment.hour < 21:
        moment = moment.replace(hour=rand.randint(7, 20))
    return int(moment.timestamp())


def _office_time_before(now: int, seconds: int) -> int:
    """Returns the time since which this many seconds of office hours have passed, in UTC."""
    day = now // DAY * DAY
    while True:
        opened, closed = day + OPEN_HOUR * HOUR, min(day + CLOSE_HOUR * HOUR, now)
        passed = max(closed - opened, 0) if _is_working_day(datetime.fromtimestamp(day, UTC)) else 0
        if passed >= seconds:
            return closed - seconds
        seconds, day = seconds - passed, day - DAY


def _busy_time(rand: Random, at: int) -> int:
    """Returns a time of the same day: most often in the morning, less at noon, and sometimes in the evening."""
    hour = rand.choices(range(6, 6 + len(BUSY)), BUSY)[0]
    return at // DAY * DAY + hour * HOUR + rand.randrange(HOUR)


def _is_working_day(day: datetime) -> bool:
    is_holiday = any((each.month, each.day) == (day.month, day.day) for each in desk.holidays())
    return day.weekday() < 5 and not is_holiday


def _working_time(rand: Random, at: int) -> int:
    """Returns the time itself during office hours, else their next beginning."""
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
