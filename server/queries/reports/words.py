"""Figures of reports in words, for pages and emails."""

from server import locales
from server.quantities import short_duration
from server.queries.reports.tables import ReportCell, ReportColumn, ReportRow
from server.translation import _, pgettext, shown

HUGE_CHANGE = 1000  # percent; larger changes come from a range before that had nearly nothing


def heading(column: ReportColumn) -> str:
    """The heading of a column."""
    label = shown(column.label)
    share = shown(column.share).replace(" %", "\u00a0%")
    return _("{what}, {share}", what=label, share=share) if share else label


def label_text(row: ReportRow) -> str:
    """The name of a row, `none` for records without a value."""
    return shown(row.label) if row.key is not None else pgettext("value", "none")


def value_text(column: ReportColumn, value: int | None, language: str) -> str:
    """A figure in words. language: the locale whose numbers are written."""
    if value is None:
        return "–"
    if column.kind == "seconds":
        return short_duration(value)
    number = locales.of(language).number(value)
    return _("{count} %", count=number) if column.kind == "percent" else number


def comparison_text(column: ReportColumn, cell: ReportCell, language: str) -> str:
    """How a figure compares with the range before, "" if it has no such figure."""
    if cell.before is None:
        return ""
    change, before = change_text(column, cell), value_text(column, cell.before, language)
    return _("{change}, before: {value}", change=change, value=before) if change else _("before: {value}", value=before)


def change_text(column: ReportColumn, cell: ReportCell) -> str:
    """The change since the range before, in percent; of shares in points; "" if it is not known or says nothing."""
    if cell.value is None or cell.before is None:
        return ""
    if column.kind == "percent":
        return _signed(cell.value - cell.before)
    change = round(100 * (cell.value - cell.before) / cell.before) if cell.before else HUGE_CHANGE
    return _("{change} %", change=_signed(change)) if change < HUGE_CHANGE else ""


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−")
