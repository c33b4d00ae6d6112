"""The holidays of a calendar: a list, and a form that adds days by name or from an iCalendar file."""

from datetime import date

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.record.head import head
from server.errors import HelpdeskError, Invalid, Required
from server.imports import holidays
from server.imports.holidays import CALENDAR
from server.record_types.calendars.holidays import Holiday
from server.records import records, sheet
from server.translation import N_, _, ngettext

BASE = f"/records/{CALENDAR}/{{id}}/holidays"
FORM_BYTES = 1024 * 1024
FIELDS = ("days", "yearly")


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """Shows the holidays of a calendar. Raises NotFound, Forbidden."""
    return _page(visit, Form.from_values(dict.fromkeys(FIELDS, "")))


@page("POST", BASE, form_bytes=FORM_BYTES, creates=True)
def add(visit: Visit) -> PageResponse:
    """Adds days from the text and the file of the form, or shows the form with its mistakes."""
    form = Form.sent(visit.form, FIELDS)
    try:
        texts = [text for text in (form.get("days"), _file_text(visit)) if text.strip()]
        if not texts:
            raise Required(N_("write a day, or choose a file"), field="days")
        added = [holidays.add(visit.ctx, visit.id, each, is_yearly=visit.form.flag("yearly")) for each in texts]
    except HelpdeskError as error:
        return _page(visit, form.refuse(error, names={"": "days"}))
    ids, known = [id for each in added for id in each.ids], sum(each.known for each in added)
    text = ngettext("{count} day added.", "{count} days added.", len(ids))
    if known:
        text += " " + ngettext("{count} was on the list already.", "{count} were on the list already.", known)
    if ids:
        visit.flash(text, f"{visit.path}/remove", **{"ids[]": [str(id) for id in ids]})
    else:
        visit.flash(text)
    return see(visit.path)


@page("POST", f"{BASE}/remove")
def remove(visit: Visit) -> PageResponse:
    """Removes days from the list."""
    path = visit.path.removesuffix("/remove")
    removed = holidays.remove(visit.ctx, visit.id, visit.form.id_list("ids"))
    text = ngettext("{count} day removed.", "{count} days removed.", len(removed))
    visit.flash(text, path, days="\n".join(each.line for each in removed))
    return see(path)


def _file_text(visit: Visit) -> str:
    """Returns the text of the chosen file, "" without one. Raises Invalid."""
    sent = visit.form.upload("file") if "file" in visit.form else None
    if sent is None:
        return ""
    try:
        return sent.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(_("the file is not a text in UTF-8"), field="file") from None


def _page(visit: Visit, form: Form) -> PageResponse:
    return render(
        visit,
        "holidays.html",
        form.status,
        **head(visit, sheet.sheet(visit.ctx, CALENDAR, visit.id)),
        form=form,
        holidays={id: (_day(visit, each), each) for id, each in holidays.of_calendar(visit.ctx, visit.id).items()},
        may_change=records.may(visit.ctx, CALENDAR, "update", visit.id),
    )


def _day(visit: Visit, holiday: Holiday) -> str:
    """Returns the day in words."""
    if holiday.pattern:
        return holiday.pattern
    if not holiday.year:
        return ui.day(visit, date(2028, holiday.month, holiday.day))[1]
    return f"{ui.day(visit, date(holiday.year, holiday.month, holiday.day))[0]} {holiday.year}"
