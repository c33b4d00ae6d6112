"""The kinds of widgets that are drawn, by the last part of their extension id; `core.workspace.widget.counter` and
`example.workspace.widget.counter` are the same."""

from server.dataclass import dataclass
from server.translation import N_, Words

PREFIX = "core.workspace.widget."
_MARK = ".workspace.widget."
DONUT, PIE, BARS = "donut", "pie", "bars"  # how shares are drawn
_OVER_TIME = (
    ("line", N_("Lines")),
    ("area", N_("Area")),
    ("bar", N_("Columns")),
    ("bar_stacked", N_("Stacked columns")),
)
_SHARES = ((DONUT, N_("Ring")), (PIE, N_("Pie")), (BARS, N_("Bars, the longest first")))
_WITH_QUERY = ("number", "lines", "columns", "shares", "points", "table", "map", "sheet", "blocks", "old")
_NO_BOTS = N_(
    "Bots draw nothing here: their behaviors respond to API requests, webhooks and each other. Show the HTML of an "
    "automation instead."
)


@dataclass(frozen=True)
class WidgetKind:
    """A kind. name: the last part of its extension id. draws: the key of what draws it in widgets.py. about: what it
    shows, for those who choose one; "" for a kind that packages bring and forms do not offer. example: a data query for
    it. looks: values of its parameter `chart_as` with their names, the usual one first. kata: its parameter in KATA.
    missing: why it is not drawn."""

    name: str
    draws: str
    label: Words
    about: Words = ""
    example: str = ""
    looks: tuple[tuple[str, Words], ...] = ()
    kata: str = ""
    missing: Words = ""

    @property
    def is_wide(self) -> bool:
        """Whether a new one takes the whole row."""
        return self.draws in ("lines", "columns", "list", "board", "calendar", "map")

    @property
    def has_query(self) -> bool:
        """Whether it shows the result of a data query."""
        return self.draws in (
            "number",
            "lines",
            "columns",
            "shares",
            "points",
            "table",
            "map",
            "sheet",
            "blocks",
            "old",
        )


KINDS = {
    each.name: each
    for each in (
        WidgetKind(
            "counter",
            "number",
            N_("Number"),
            N_("One number, or a few"),
            "type:worklist.metrics values.open:(of:ticket query:(status:open) label:Open) format:table",
        ),
        WidgetKind(
            "chart.timeseries",
            "lines",
            N_("Chart over time"),
            N_("Lines or columns for days, weeks or months"),
            'type:worklist.series series.new:(of:ticket x:created@day query:(created:"-30 days") label:New) '
            "format:timeseries",
            _OVER_TIME,
        ),
        WidgetKind(
            "chart.categories",
            "columns",
            N_("Column chart"),
            N_("Columns for groups, statuses and so on"),
            "type:worklist.subtotals of:ticket by:[group,status] format:categories",
            _OVER_TIME[:1:-1],
        ),
        WidgetKind(
            "chart.pie",
            "shares",
            N_("Shares"),
            N_("A ring, a pie or bars: what each value has of the whole"),
            "type:worklist.subtotals of:ticket by:[group] query:(status:open) format:pie",
            _SHARES,
        ),
        WidgetKind(
            "chart.scatterplot",
            "points",
            N_("Scatter chart"),
            N_("A point for each record"),
            "type:worklist.xy series.open:(of:ticket x:created y:importance query:(status:open limit:100) label:Open) "
            "format:scatterplot",
        ),
        WidgetKind(
            "chart.table",
            "table",
            N_("Table"),
            N_("Rows and columns of a data query"),
            "type:worklist.subtotals of:ticket by:[group,owner] query:(status:open) format:table",
        ),
        WidgetKind(
            "map.geopoints",
            "map",
            N_("Map"),
            N_("Records with a location as points on a grid"),
            "type:worklist.geo.points series.places:(of:org point:location label:Organizations)",
            kata="map_kata",
        ),
        WidgetKind("worklist", "list", N_("List"), N_("The first records that a search finds")),
        WidgetKind("board", "board", N_("Board"), N_("Records as cards in columns, to move from one to the next")),
        WidgetKind("calendar", "calendar", N_("Calendar"), N_("A month of a calendar, or of records by a date")),
        WidgetKind("clock", "clock", N_("Clock"), N_("The time in a place")),
        WidgetKind("countdown", "countdown", N_("Countdown"), N_("How long it is until a time")),
        WidgetKind("record.fields", "record", N_("Record"), N_("Fields of one record")),
        WidgetKind("markdown", "text", N_("Text"), N_("Instructions or links, in Markdown")),
        WidgetKind("custom_html", "html", N_("HTML")),
        WidgetKind("html", "html", N_("HTML")),
        WidgetKind("chart.kata", "kata", N_("Chart in KATA"), kata="datasets_kata"),
        WidgetKind("chart.timeblocks", "blocks", N_("Free time")),
        WidgetKind("chart", "old", N_("Chart over time"), looks=_OVER_TIME),
        WidgetKind("pie_chart", "old", N_("Shares"), looks=_SHARES),
        WidgetKind("scatterplot", "old", N_("Scatter chart")),
        WidgetKind(
            "form_interaction",
            "interactions",
            N_("Forms of automations"),
            N_("Automations that whoever reads the page can start, and that may ask for values"),
            kata="interactions_kata",
        ),
        WidgetKind(
            "automation",
            "automations",
            N_("Automation"),
            N_("HTML that an automation returns, with the rights of whoever reads the page"),
            kata="automations_kata",
        ),
        WidgetKind("bot", "missing", N_("Bot"), missing=_NO_BOTS),
        WidgetKind("behavior.tree", "tree", N_("Behavior")),
        WidgetKind("gauge", "number", N_("Number")),
        WidgetKind("sheet", "sheet", N_("Sheet"), kata="sheet_kata"),
        WidgetKind("subtotals", "shares", N_("Shares"), looks=_SHARES[::-1]),
    )
}


def kind_of(extension_id: str) -> WidgetKind | None:
    """The kind of an extension id, None for one that is not drawn."""
    return KINDS.get(extension_id.partition(_MARK)[2])
