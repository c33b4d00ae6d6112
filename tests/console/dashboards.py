"""A package with a workspace page as others write it: widgets of every kind that is drawn, and what goes wrong."""

from typing import Any

from tests.console.conftest import HOSTILE

Tree = dict[str, Any]
KIND = "core.workspace.widget."
OPEN = "query:(status:open)"


def widget(label: str, kind: str, width: int = 4, zone: str = "content", **params: Any) -> Tree:
    """An entry of a tab. kind: the last part of the extension id, or the whole id."""
    id = kind if ".widget." in kind else KIND + kind
    return {"label": label, "extension_id": id, "zone": zone, "width_units": width, "pos": 0, "params": params}


def page(name: str, *widgets: Tree, layout: str = "", worklists: tuple[Tree, ...] = ()) -> Tree:
    """A workspace page with a dashboard, and with a tab of lists if there are some."""
    ordered = [each | {"pos": place} for place, each in enumerate(widgets)]
    tabs: list[Tree] = [
        {
            "name": "Numbers",
            "extension_id": "core.workspace.tab.dashboard",
            "params": {"layout": layout},
            "widgets": ordered,
        }
    ]
    if worklists:
        tabs.append({"name": "Lists", "extension_id": "core.workspace.tab.worklists", "worklists": list(worklists)})
    return {"uid": "page", "name": name, "extension_id": "core.workspace.page.workspace", "tabs": tabs}


def package(*pages: Tree) -> Tree:
    """A package with these pages."""
    return {
        "package": {"name": "Board", "revision": 1, "requires": {"product_version": "10.0.0", "plugins": []}},
        "workspaces": [each | {"uid": f"page{place}"} for place, each in enumerate(pages)],
    }


KATA = """dataQuery/opened:
  query@text:
    type:worklist.series series.new:(of:ticket label:New x:created@day)
    format:timeseries
  cache_secs: 300
dataQuery/groups:
  query: type:worklist.subtotals of:ticket by:[group] format:pie
manual/other:
  data:
    a: 1
"""
NOTHING = "type:worklist.subtotals of:ticket query:(id:0)"
BY_DAY = "type:worklist.series series.new:(of:ticket label:New x:created@day)"
PLACES = 'type:sample.geo.points series.a:(Bern:(coordinates:"46.9, 7.4") Lima:(coordinates:"-12, -77"))'
WORLD = "map:\n  resource:\n    uri: svc:resource:map.world\n"
SHEET = """columns:
  card/_label:
    label: Worker
  text/hello:
    params:
      value_template@raw: Hello {{first_name}}
  toolbar/more:
"""
INTERACTIONS = """interaction/return:
  label: Return goods
  uri: svc:automation:shop.return
"""
FILTERS = """date_range/input_days:
  label: Days
  default: -7 days to now
picklist/input_by:
  label: By
  default: day
  params:
    options@csv: day, month
picklist/input_states:
  label: States
  params:
    multiple@bool: yes
    options@csv: open, waiting
chooser/input_groups:
  label: Groups
  params:
    context: group
text/input_word:
  label: Word
"""
EVERY_KIND = (
    widget("Open now", "counter", 1, data_query=f"type:worklist.metrics values.n:(of:ticket {OPEN}) format:table"),
    widget(
        "Some numbers",
        "example.workspace.widget.counter",
        3,
        data_query="type:worklist.metrics values.a:(of:ticket label:Tickets) values.b:(of:group label:Teams)",
    ),
    widget(
        "New by day",
        "chart.timeseries",
        data_query="type:worklist.series series.new:(of:ticket label:New x:created@day) "
        "series.closed:(of:ticket label:Closed x:updated@day query:(status:closed))",
    ),
    widget("Groups", "chart.pie", 2, data_query="type:worklist.subtotals of:ticket by:[group] format:pie"),
    widget(
        "Statuses",
        "chart.categories",
        2,
        data_query="type:worklist.subtotals of:ticket by:[group,status] format:categories",
    ),
    widget(
        "Points",
        "chart.scatterplot",
        2,
        data_query="type:worklist.xy series.t:(of:ticket label:Ticket x:id y:importance)",
    ),
    widget("Rows", "chart.table", 2, data_query="type:worklist.subtotals of:ticket by:[group,status] format:table"),
    widget("Tree", "sheet", 2, data_query="type:worklist.subtotals of:ticket by:[group,status]"),
    widget(
        "Tasks",
        "worklist",
        4,
        context="svc.contexts.task",
        query_required="status:open title:pallets",
        query="",
        render_limit="5",
    ),
    widget(
        "Tickets",
        "worklist",
        4,
        context="ticket",
        query_required="status:open",
        columns=["subject", "group.id", "owner_id"],
    ),
    widget("Rules", "markdown", 2, content="# How we work\n\nRead **this** first."),
    widget("Look", "custom_html", 2, content="<p>Hello <b>{{current_worker_first_name}}</b></p>"),
    widget("KATA", "chart.kata", 2, datasets_kata=KATA, chart_kata="data:\n  type: line\n"),
    widget("Stacked", "chart.timeseries", 2, data_query=BY_DAY, chart_as="bar_stacked"),
    widget("Area", "chart.timeseries", 2, data_query=BY_DAY, chart_as="area"),
    widget("Pie", "chart.pie", 2, data_query="type:worklist.subtotals of:ticket by:[group] format:pie", chart_as="pie"),
    widget(
        "Bars", "chart.pie", 2, data_query="type:worklist.subtotals of:ticket by:[group] format:pie", chart_as="bars"
    ),
    widget("Broken", "chart.pie", 2, data_query="type:worklist.subtotals of:ticket by:[nothing] format:pie"),
    widget("Empty", "chart.pie", 2),
    widget("Nothing", "chart.categories", 2, data_query=f"{NOTHING} by:[org~10] format:categories"),
)
OTHER_KINDS = (
    widget(
        "Typed",
        "gauge",
        1,
        datasource="core.workspace.widget.datasource.manual",
        metric_value="42.5",
        metric_suffix="%",
    ),
    widget("Due", "calendar", 4, context="task", query_required="title:pallets OR title:none", date_field="due"),
    widget("Berlin", "clock", 1, timezone="Europe/Berlin", format="1"),
    widget("Release", "countdown", 1, target_timestamp="4102444800"),
    widget("Map", "map.geopoints", 2, data_query=PLACES),
    widget("World", "map.geopoints", 2, map_kata=WORLD),
    widget(
        "Sheet",
        "sheet",
        2,
        data_query="type:worklist.records of:worker query:(email:nora@desk.example)",
        sheet_kata=SHEET,
    ),
    widget("Me", "record.fields", 2, context="worker", context_id="{{current_worker_id}}", properties=[["title"]]),
    widget("Forms", "form_interaction", 2, interactions_kata=INTERACTIONS),
    widget("Old", "chart", 2, datasource="core.workspace.widget.datasource.worklist.series"),
    widget("Unknown", "seating", 2),
)
HUGE = 'type:worklist.subtotals of:worker metric:"(x*0+10)**308"'
HOSTILE_MAP = f"""map:
  points:
    data:
      point/a:
        latitude: 1
        longitude: 1
        properties:
          name: {HOSTILE}
"""
HOSTILE_SHEET = f"""columns:
  text/a:
    label: {HOSTILE}
    params:
      value_template@raw: {HOSTILE}{{{{ id }}}}
"""
HOSTILE_WIDGETS = (
    widget(HOSTILE, "counter", data_query="type:worklist.metrics values.n:(of:ticket)"),
    widget(HOSTILE, "markdown", content=f"{HOSTILE}\n\n[x](javascript:alert(3)) ![i](https://evil.example/a.png)"),
    widget(
        HOSTILE, "custom_html", content=f"{HOSTILE}<a href='javascript:alert(4)'>a</a><iframe src='/login'></iframe>"
    ),
    widget(HOSTILE, f"x.workspace.widget.{HOSTILE}"),
    widget(
        HOSTILE,
        "chart.timeseries",
        data_query=f'type:worklist.series series.a:(of:ticket label:"{"<b>x</b>"}" x:created@day)',
    ),
    widget(HOSTILE, "chart.pie", data_query=HOSTILE),
    widget(HOSTILE, "chart.kata", datasets_kata=f"dataQuery/a:\n  query: {HOSTILE}\n"),
    widget(HOSTILE, "chart.kata", datasets_kata="\t:"),
    widget(HOSTILE, "worklist", context=HOSTILE, query=HOSTILE, columns=[HOSTILE, {"a": 1}], render_limit="²"),
    widget(HOSTILE, "counter", data_query="type:automation.invoke name:shop.echo"),
    widget(HOSTILE, "counter", data_query="{{ '{{' }} {% for i in range(1, 100000) %}{{ i }}{% endfor %}"),
    widget(HOSTILE, "chart.pie", data_query="{% broken"),
    widget(HOSTILE, "chart.timeseries", data_query=f"{HUGE} by:[updated@day] format:timeseries"),
    widget(HOSTILE, "chart.pie", data_query=f"{HUGE} by:[id] format:pie"),
    widget(HOSTILE, "sheet", data_query=f"{HUGE} by:[id] format:dictionaries", sheet_kata="columns:\n  text/count:\n"),
    widget(HOSTILE, "calendar", calendar_id=HOSTILE, context=HOSTILE, date_field=HOSTILE),
    widget(HOSTILE, "clock", timezone=HOSTILE),
    widget(HOSTILE, "countdown", target_timestamp=HOSTILE),
    widget(HOSTILE, "map.geopoints", map_kata=HOSTILE_MAP),
    widget(
        HOSTILE,
        "map.geopoints",
        map_kata="map:\n  points:\n    data:\n      point/a:\n        latitude: nan\n        longitude: inf\n",
    ),
    widget(HOSTILE, "sheet", data_query="type:worklist.records of:worker", sheet_kata=HOSTILE_SHEET),
    widget(HOSTILE, "record.fields", context=HOSTILE, context_id=HOSTILE, properties={"a": {"b": [HOSTILE]}}),
    widget(HOSTILE, "form_interaction", interactions_kata=f"interaction/a:\n  label: {HOSTILE}\n  uri: {HOSTILE}\n"),
    widget(HOSTILE, "gauge", datasource="x.widget.datasource.manual", metric_value="1e999", metric_prefix=HOSTILE),
)
