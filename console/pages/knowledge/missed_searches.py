"""The report of what visitors of the help center did not find, with a way to write the missing article."""

import datetime

from console.help_center.visitor_languages import own_name
from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import exports
from server.help_center import missed_report
from server.record_types.shared import brands
from server.records import records
from server.translation import N_, shown

PATH = "/reports/help-center/missed"
RANGES = {
    "7": N_("Last 7 days"),
    "30": N_("Last 30 days"),
    "90": N_("Last 90 days"),
    "365": N_("Last 365 days"),
}
USUAL = "30"
COLUMNS = ("day", "brand", "language", "words", "count")


@page("GET", PATH)
def show(visit: Visit) -> PageResponse:
    """The words of searches without results, or as a file, with their numbers by day. Raises Forbidden."""
    days = visit.query.text("days", "")
    days = days if days in RANGES else USUAL
    known = records.reading(visit.ctx, brands.all_brands)
    names = {each.id: each.name for each in known}
    if format := visit.query.text("format", ""):
        return _file(visit, format, int(days), names)
    number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    rows = missed_report.missed_words(visit.ctx, int(days))
    return render(
        visit,
        "missed_searches.html",
        form=Form.from_values({"days": days}),
        ranges=[(value, shown(label)) for value, label in RANGES.items()],
        rows=rows[(number - 1) * ui.PAGE_ROWS : number * ui.PAGE_ROWS],
        total=len(rows),
        number=number,
        names=names,
        firsts={each.id: each.languages[0] for each in known},
        name_of=own_name,
        can_create=records.may(visit.ctx, "kb_article", "create"),
    )


def _file(visit: Visit, format: str, days: int, names: dict[int, str]) -> PageResponse:
    """The searches of each day as a file. Raises NotFound for an unknown format."""
    if format != "csv":
        raise exports.no_such_format(format)
    rows = [
        {
            "day": datetime.datetime.fromtimestamp(each.day, datetime.UTC).date().isoformat(),
            "brand": names.get(each.brand_id, ""),
            "language": each.language,
            "words": each.words,
            "count": each.count,
        }
        for each in missed_report.missed_by_day(visit.ctx, days)
    ]
    return exports.file(visit, format, "missed-searches", COLUMNS, rows)
