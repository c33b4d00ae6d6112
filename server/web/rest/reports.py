"""The figures of reports, for administrators and managers of groups."""

from typing import Any

from server.queries.reports import report
from server.queries.reports.ranges import CUSTOM, DEFAULT, PRESETS
from server.queries.reports.report import ReportRequest
from server.queries.reports.tables import REPORTS
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

_RANGE = shapes.keys(**{"from": shapes.TEXT, "to": shapes.TEXT, "step": shapes.TEXT})
_COLUMN = shapes.keys(
    key=shapes.TEXT, label=shapes.TEXT, kind={"type": "string", "enum": ["count", "percent", "seconds"]}
)
_NUMBER = {"type": ["integer", "null"], "description": "null: there are no records."}
_FIGURE = shapes.keys(value=_NUMBER, before=_NUMBER, of=shapes.TEXT, query=shapes.TEXT)
_ROW = shapes.keys(key=shapes.ANY, label=shapes.TEXT, figures=shapes.map_of(_FIGURE))
_TABLE = shapes.keys(columns=shapes.list_of(_COLUMN), rows=shapes.list_of(_ROW), has_more=shapes.BOOLEAN)
REPORT = shapes.keys(
    report=shapes.TEXT,
    timezone=shapes.TEXT,
    range=_RANGE,
    before={"anyOf": [_RANGE, {"type": "null"}]},
    tables=shapes.map_of(_TABLE),
)


@endpoint(
    "GET",
    "reports/{report}",
    f"Run a report: {', '.join(REPORTS)}. Each figure names the search that finds its records.",
    "read",
    Parameter("report", "string", "The name of the report."),
    Parameter("range", "string", f"{', '.join(PRESETS)}; or {CUSTOM}, with `from` and `to`. By default {DEFAULT}."),
    Parameter("from", "string", "First day of a custom range, such as 2026-03-01."),
    Parameter("to", "string", "Last day of a custom range."),
    Parameter("timezone", "string", "The zone of days and hours; by default the one of the worker."),
    Parameter("q", "string", "A search for tickets: counts these and their messages only."),
    Parameter("compare", "boolean", "0 leaves out the figures of the range before."),
    response=REPORT,
)
def show_report(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    request = ReportRequest(
        call.arguments["report"],
        params.text("range", DEFAULT),
        params.text("from", ""),
        params.text("to", ""),
        params.text("timezone", ""),
        params.text("q", ""),
        is_compared=params.flag("compare", default=True),
    )
    return report.as_dictionary(report.run(call.ctx, request))
