"""Reports by email: workers who lead choose which report they get, and on which day of the week. None without a
choice."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from markupsafe import Markup

from server import times
from server.access import actor as actors
from server.access.actor import Actor
from server.access.service_actor import own_context
from server.context import Context, Service
from server.errors import Forbidden, Invalid
from server.jobs.job_queue import JobQueue, job
from server.jobs.scheduler import periodic
from server.mail.mail_bytes import new_message_id
from server.notifying import mailing
from server.notifying.notification_mails import Letter
from server.outbox.deliver import MailSpec
from server.outbox.sender import SERVICE, default_sender, way_of
from server.queries.reports import report
from server.queries.reports.ranges import CUSTOM, DAY
from server.queries.reports.report import Report, ReportRequest
from server.queries.reports.tables import REPORTS, ReportCell, ReportTable
from server.queries.reports.words import comparison_text, heading, label_text, value_text
from server.record_types.shared.paths import found_at
from server.records import catalogs
from server.records.reading import RecordReader
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import N_, _, shown, speaking, spoken

JOB = "report_email"
HOUR = 7  # of the worker's day, from which on reports are sent
DAYS = 7  # days of a report, until the day before
MAILED_ROWS = 10  # rows of a table in an email
WEEKDAYS = (
    N_("Monday"),
    N_("Tuesday"),
    N_("Wednesday"),
    N_("Thursday"),
    N_("Friday"),
    N_("Saturday"),
    N_("Sunday"),
)

REPORT_SUBSCRIPTION = Table(
    "report_subscription",
    [
        Column("worker_id", references="worker(id)"),
        Column("report", "TEXT"),
        Column("weekday"),
        Column("sent_on", "TEXT"),
    ],
    key=("worker_id", "report"),
)  # weekday: 1 for Monday. sent_on: the day of the last email, in the zone of the worker


def weekday_of(ctx: Context, name: str) -> int:
    """Returns the day of the week on which the caller gets a report, 1 for Monday; 0 for never."""
    row = ctx.service.store.read(lambda tx: tx.first(REPORT_SUBSCRIPTION, worker_id=ctx.actor.worker_id, report=name))
    return int(row[REPORT_SUBSCRIPTION.position["weekday"]]) if row is not None else 0


def subscribe(ctx: Context, name: str, weekday: int) -> None:
    """Sends the caller a report each week, 0 for never. The first one is sent on the next such day after today.

    Raises Forbidden for workers who lead nobody, Invalid for an unknown report or day."""
    if not report.may_see(ctx.actor):
        raise Forbidden(_("only administrators and managers of groups can see reports"))
    if name not in REPORTS:
        raise Invalid(_("choose one from the list"), field="report")
    if not 0 <= weekday <= len(WEEKDAYS):
        raise Invalid(_("choose one from the list"), field="weekday")
    key = {"worker_id": ctx.actor.worker_id, "report": name}
    today = datetime.fromtimestamp(ctx.now, ctx.tz).date().isoformat()

    def write(tx: Transaction) -> None:
        if weekday:
            tx.put(REPORT_SUBSCRIPTION, {**key, "weekday": weekday, "sent_on": today})
        else:
            tx.delete(REPORT_SUBSCRIPTION, **key)

    ctx.service.store.write(write)


@periodic(N_("report emails"), N_("Sends reports to the workers who want them by email."))
def send_due(service: Service, now: int) -> None:
    """Adds a job for each report that is due."""
    if service.store.read(lambda tx: list(_due(tx, now))):
        service.store.write(lambda tx: _start(tx, now))


def _start(tx: Transaction, now: int) -> None:
    for worker_id, name, day in _due(tx, now):
        tx.put(
            REPORT_SUBSCRIPTION,
            {"worker_id": worker_id, "report": name, "weekday": day.isoweekday(), "sent_on": day.isoformat()},
        )
        payload = {"worker_id": worker_id, "report": name, "day": day.isoformat()}
        JobQueue.add(tx, JOB, now, payload, f"{JOB}:{worker_id}:{name}", is_slow=True)


def _due(tx: Transaction, now: int) -> Iterator[tuple[int, str, date]]:
    """Yields the worker, the report and the day of each subscription that is due, also of a day that has passed."""
    for worker_id, name, weekday, sent_on in tx.find(REPORT_SUBSCRIPTION):
        worker = actors.worker(tx, worker_id)
        if worker is None:
            continue
        today = datetime.fromtimestamp(now - HOUR * 3600, times.zone(worker.timezone or "UTC")).date()
        day = today - (today.isoweekday() - weekday) % 7 * DAY
        if day.isoformat() > sent_on:
            yield worker_id, name, day


@job(JOB, N_("Emails a worker a report"))
def mail_report(service: Service, payload: dict[str, str | int], now: int) -> None:
    """Sends a report of the last days to a worker who may still see it."""
    worker_id, name = int(payload["worker_id"]), str(payload["report"])
    actor = service.store.read(lambda tx: actors.worker(tx, worker_id))
    if actor is None or not report.may_see(actor) or name not in REPORTS:
        return
    last = date.fromisoformat(str(payload["day"])) - DAY
    days = ((last - timedelta(days=DAYS - 1)).isoformat(), last.isoformat())
    caller = Context(service, actor, now, times.zone(actor.timezone or "UTC"))
    own, language = own_context(service, now), catalogs.worker_catalog(service, worker_id)
    with speaking(language):
        result = report.run(caller, ReportRequest(name, CUSTOM, *days))
        letter = service.store.read(lambda tx: _letter(RecordReader(own, tx), actor, result))
    if letter is not None:
        mailing.send(own, lambda writing: mailing.queue_letters(writing, worker_id, (letter,)))


def _letter(reader: RecordReader, actor: Actor, result: Report) -> Letter | None:
    """Returns the email; None if the service has no address to send from."""
    address = reader.record("address", default_sender(reader.tx))
    way = way_of(reader.tx, reader.registry, address["id"]) if address else None
    if address is None or way is None:
        return None
    text, html = _written(result, reader.ctx.service.base_url, actor.language)
    mail = MailSpec(
        message_id=new_message_id(address["email"].rpartition("@")[2]),
        date=reader.now,
        zone=actor.timezone or "UTC",
        from_address_id=address["id"],
        from_address=address["email"],
        from_name=SERVICE,
        subject=_title(result),
        is_generated=True,
        text=text,
        html=html,
        language=spoken().language,
    )
    return Letter(mail, way)


def _title(result: Report) -> str:
    first, last = result.range.first.isoformat(), result.range.last.isoformat()
    return _("{report}, {first} to {last}", report=shown(result.kind.label), first=first, last=last)


def _written(result: Report, base_url: str, language: str) -> tuple[str, str]:
    """Returns the report as text and as HTML."""
    url = f"{base_url}/reports/{result.kind.name}"
    again = _("All of it, and how often you get it: {url}", url=url)
    texts, parts = [_title(result), shown(result.kind.about)], [_paragraph(shown(result.kind.about))]
    for table in result.tables:
        lines = list(_lines(table, language))
        title = shown(table.title)
        texts.append(
            "\n".join([title, *(f"- {label}: {', '.join(filter(None, values))}" for label, values, _ in lines)])
        )
        parts.append(Markup('<h2 style="font-size:16px">{}</h2>').format(title))
        parts.append(_table(lines, base_url) if lines else _paragraph(_("Nothing in this range.")))
    link = Markup('<a href="{}">{}</a>').format(url, url)
    parts.append(_paragraph(Markup(_("All of it, and how often you get it: {url}", url="{}")).format(link)))
    head = Markup('<h1 style="font-size:20px">{}</h1>').format(_title(result))
    return "\n\n".join([*texts, again]) + "\n", str(head + Markup("\n").join(parts))


# A line of a table in an email: its name, its texts, and the cell whose records the first text links to.
Line = tuple[str, list[str], ReportCell]


def _lines(table: ReportTable, language: str) -> Iterator[Line]:
    """Yields the lines of a table: each figure of a single row, the busiest hours of a week, or the first rows."""
    if table.chart in ("tiles", "heat"):
        cells = [
            (label_text(row) if table.of else "", column, cell)
            for row in table.rows
            for column, cell in zip(table.columns, row.cells, strict=True)
        ]
        if table.chart == "heat":
            cells = [each for each in cells if each[2].value]
            cells = sorted(cells, key=lambda each: -(each[2].value or 0))[:MAILED_ROWS]
        for name, column, cell in cells:
            label = f"{name} {heading(column)}".strip()
            yield label, [value_text(column, cell.value, language), comparison_text(column, cell, language)], cell
        return
    for row in table.rows[:MAILED_ROWS]:
        pairs = zip(table.columns, row.cells, strict=True)
        values = [f"{heading(column)} {value_text(column, cell.value, language)}" for column, cell in pairs]
        yield label_text(row), values, row.cells[0]


def _table(lines: list[Line], base_url: str) -> Markup:
    cell = Markup('<td style="padding:2px 16px 2px 0;border-bottom:1px solid #ddd">{}</td>')
    rows = []
    for label, values, counted in lines:
        first: str | Markup = values[0]
        if counted.query and counted.value is not None:
            first = Markup('<a href="{}">{}</a>').format(base_url + found_at(counted.uri, counted.query), first)
        rows.append(Markup("<tr>{}</tr>").format(Markup().join(map(cell.format, (label, first, *values[1:])))))
    return Markup('<table style="border-collapse:collapse;font-size:14px">{}</table>').format(Markup().join(rows))


def _paragraph(text: str | Markup) -> Markup:
    return Markup("<p>{}</p>").format(text)
