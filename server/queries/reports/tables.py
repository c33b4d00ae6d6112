"""The tables of figures that each report consists of."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from server import contexts
from server.counting.bins import WEEKDAYS
from server.counting.dimensions.dimension import Member
from server.dataclass import dataclass
from server.queries.reports.figures import Figure, Figures, Measure
from server.queries.reports.ranges import DayRange
from server.record_types.shared.custom import definitions
from server.translation import N_, Words

MAX_ROWS = 50  # values of a field, those with the most records
MAX_FIELDS = 20  # custom fields in a report
CHOICES = frozenset(("C", "D", "W", "X"))  # kinds of custom fields with few values
HOURS = range(24)
MEDIAN, MOST = N_("median"), N_("90 %")

CREATED = Measure("created", N_("Created"), "created:{span}")
CLOSED = Measure("closed", N_("Closed"), "closed:{span}")
RECEIVED = Measure("received", N_("Messages received"), "created:{span} isOutgoing:no", "message")
REPLIES = Measure("replies", N_("Messages sent"), "created:{span} isOutgoing:yes worker.id:any", "message")
FIRST = Measure("first_response", N_("First response"), "created:{span}", seconds="response.first")
RESOLUTION = Measure("resolution", N_("Resolution"), "closed:{span}", seconds="resolution.first")
ASSIGNED = Measure("assigned", N_("Assigned"), CREATED.q, narrow="owner.id:any")
REPLIED = Measure(
    "replied", N_("Tickets replied to"), "created:{span} isOutgoing:yes worker.id:any", "message", of_tickets=True
)
OWN_CLOSED = Measure("closed", N_("Closed"), "closed:{span} owner.id:any")
# Replies by their time, whatever the age of the ticket.
SENT_FIRST = Measure(
    "first_response", N_("First response"), REPLIES.q, "message", narrow="isFirstResponse:yes", seconds="waited"
)
SENT_NEXT = Measure(
    "next_response", N_("Next response"), REPLIES.q, "message", narrow="isFirstResponse:no", seconds="waited"
)
_RESPONDED = "response.due:!never (response.first:>0 OR missed.response:yes)"
_RESOLVED = "resolution.due:!never (resolution.first:>0 OR missed.resolution:yes)"
RESPONSES_DUE = Measure("responses_due", N_("First responses with a target"), CREATED.q, narrow=_RESPONDED)
RESPONSES_MISSED = Measure("responses_missed", N_("Late first responses"), CREATED.q, narrow="missed.response:yes")
RESPONSES_WITHIN = Measure(
    "responses_within", N_("First response within target"), CREATED.q, narrow=_RESPONDED, good="missed.response:no"
)
NEXT_DUE = Measure(
    "next_responses_due",
    N_("Next responses with a target"),
    "created:{span} isFirstResponse:no target:[met,late]",
    "message",
)
NEXT_MISSED = Measure("next_responses_missed", N_("Late next responses"), NEXT_DUE.q, "message", narrow="target:late")
NEXT_WITHIN = Measure(
    "next_responses_within", N_("Next response within target"), NEXT_DUE.q, "message", good="target:met"
)
RESOLUTIONS_DUE = Measure("resolutions_due", N_("Resolutions with a target"), CREATED.q, narrow=_RESOLVED)
RESOLUTIONS_MISSED = Measure("resolutions_missed", N_("Late resolutions"), CREATED.q, narrow="missed.resolution:yes")
RESOLUTIONS_WITHIN = Measure(
    "resolutions_within", N_("Resolution within target"), CREATED.q, narrow=_RESOLVED, good="missed.resolution:no"
)
RATED = Measure("rated", N_("Ratings"), "rated:{span}", "rating")
RATED_GOOD = Measure("good", N_("Good"), RATED.q, "rating", narrow="score:good", tone="ok")
RATED_BAD = Measure("bad", N_("Bad"), RATED.q, "rating", narrow="score:bad", tone="err")
SHARE_GOOD = Measure("good_share", N_("Share of good"), RATED.q, "rating", good="score:good")
REQUESTED = Measure("asked", N_("Customers asked"), "asked:{span}", "rating")
_RATINGS = (RATED, RATED_GOOD, RATED_BAD, SHARE_GOOD)
_TARGETS = (
    RESPONSES_DUE,
    RESPONSES_MISSED,
    RESPONSES_WITHIN,
    NEXT_DUE,
    NEXT_MISSED,
    NEXT_WITHIN,
    RESOLUTIONS_DUE,
    RESOLUTIONS_MISSED,
    RESOLUTIONS_WITHIN,
)


@dataclass(frozen=True)
class ReportColumn:
    """kind: `count`, `seconds` or `percent`. share: of the records that a time does not exceed: MEDIAN or MOST.
    tone: of the measure."""

    key: str
    label: Words
    kind: str = "count"
    share: Words = ""
    tone: str = ""


@dataclass(frozen=True)
class ReportCell:
    """before: the value in the range before, None if it is not compared. uri, query: the search that finds the counted
    records, "" for none."""

    value: int | None
    before: int | None = None
    uri: str = ""
    query: str = ""


@dataclass(frozen=True)
class ReportRow:
    """key: the id of a record, the day that a step begins with, or another value; None for no value. label: as in the
    API; day: of a step of a time axis, else None."""

    key: Any
    label: Words
    cells: tuple[ReportCell, ...]
    day: date | None = None


@dataclass(frozen=True)
class ReportTable:
    """of: the heading of the first column, "" for the only row of all. chart: `tiles`, `columns`, `rows` or `heat`.
    has_more: whether further rows were left out."""

    name: str
    title: Words
    of: Words
    chart: str
    columns: tuple[ReportColumn, ...]
    rows: list[ReportRow]
    has_more: bool = False


@dataclass(frozen=True)
class ByField:
    """The declaration of a table of measures by the values of a field. fields: {record type: its field}; {} for one row
    of all."""

    name: str
    title: Words
    of: Words
    fields: dict[str, str]
    measures: tuple[Measure, ...]
    chart: str = "rows"

    def table(self, figures: Figures, shown: DayRange, before: DayRange | None) -> ReportTable:
        among = self._among(figures, shown)
        found = figures.measured(self.measures, shown, self.fields, among)
        compared = [each for each in self.measures if before and self._compares(each)]
        then = figures.measured(compared, before, self.fields, among) if before else []
        by_measure = dict(zip(compared, then, strict=True))
        earlier = [by_measure.get(each, {}) for each in self.measures]
        members: dict[Hashable, Member | None] = {}
        for by_key in found:
            for key, figure in by_key.items():
                members.setdefault(key, figure.member)
        keys = sorted(
            members, key=lambda key: (-found[0][key].hits if key in found[0] else 0, _label(members[key]).casefold())
        )
        if not self.fields:
            keys = [None]
        rows = [
            ReportRow(
                _value(members.get(key)),
                _label(members.get(key)),
                tuple(
                    cell
                    for measure, now, then in zip(self.measures, found, earlier, strict=True)
                    for cell in _cells(
                        measure, now.get(key), then.get(key), is_compared=before is not None and self._compares(measure)
                    )
                ),
            )
            for key in keys[:MAX_ROWS]
        ]
        columns = tuple(column for each in self.measures for column in _columns(each))
        return ReportTable(self.name, self.title, self.of, self.chart, columns, rows, len(keys) > MAX_ROWS)

    def _compares(self, measure: Measure) -> bool:
        """Whether a figure is compared: times and shares of each value would take as long as all others together."""
        return not self.fields or not (measure.seconds or measure.good)

    def _among(self, figures: Figures, shown: DayRange) -> str:
        """Returns the term that limits a table to the values with the most records, "" for few values."""
        field = self.fields.get("ticket", "")
        if len(self.fields) != 1 or not field.endswith(".id"):
            return ""
        [leading] = figures.measured(self.measures[:1], shown, self.fields)
        if len(leading) <= MAX_ROWS:
            return ""
        most = sorted(leading.values(), key=lambda each: -each.hits)[: MAX_ROWS + 1]
        return f"{field}:[{','.join(str(each.member.value) for each in most if each.member is not None)}]"


@dataclass(frozen=True)
class ByStep:
    """The declaration of a table of counts by the steps of the time axis."""

    name: str
    title: Words
    measures: tuple[Measure, ...]

    def table(self, figures: Figures, shown: DayRange, before: DayRange | None) -> ReportTable:
        counted = [figures.counted_by_step(each, shown) for each in self.measures]
        rows = [
            ReportRow(
                steps[0][0].label,
                steps[0][0].label,
                tuple(
                    ReportCell(hits, None, each.uri, query if hits else "")
                    for each, (_, hits, query) in zip(self.measures, steps, strict=True)
                ),
                steps[0][0].start.date(),
            )
            for steps in zip(*counted, strict=True)
        ]
        columns = tuple(ReportColumn(each.key, each.label, tone=each.tone) for each in self.measures)
        return ReportTable(self.name, self.title, _STEP_NAMES[shown.step], "columns", columns, rows)


@dataclass(frozen=True)
class ByHour:
    """The declaration of a table of the hours of a week. field: the date that is counted."""

    name: str
    title: Words
    measure: Measure

    def table(self, figures: Figures, shown: DayRange, before: DayRange | None) -> ReportTable:
        field, _, _ = self.measure.q.partition(":")
        q = self.measure.q.replace("{span}", shown.span)
        counted = {
            (member.order.start.isoweekday() % 7, member.order.start.hour): (hits, query)
            for member, hits, query in figures.counted(self.measure.uri, q, f"{field}@hourofdayofweek")
        }
        days = [*range(1, 7), 0] if counted else []
        rows = [
            ReportRow(
                WEEKDAYS[day],
                WEEKDAYS[day],
                tuple(
                    ReportCell(hits, None, self.measure.uri, query)
                    for hits, query in (counted.get((day, hour), (0, "")) for hour in HOURS)
                ),
            )
            for day in days
        ]
        columns = tuple(ReportColumn(f"{hour:02}", f"{hour:02}:00") for hour in HOURS)
        return ReportTable(self.name, self.title, N_("Weekday"), "heat", columns, rows)


@dataclass(frozen=True)
class ByCustomField:
    """The declaration of the tables of custom fields with few values."""

    measures: tuple[Measure, ...]

    def declared(self, figures: Figures) -> Iterator[ByField]:
        fields = definitions(figures.scope.tx).fields_of(contexts.TICKET)
        for each in [each for each in fields if each.kind in CHOICES][:MAX_FIELDS]:
            yield ByField(f"custom_{each.id}", each.name, each.name, {"ticket": f"custom_{each.id}"}, self.measures)


Declared = ByField | ByStep | ByHour | ByCustomField
_STEP_NAMES: dict[str, Words] = {"day": N_("Day"), "week": N_("Week"), "month": N_("Month"), "year": N_("Year")}
_WORKERS = {"ticket": "owner.id", "message": "worker.id"}
_GROUPS = {"ticket": "group.id", "message": "ticket.group.id"}
_BY_TARGET = {"ticket": "target.id", "message": "ticket.target.id"}


@dataclass(frozen=True)
class ReportKind:
    """A report. about: what its figures mean."""

    name: str
    label: Words
    about: Words
    tables: tuple[Declared, ...]

    @property
    def compares(self) -> bool:
        """Whether it has figures of the range before."""
        return any(isinstance(each, ByField) for each in self.tables)

    def run(self, figures: Figures, shown: DayRange, before: DayRange | None) -> list[ReportTable]:
        return [each.table(figures, shown, before) for each in _flat(self.tables, figures)]


def _flat(tables: Sequence[Declared], figures: Figures) -> Iterator[ByField | ByStep | ByHour]:
    for each in tables:
        if isinstance(each, ByCustomField):
            yield from each.declared(figures)
        else:
            yield each


REPORTS = {
    each.name: each
    for each in (
        ReportKind(
            "overview",
            N_("Overview"),
            N_("First responses are those to tickets created in the range; resolutions are of tickets closed in it."),
            (
                ByField(
                    "all",
                    N_("All tickets"),
                    "",
                    {},
                    (CREATED, CLOSED, RECEIVED, REPLIES, FIRST, SENT_NEXT, RESOLUTION, RESPONSES_WITHIN),
                    "tiles",
                ),
                ByStep("tickets", N_("Tickets"), (CREATED, CLOSED)),
                ByStep(
                    "messages",
                    N_("Messages"),
                    (replace(RECEIVED, label=N_("Received")), replace(REPLIES, label=N_("Sent"))),
                ),
            ),
        ),
        ReportKind(
            "groups",
            N_("Groups"),
            N_("Tickets count for the group that they are in now."),
            (
                ByField(
                    "groups",
                    N_("Groups"),
                    N_("Group"),
                    _GROUPS,
                    (CREATED, CLOSED, REPLIES, FIRST, SENT_NEXT, RESOLUTION, RESPONSES_WITHIN),
                ),
            ),
        ),
        ReportKind(
            "workers",
            N_("Workers"),
            N_(
                "Tickets count for the worker who owns them now; assigned are those created in the range. Messages "
                "count for the worker who sent them."
            ),
            (
                ByField(
                    "workers",
                    N_("Workers"),
                    N_("Worker"),
                    _WORKERS,
                    (ASSIGNED, REPLIED, OWN_CLOSED, SENT_FIRST, SENT_NEXT, RESPONSES_WITHIN),
                ),
            ),
        ),
        ReportKind(
            "tags",
            N_("Tags and fields"),
            N_("Tickets with several values count for each of them."),
            (
                ByField("tags", N_("Tags"), N_("Tag"), {"ticket": "tag"}, (CREATED, CLOSED, FIRST, RESOLUTION)),
                ByCustomField((CREATED, CLOSED, FIRST)),
            ),
        ),
        ReportKind(
            "customers",
            N_("Customers"),
            N_("People are the senders of the first message."),
            (
                ByField(
                    "organizations",
                    N_("Organizations"),
                    N_("Organization"),
                    {"ticket": "org.id"},
                    (CREATED, CLOSED, FIRST, RESOLUTION),
                ),
                ByField(
                    "people",
                    N_("People"),
                    N_("Person"),
                    {"ticket": "firstWrote.id"},
                    (CREATED, CLOSED, FIRST),
                ),
            ),
        ),
        ReportKind(
            "hours",
            N_("Busy hours"),
            N_("By hour of the week, in the time zone of the report."),
            (
                ByHour("created", N_("Tickets created"), CREATED),
                ByHour("received", N_("Messages received"), RECEIVED),
                ByHour("sent", N_("Messages sent"), REPLIES),
            ),
        ),
        ReportKind(
            "ratings",
            N_("Ratings"),
            N_(
                "By the day of the rating. Ratings count for the worker and the group that the ticket had when it was "
                "closed."
            ),
            (
                ByField("all", N_("All ratings"), "", {}, (REQUESTED, *_RATINGS), "tiles"),
                ByStep(
                    "ratings",
                    N_("Ratings"),
                    (
                        replace(RATED_GOOD, q=f"{RATED.q} {RATED_GOOD.narrow}", narrow=""),
                        replace(RATED_BAD, q=f"{RATED.q} {RATED_BAD.narrow}", narrow=""),
                    ),
                ),
                ByField("groups", N_("Groups"), N_("Group"), {"rating": "group.id"}, _RATINGS),
                ByField("workers", N_("Workers"), N_("Worker"), {"rating": "worker.id"}, _RATINGS),
                ByField("tags", N_("Tags"), N_("Tag"), {"rating": "ticket.tag"}, _RATINGS),
            ),
        ),
        ReportKind(
            "targets",
            N_("Service targets"),
            N_(
                "Tickets created in the range whose first response or resolution has happened or is overdue, and next "
                "responses that were sent in it."
            ),
            (
                ByField("all", N_("All tickets"), "", {}, _TARGETS, "tiles"),
                ByField(
                    "targets",
                    N_("Service targets"),
                    N_("Service target"),
                    {"ticket": "target.id", "message": "ticket.target.id"},
                    _TARGETS,
                ),
                ByField("groups", N_("Groups"), N_("Group"), _GROUPS, _TARGETS),
            ),
        ),
    )
}


def _columns(measure: Measure) -> tuple[ReportColumn, ...]:
    if measure.seconds:
        return (
            ReportColumn(f"{measure.key}_median", measure.label, "seconds", MEDIAN),
            ReportColumn(f"{measure.key}_90", measure.label, "seconds", MOST),
        )
    return (ReportColumn(measure.key, measure.label, "percent" if measure.good else "count"),)


def _cells(measure: Measure, figure: Figure | None, earlier: Figure | None, is_compared: bool) -> Iterator[ReportCell]:
    is_count = not (measure.seconds or measure.good)
    none: tuple[int | None, ...] = (0,) if is_count else (None,) * len(_columns(measure))
    values = figure.values if figure is not None else none
    before = (earlier.values if earlier is not None else none) if is_compared else (None,) * len(none)
    for value, then in zip(values, before, strict=True):
        yield ReportCell(value, then, *((figure.uri, figure.query) if figure is not None else ("", "")))


def _label(member: Member | None) -> str:
    return member.label if member is not None else ""


def _value(member: Member | None) -> Any:
    return member.value if member is not None and member.key else None
