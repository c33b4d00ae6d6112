"""Workspace pages: what packages bring is drawn, for those who may see it, with the rights of who looks."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console import dashboards
from tests.console.browser import NARROW, PHONE, Browser, is_sideways, violations
from tests.console.conftest import HOSTILE
from tests.console.dashboards import EVERY_KIND, HOSTILE_WIDGETS, OTHER_KINDS, widget
from tests.console.visitor import Visitor, text_of
from tests.service import Api, Server

Tree = dict[str, Any]
LISTS = (
    {
        "title": "Open tasks",
        "model": {
            "context": "task",
            "columns": ["title", "owner"],
            "limit": 5,
            "params_required_query": "status:open title:pallets",
            "sort_by": "due",
            "sort_asc": 1,
        },
    },
    {
        "title": "Old names",
        "model": {
            "context": "svc.contexts.task",
            "columns": ["t_title", "t_updated_date", "t_nothing"],
            "params_required_query": "title:pallets owner.id:![{{current_worker_id}}]",
            "params": {"*_status": {"field": "*_status"}},
            "sort_by": ["t_updated_date", "t_nothing"],
            "sort_asc": [0, 1],
            "subtotals": "t_status",
        },
    },
    {"title": "Bad list", "model": {"context": "task", "params_required_query": "nothing:1"}},
)


def bring(api: Api, *pages: Tree) -> list[int]:
    """Imports a package with these pages. Returns their ids."""
    response = api.post("/rest/packages/import.json", package_json=json.dumps(dashboards.package(*pages))).ok()
    made = response["records_created"]["svc.contexts.workspace.page"]
    return [made[f"page{place}"]["id"] for place in range(len(pages))]


@pytest.fixture(scope="module")
def everything(nora: Api) -> int:
    """A page with every kind of chart, and lists."""
    for number in range(3):
        nora.create("ticket", subject=f"Drawn {number}", group_id=nora.ids["support"]).ok()
    nora.create("task", title="Count pallets").ok()
    [id] = bring(nora, dashboards.page("Everything", *EVERY_KIND, worklists=LISTS))
    return id


@pytest.fixture(scope="module")
def others(nora: Api, everything: int) -> int:
    """A page with widgets that are not charts, for the same records."""
    [id] = bring(nora, dashboards.page("Others", *OTHER_KINDS))
    return id


def section(page: str, title: str) -> str:
    """Returns the HTML of a widget, from its heading on."""
    assert f">{title}</h3>" in page, title
    return page.split(f">{title}</h3>")[1].split('<div class="widget')[0]


def test_the_widgets_of_a_package_are_drawn(signed_in: Visitor, everything: int) -> None:
    page = signed_in.get(f"/pages/{everything}").text
    assert "<h1" in page and "Everything</h1>" in page and "Not loaded" not in page
    assert re.search(r'Open now</span><span class="count">\d', page)
    assert "Tickets</span><span" in section(page, "Some numbers") and "Teams</span>" in section(page, "Some numbers")
    for chart in ("New by day", "Statuses", "Points"):
        assert "<svg" in section(page, chart) and "Show as table" in section(page, chart), chart
    assert "<svg" in section(page, "KATA: opened") and "Support" in section(page, "KATA: groups")
    assert "Support" in section(page, "Groups") and "/search/ticket?q=" in section(page, "Groups")
    assert "/search/ticket?q=" in section(page, "Rows") and "Open" in section(page, "Tree")
    assert "Count pallets" in section(page, "Tasks") and "/search/task?q=" in section(page, "Tasks")
    assert "Drawn 2" in section(page, "Tickets")
    assert "cannot be counted by" in section(page, "Broken") and "Change the widget" in section(page, "Broken")
    assert "has no data query" in section(page, "Empty") and "Nothing was found." in section(page, "Nothing")


def test_charts_are_drawn_as_their_widgets_say(signed_in: Visitor, everything: int) -> None:
    page = signed_in.get(f"/pages/{everything}").text
    marks = {
        "New by day": 'class="line k1"',
        "Area": 'class="area k0"',
        "Stacked": '<rect class="k0"',
        "Statuses": '<rect class="k0"',
        "Groups": 'class="total"',
        "Pie": 'text-anchor="',
        "Bars": 'class="tally"',
    }
    for title, mark in marks.items():
        found = re.search(rf">{title}</h3>(.*?)</figure>", page, re.DOTALL)
        assert found and mark in found[1] and found[1].count("<svg") > 0, title
    assert 'class="total"' not in section(page, "Pie") and "<rect" not in section(page, "Area")


def test_what_is_not_a_chart_is_drawn_too(signed_in: Visitor, others: int) -> None:
    page = signed_in.get(f"/pages/{others}").text
    assert re.search(r'Typed</span><span class="count">42.5 %<', page)
    assert 'data-clock="Europe/Berlin"' in section(page, "Berlin") and "Release</span><span" in page
    places = section(page, "Map")
    assert ">Bern</text>" in places and re.search(r">\d+° N</text>", places) and "46.9000" in places
    assert "map.world is not drawn: no resource" in section(page, "World")
    assert re.search(r'href="/records/worker/\d+">Nora Berg</a>', section(page, "Sheet"))
    assert "Hello Nora" in section(page, "Sheet") and "More" not in section(page, "Sheet")
    assert "Nora Berg</a>" in section(page, "Me") and "<dt>Title</dt>" in section(page, "Me")
    assert "Return goods" in section(page, "Forms") and "The automation does not exist." in section(page, "Forms")
    assert "cannot be read; write a data query" in section(page, "Old")
    assert "core.workspace.widget.seating are not drawn here" in section(page, "Unknown")
    for title in ("Old", "Unknown"):
        assert re.search(r'href="/workspaces/widgets/\d+">Settings of the widget', section(page, title)), title


def test_a_map_has_the_outlines_and_points_of_resources(signed_in: Visitor, nora: Api) -> None:
    land = {"type": "Polygon", "coordinates": [[[6, 46], [10, 46], [10, 48], [6, 46]]]}
    shop = {"type": "Feature", "properties": {"name": "Shop"}, "geometry": {"type": "Point", "coordinates": [7, 47]}}
    for name, kind, content in (("map.land", "map", land), ("map.shops", "map.points", shop)):
        fields = {"name": name, "extension_id": f"svc.resource.{kind}", "content": json.dumps(content)}
        nora.create("resource", **fields).ok()
    kata = "map:\n  resource:\n    uri: svc:resource:{}\n  points:\n    resource:\n      uri: svc:resource:{}\n"
    widgets = (
        widget("Both", "map.geopoints", map_kata=kata.format("map.land", "map.shops")),
        widget("Wrong", "map.geopoints", map_kata=kata.format("map.shops", "map.shops")),
    )
    [id] = bring(nora, dashboards.page("Maps", *widgets))
    page = signed_in.get(f"/pages/{id}").text
    assert 'class="outline" d="M' in section(page, "Both") and ">Shop</text>" in section(page, "Both")
    assert "map.shops is not drawn" in section(page, "Wrong") and ">Shop</text>" in section(page, "Wrong")


def test_a_clock_goes_on(page: Page, nora: Api) -> None:
    [id] = bring(nora, dashboards.page("Clocks", widget("Here", "clock", timezone="Asia/Tokyo", format="1")))
    page.clock.install()
    page.goto(f"/pages/{id}")
    time = page.locator("[data-clock]")
    before = time.inner_text()
    page.clock.fast_forward("01:00")
    expect(time).not_to_have_text(before)
    expect(time).to_have_text(re.compile(r"^\d\d:\d\d$"))


def test_the_tree_of_a_behavior_is_drawn_for_those_who_may_read_it(signed_in: Visitor, nora: Api) -> None:
    leaf = {"type": "action", "title": HOSTILE, "status": "disabled", "params": {"actions": []}}
    nodes = [{"type": "switch", "title": "Urgent?", "nodes": [{"type": "outcome", "title": "Yes", "nodes": [leaf]}]}]
    behavior = {"uid": "b", "title": "Sort out", "uri": "sort_out", "event": {"key": "event.macro.bot", "params": {}}}
    behavior |= {"is_disabled": False, "is_private": False, "priority": 50, "variables": {}, "nodes": nodes}
    bots = [{"uid": "bot", "name": "Own bot", "owner": "", "is_disabled": 0, "params": [], "behaviors": [behavior]}]
    trees = {"Tree": "{{{uid.b}}}", "None": "", "Other": "999999"}
    widgets = [widget(label, "behavior.tree", behavior_id=id) for label, id in trees.items()]
    package = dashboards.package(dashboards.page("Trees", *widgets, widget("Bot", "bot"))) | {"bots": bots}
    response = nora.post("/rest/packages/import.json", package_json=json.dumps(package), grants=1).ok()
    [page] = [each["id"] for each in response["records_created"]["svc.contexts.workspace.page"].values()]
    html = signed_in.get(f"/pages/{page}").text
    tree = section(html, "Tree")
    assert text_of(tree).endswith("Sort out Decision Urgent? Outcome Yes Actions " + HOSTILE + " · off")
    assert "the widget has no behavior" in section(html, "None").lower()
    assert "there is no behavior 999999" in section(html, "Other").lower()
    assert "Show the HTML of an automation instead." in section(html, "Bot")


def test_a_calendar_shows_a_month_and_leads_to_others(signed_in: Visitor, nora: Api) -> None:
    calendar = nora.create("calendar", name="Shifts", owner__context="app", owner_id=0, timezone="Asia/Tokyo").ok()[
        "id"
    ]
    for hour in range(7):
        begins = f"2031-05-07 {hour + 9:02}:00 Asia/Tokyo"
        nora.create(
            "calendar_event", name=f"Shift {hour}", calendar_id=calendar, date_start=begins, date_end=begins
        ).ok()
    nora.create("task", title="Pay in May", due="2031-05-31 23:30 UTC").ok()
    due = {"context": "task", "query_required": "title:pay OR title:nothing", "date_field": "due"}
    [id] = bring(
        nora,
        dashboards.page(
            "Months",
            widget("Events", "calendar", calendar_id=str(calendar)),
            widget("Dues", "calendar", **due),
            widget("Wrong", "calendar", context="task", date_field="title"),
        ),
    )
    widgets = {
        each["label"]: each["id"] for each in nora.search("workspace_widget", f"tab:(page.id:{id})").ok()["results"]
    }
    events, dues = f"month{widgets['Events']}=2031-05", f"month{widgets['Dues']}=2031-05"
    page = signed_in.get(f"/pages/{id}?{events}&{dues}").text
    shifts = section(page, "Events")
    assert "May 2031" in shifts and "Asia/Tokyo" in shifts and "This month" in shifts
    assert shifts.count('class="entry') == 7 and ">3 more</summary>" in shifts and ">9:00 AM</span>" in shifts
    assert re.search(r'href="/records/calendar_event/\d+">Shift 6</a>', shifts)
    assert f'href="?{dues}&amp;month{widgets["Events"]}=2031-06#widget{widgets["Events"]}"' in shifts
    last = re.search(r'<li class="busy">(.*?)</ul>', section(page, "Dues"), re.DOTALL)
    assert last and "Sat May 31" in last[1] and "Pay in May" in last[1]
    assert "is not a date" in section(page, "Wrong")
    assert "Shift 0" in signed_in.get(f"/pages/widgets/{widgets['Events']}?{events}").text
    assert "Shift 0" not in signed_in.get(f"/pages/{id}?month{widgets['Events']}=2031-13").text


def test_the_filters_of_a_tab_are_in_the_queries_of_its_widgets(signed_in: Visitor, nora: Api) -> None:
    group = nora.create("group", name="Filtered").ok()["id"]
    for status in ("open", "waiting", "closed"):
        nora.create("ticket", subject=f"Filtered {status}", group_id=group, status=status).ok()
    query = (
        "{# all of a group #}type:worklist.metrics values.n:(of:ticket label:{{input_by|upper}} query:("
        '{% if input_groups %}group.id:[{{input_groups}}]{% endif %} created:"{{input_days}}"'
        '{% if input_states %} status:[{{input_states|join(",")}}]{% endif %}))'
    )
    page = dashboards.page(
        "Filtered",
        widget("Count", "counter", data_query=query),
        widget(
            "Listed", "worklist", context="ticket", query_required="group.id:[{{input_groups}}]", query="{{input_word}}"
        ),
        widget("Said", "markdown", content="Of {{input_days__from}}, {{input_word}}"),
    )
    page["tabs"][0]["params"]["prompts_kata"] = dashboards.FILTERS
    [id] = bring(nora, page)

    def count(html: str) -> str:
        found = re.search(r'Count</span><span class="count">(\d+)<', html)
        assert found, html
        return found[1]

    shown = signed_in.get(f"/pages/{id}").text
    assert int(count(shown)) >= 3 and '<option value="day" selected>' in shown
    assert 'value="-7 days to now"' in shown and ">30 days</a>" in shown and "Reset" not in shown
    only = f"f-input_groups[]={group}&f-input_word=waiting"
    some = signed_in.get(f"/pages/{id}?{only}").text
    assert count(some) == "3" and "Reset" in some and re.search(rf'value="{group}"\s+checked', some)
    assert "Filtered waiting" in section(some, "Listed") and "Filtered open" not in section(some, "Listed")
    states = "f-=1&f-input_days=-7 days to now&f-input_states[]=open&f-input_states[]=waiting&f-input_states[]=nothing"
    assert count(signed_in.get(f"/pages/{id}?{only}&{states}").text) == "2"
    text = re.search(r'src="(/pages/texts/[^"]+)"', signed_in.get(f"/pages/{id}?f-input_word=<b>x</b>").text)
    assert text and "Of -7 days" in signed_in.get(text[1].replace("&amp;", "&")).text
    hostile = signed_in.get(
        f"/pages/{id}?f-input_word={HOSTILE}&f-input_days[a]=1&f-input_by={HOSTILE}&f-input_groups[]=x"
    )
    assert hostile.status_code == 200 and "<img src=x" not in hostile.text


def test_filters_are_built_with_their_tab(signed_in: Visitor, nora: Api) -> None:
    page_id, tab_id = tab_of(signed_in, "Own filters")
    here = f"/workspaces/tabs/{tab_id}"
    fields = {"name": "Overview", "layout": ""}
    for wrong in ("nothing/x:\n", "\t:", "text/a:\n  label@odd: x\n"):
        response = signed_in.send(here, fields | {"prompts_kata": wrong}, page=here)
        assert response.status_code == 422 and 'id="prompts_kata-error"' in response.text, wrong
    assert signed_in.send(here, fields | {"prompts_kata": dashboards.FILTERS}, page=here).status_code == 303
    assert 'name="f-input_groups[]"' in signed_in.get(f"/pages/{page_id}").text
    nora.update("workspace_tab", int(tab_id), params={"prompts_kata": "\t:"}).ok()
    assert "The filters of this tab cannot be shown" in signed_in.get(f"/pages/{page_id}").text


def test_texts_are_shown_in_a_frame(signed_in: Visitor, everything: int) -> None:
    page = signed_in.get(f"/pages/{everything}").text
    rules, look = (re.search(r'src="(/pages/texts/\d+)"', section(page, each)) for each in ("Rules", "Look"))
    assert rules and look
    assert "<strong>this</strong>" in signed_in.get(rules[1]).text
    assert "Hello <b>Nora</b>" in signed_in.get(look[1]).text


def test_the_lists_of_a_tab_are_drawn_with_their_search(signed_in: Visitor, everything: int) -> None:
    tab = re.search(rf'href="(/pages/{everything}\?tab=\d+)">Lists', signed_in.get(f"/pages/{everything}").text)
    assert tab
    page = signed_in.get(tab[1]).text
    assert "Count pallets" in section(page, "Open tasks")
    assert "/search/task?q=sort%3Adue+status%3Aopen" in section(page, "Open tasks")
    old = section(page, "Old names")
    assert "Count pallets" in old and "/search/task?q=sort%3A-updated+title" in old and ">Updated</th>" in old
    assert "cannot be sorted by t_nothing" in old and "filters of a former version" in old
    assert re.search(r'<ul class="presets">\s*<li><a dir="auto" href="/search/task\?q=[^"]+">Open</a>', old)
    assert "is not a filter" in section(page, "Bad list") and "Change the widget" in section(page, "Bad list")


def test_a_widget_and_a_list_have_pages_of_their_own(signed_in: Visitor, nora: Api, everything: int) -> None:
    [groups] = nora.search("workspace_widget", 'name:"Groups"').ok()["results"][:1]
    page = signed_in.get(f"/pages/widgets/{groups['id']}").text
    assert "Support" in page and f'href="/pages/{everything}?tab=' in page
    [tasks] = nora.search("workspace_list", 'name:"Open tasks"').ok()["results"][:1]
    assert "Count pallets" in signed_in.get(f"/pages/lists/{tasks['id']}").text
    assert signed_in.get("/pages/widgets/999999").status_code == 404
    assert signed_in.get(f"/pages/texts/{groups['id']}").status_code == 404


def test_the_record_of_a_page_and_the_import_lead_to_it(signed_in: Visitor, everything: int) -> None:
    assert f'href="/pages/{everything}">Show page' in signed_in.get(f"/records/workspace_page/{everything}").text
    fields = {"package_json": json.dumps(dashboards.package(dashboards.page("Imported here"))), "do": "import"}
    done = signed_in.send("/admin/packages/import", fields, page="/admin/packages").headers["Location"]
    assert re.search(r'href="/pages/\d+">Imported here', signed_in.get(done).text)


def test_numbers_are_those_that_the_reader_may_see(nora: Api) -> None:
    group = nora.create("group", name="Vault", is_private="1").ok()["id"]
    nora.create("ticket", subject="Gold bars", group_id=group).ok()
    query = f"query:(group.id:{group})"
    [id] = bring(
        nora,
        dashboards.page(
            "Vault",
            widget("Vaulted", "counter", data_query=f"type:worklist.metrics values.n:(of:ticket {query})"),
            widget("Bars", "chart.pie", data_query=f"type:worklist.subtotals of:ticket by:[group] {query} format:pie"),
            widget("Latest", "worklist", context="ticket", query_required=f"group.id:{group}"),
        ),
    )
    olga = Visitor(nora.url)
    olga.sign_in("olga@desk.example")
    page = olga.get(f"/pages/{id}").text
    assert re.search(r'Vaulted</span><span class="count">0<', page)
    assert "Gold bars" not in page


def test_pages_are_in_the_rail_of_those_whom_they_are_for(nora: Api) -> None:
    milo, olga = Visitor(nora.url), Visitor(nora.url)
    milo.sign_in("milo@desk.example")
    olga.sign_in("olga@desk.example")
    kind = {"extension_id": "core.workspace.page.workspace"}
    own = nora.create("workspace_page", name="Milo's", owner__context="worker", owner_id=nora.ids["milo"], **kind).ok()[
        "id"
    ]
    assert f'href="/pages/{own}"' in milo.get("/").text and "Milo&#39;s" in milo.get("/jump?q=Milo").text
    assert f'href="/pages/{own}"' not in olga.get("/").text and olga.get(f"/pages/{own}").status_code == 403
    nora.update("workspace_page", own, owner__context="app", owner_id=0).ok()
    assert f'href="/pages/{own}"' in olga.get("/").text
    assert "This page has no tabs yet." in olga.get(f"/pages/{own}").text
    nora.remove("workspace_page", own).ok()
    assert f'href="/pages/{own}"' not in olga.get("/").text


def test_hostile_widgets_are_text(signed_in: Visitor, nora: Api, server: Server, chromium: Browser) -> None:
    [id] = bring(nora, dashboards.page(HOSTILE, *HOSTILE_WIDGETS))
    page = signed_in.get(f"/pages/{id}").text
    assert "<script>alert" not in page and "<img src=x" not in page and "automation.invoke are not run" in page
    assert page.count("numbers that are too large") == 3
    for frame in re.findall(r'src="(/pages/texts/\d+)"', page):
        response = signed_in.get(frame)
        assert "sandbox" in response.headers["Content-Security-Policy"]
        assert not re.search(r"<script>alert|<img src=.?x|javascript:|evil\.example|<iframe", response.text)
    with chromium.page(server.url, cookies=signed_in.cookies) as opened:
        opened.goto(f"/pages/{id}")
        expect(opened.locator("h1")).to_have_text(HOSTILE)


def test_a_widget_that_takes_long_is_asked_for_by_itself(page: Page, signed_in: Visitor, everything: int) -> None:
    drawn = signed_in.get(f"/pages/{everything}").text
    groups = re.search(
        r'<div class="widget w2" id="(widget\d+)"><figure class="card chart pie"><figcaption><h3 dir="auto">Groups',
        drawn,
    )
    assert groups
    late = drawn.replace(groups[0], groups[0].replace(">", f' data-ask="/pages/widgets/{groups[1][6:]}">', 1))
    page.route(f"**/pages/{everything}", lambda route: route.fulfill(body=late, content_type="text/html"))
    with page.expect_response(f"**/pages/widgets/{groups[1][6:]}"):
        page.goto(f"/pages/{everything}")
    expect(page.locator(f"#{groups[1]}[data-ask]")).to_have_count(0)
    expect(page.locator(f"#{groups[1]}")).to_contain_text("Support")


@pytest.mark.exhaustive("every widget on a phone")
def test_a_page_fits_a_phone_and_has_no_problems(
    chromium: Browser, server: Server, signed_in: Visitor, everything: int, others: int
) -> None:
    with chromium.page(server.url, PHONE, cookies=signed_in.cookies) as opened:
        for id in (everything, others):
            opened.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
            opened.goto(f"/pages/{id}")
            assert violations(opened) == []
            assert not is_sideways(opened)
            opened.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
            assert not is_sideways(opened)


# -- building --------------------------------------------------------------------------------------------------------


def tab_of(visitor: Visitor, name: str) -> tuple[str, str]:
    """Creates a page of the visitor's own. Returns the ids of the page and of its tab."""
    made = visitor.send("/workspaces/new", {"name": name, "owner": ""} | owner_of(visitor)).headers["Location"]
    shown = visitor.get(made).text
    tab = re.search(r'href="/workspaces/tabs/(\d+)"', shown)
    assert tab and f"{name}</h1>" in shown
    return made.rpartition("/")[2], tab[1]


def owner_of(visitor: Visitor) -> Tree:
    """The first owner that the form of a new page offers: the worker alone."""
    found = re.search(r'<option value="(svc\.contexts\.worker:\d+)" selected>', visitor.get("/workspaces/new").text)
    assert found
    return {"owner": found[1]}


def test_a_team_builds_a_page(signed_in: Visitor, nora: Api) -> None:
    nora.create("ticket", subject="To be counted", group_id=nora.ids["support"]).ok()
    page_id, tab_id = tab_of(signed_in, "Mornings")
    assert f'href="/pages/{page_id}"' in signed_in.get("/").text
    add = f"/workspaces/add?tab={tab_id}"
    kinds = signed_in.get(add).text
    own = {
        "clock": {"timezone": "Asia/Tokyo"},
        "countdown": {"target": "2040-01-01"},
        "calendar": {"of": "task", "query": "status:open", "date": "due"},
        "record.fields": {"of": "worker", "record": "{{current_worker_id}}", "columns": "title, updated"},
    }
    for kind, values in own.items():
        form = f"{add}&kind={kind}"
        values |= {"tab": tab_id, "kind": kind, "label": f"My {kind}", "width": "1"}
        assert signed_in.send("/workspaces/add", values, page=form).status_code == 303, kind
        first = next(name for name in values if name not in ("of", "query"))
        [made] = nora.search("workspace_widget", f"tab.id:{tab_id} type:core.workspace.widget.{kind}").ok()["results"]
        edit = f"/workspaces/widgets/{made['id']}"
        assert f'value="{values[first]}"' in signed_in.get(edit).text, kind
        signed_in.send(f"{edit}/delete", {"_sure": "1"}, page=edit)
    for kind in ("counter", "chart.timeseries", "chart.categories", "chart.pie", "chart.scatterplot", "chart.table"):
        assert f"kind={kind}" in kinds
        form = signed_in.get(f"{add}&kind={kind}").text
        query = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", form, re.DOTALL)
        assert query
        fields = {
            "tab": tab_id,
            "kind": kind,
            "label": f"My {kind}",
            "data_query": query[1].replace("&#34;", '"'),
            "width": "2",
        }
        response = signed_in.send("/workspaces/add", fields, page=f"{add}&kind={kind}")
        assert response.headers["Location"] == f"/pages/{page_id}?tab={tab_id}", response.text
    listed = {
        "tab": tab_id,
        "kind": "worklist",
        "label": "First ones",
        "of": "ticket",
        "query": "status:open",
        "rows": "3",
        "columns": "subject, group",
        "width": "4",
    }
    assert signed_in.send("/workspaces/add", listed, page=f"{add}&kind=worklist").status_code == 303
    text = {"tab": tab_id, "kind": "markdown", "label": "Read me", "content": "Be **kind**.", "width": "4"}
    assert signed_in.send("/workspaces/add", text, page=f"{add}&kind=markdown").status_code == 303
    drawn = signed_in.get(f"/pages/{page_id}").text
    assert "To be counted" in section(drawn, "First ones") and "<iframe" in section(drawn, "Read me")
    assert "not drawn" not in drawn and "Change the widget" not in drawn
    stored = nora.search("workspace_widget", f"tab.id:{tab_id} sort:tab.pos").ok()["results"]
    assert [int(each["pos"]) for each in stored] == [*range(8)]
    assert stored[0]["extension_id"] == "core.workspace.widget.counter"


def test_a_mistake_in_a_data_query_is_said_at_its_field(signed_in: Visitor) -> None:
    _page, tab_id = tab_of(signed_in, "Mistakes")
    add = f"/workspaces/add?tab={tab_id}"
    for kind, field, value in (
        ("chart.pie", "data_query", "type:worklist.subtotals of:ticket by:[nothing]"),
        ("counter", "data_query", "type:automation.invoke name:shop.echo"),
        ("worklist", "query", "nothing:1"),
        ("clock", "timezone", "Mars/Base"),
        ("countdown", "target", "whenever"),
        ("calendar", "date", "title"),
        ("record.fields", "record", "x"),
    ):
        fields = {"tab": tab_id, "kind": kind, "label": "Wrong", "of": "task", "rows": "5", field: value}
        response = signed_in.send("/workspaces/add", fields, page=f"{add}&kind={kind}")
        assert response.status_code == 422 and f'id="{field}-error"' in response.text, kind
        assert 'value="Wrong"' in response.text


def test_what_is_on_a_tab_is_edited_ordered_and_deleted(signed_in: Visitor, nora: Api) -> None:
    page_id, tab_id = tab_of(signed_in, "Order")
    ids = [
        nora.create(
            "workspace_widget",
            label=label,
            extension_id="core.workspace.widget.markdown",
            tab_id=tab_id,
            pos=place,
            zone="content",
            params={"content": label},
        ).ok()["id"]
        for place, label in enumerate(("One", "Two", "Three"))
    ]
    here = f"/workspaces/tabs/{tab_id}"
    signed_in.send(f"/workspaces/widgets/{ids[2]}/move", {"to": "up"}, page=here)
    signed_in.send(f"/workspaces/widgets/{ids[0]}/move", {"by": "2"}, page=here)
    assert re.findall(r"<h3[^>]*>(\w+)</h3>", signed_in.get(f"/pages/{page_id}").text) == ["Three", "Two", "One"]
    changed = {"label": "Second", "content": "New", "width": "1", "zone": "content"}
    signed_in.send(f"/workspaces/widgets/{ids[1]}", changed, page=f"/workspaces/widgets/{ids[1]}")
    assert nora.record("workspace_widget", ids[1]).ok()["params"] == {"content": "New"}
    signed_in.send(f"/workspaces/widgets/{ids[0]}/delete", page=here)
    assert signed_in.get(f"/pages/widgets/{ids[0]}").status_code == 404
    signed_in.send(here, {"name": "Renamed", "layout": "thirds"}, page=here)
    assert 'class="zones thirds"' in signed_in.get(f"/pages/{page_id}").text
    signed_in.send(
        f"/workspaces/{page_id}/tabs",
        {"name": "Lists", "extension_id": "core.workspace.tab.worklists"},
        page=f"/workspaces/{page_id}",
    )
    [lists] = nora.search("workspace_tab", f"page.id:{page_id} name:Lists").ok()["results"]
    form = f"/workspaces/add?tab={lists['id']}"
    fields = {
        "tab": str(lists["id"]),
        "kind": "worklist",
        "label": "Open",
        "of": "task",
        "query": "status:open",
        "rows": "5",
    }
    assert signed_in.send("/workspaces/add", fields, page=form).status_code == 303
    [made] = nora.search("workspace_list", f"tab.id:{lists['id']}").ok()["results"]
    assert made["render_limit"] == 5
    edit = f"/workspaces/lists/{made['id']}"
    assert 'value="status:open"' in signed_in.get(edit).text
    assert signed_in.send(edit, fields | {"label": "Still open"}, page=edit).status_code == 303
    assert "Still open" in signed_in.get(f"/pages/{page_id}?tab={lists['id']}").text
    signed_in.send(f"/workspaces/{page_id}/delete", {"_sure": "1"}, page=f"/workspaces/{page_id}")
    assert signed_in.get(f"/pages/{page_id}").status_code == 404


def test_datasets_in_kata_are_edited(signed_in: Visitor, nora: Api, everything: int) -> None:
    [found] = nora.search("workspace_widget", 'name:"KATA"').ok()["results"]
    edit = f"/workspaces/widgets/{found['id']}"
    assert "dataQuery/opened:" in signed_in.get(edit).text
    fields = {"label": "KATA", "width": "2", "kata": "dataQuery/x:\n  query: type:nothing\n"}
    wrong = signed_in.send(edit, fields)
    assert wrong.status_code == 422 and 'id="kata-error"' in wrong.text
    right = fields | {"kata": dashboards.KATA.replace("opened", "made")}
    assert signed_in.send(edit, right).status_code == 303
    params = nora.record("workspace_widget", found["id"]).ok()["params"]
    assert "dataQuery/made:" in params["datasets_kata"] and params["chart_kata"].startswith("data:")
    signed_in.send(edit, fields | {"kata": dashboards.KATA})


def test_only_those_who_may_change_a_page_build_on_it(nora: Api) -> None:
    [id] = bring(nora, dashboards.page("Of all", widget("Text", "markdown", content="x")))
    [tab] = nora.search("workspace_tab", f"page.id:{id}").ok()["results"]
    [found] = nora.search("workspace_widget", f"tab.id:{tab['id']}").ok()["results"]
    milo = Visitor(nora.url)
    milo.sign_in("milo@desk.example")
    page = milo.get(f"/pages/{id}").text
    assert "Edit page" not in page and "Text" in page
    for path in (f"/workspaces/{id}", f"/workspaces/tabs/{tab['id']}", f"/workspaces/widgets/{found['id']}"):
        assert milo.get(path).status_code == 403, path
    own = milo.get("/account")
    assert own.status_code == 200
    for path in (f"/workspaces/{id}/delete", f"/workspaces/widgets/{found['id']}/move", f"/workspaces/{id}/tabs"):
        assert milo.send(path, {"name": "x", "to": "up"}, page="/account").status_code == 403, path
    assert f'value="{tab["id"]}"' not in milo.get("/workspaces/add?kind=markdown").text


def test_a_data_query_and_a_search_are_added_from_where_they_are_tried(signed_in: Visitor) -> None:
    tab_of(signed_in, "Collected")
    query = "type:worklist.subtotals of:ticket by:[status] format:pie"
    blank = signed_in.get("/api/data_query").text
    assert "Add to a page" not in blank
    tried = signed_in.send("/api/data_query", {"v0": query}, page="/api/data_query")
    found = re.search(r'href="(/workspaces/add\?data_query=[^"]+)"', tried.text)
    assert found
    assert "kind=worklist" not in signed_in.get(found[1]).text  # a list does not show a data query
    searched = re.search(
        r'href="(/workspaces/add\?kind=worklist[^"]+)"', signed_in.get("/search/task?q=status:open").text
    )
    assert searched
    form = signed_in.get(searched[1].replace("&amp;", "&")).text
    assert 'value="status:open"' in form and '<option value="task" selected>' in form


# -- automations -----------------------------------------------------------------------------------------------------

RENDERS = """start:
  record.search/mine:
    output: mine
    inputs:
      record_type: ticket
      record_query: subject:"Seen by a widget"
  return:
    html@text:
      <h3>{{mine|length}} for {{worker_first_name}}</h3><script>alert(1)</script><img src="https://kite.example/a.png">
"""


def test_an_automation_is_shown_with_the_rights_of_the_reader(signed_in: Visitor, nora: Api) -> None:
    few = nora.create("group", name="Few readers", is_private=1).ok()["id"]
    nora.create("ticket", subject="Seen by a widget", group_id=few).ok()
    kind, policy = "svc.trigger.ui.widget", "commands:\n  record.search:\n    allow: yes\n"
    nora.create("automation", name="page.seen", extension_id=kind, script=RENDERS, policy_kata=policy).ok()
    kata = "automation/seen:\n  uri: svc:automation:page.seen\n"
    [id] = bring(
        nora,
        dashboards.page(
            "Rendered",
            widget("Seen", "automation", automations_kata=kata),
            widget("Missing", "automation", automations_kata="automation/seen:\n  uri: nothing\n"),
            widget("Empty", "automation"),
            widget("Wrong", "automation", automations_kata="automation/seen: x\n"),
        ),
    )
    page = signed_in.get(f"/pages/{id}").text
    first, second = re.findall(r'<iframe[^>]*src="(/pages/texts/[0-9]+)"', page)
    shown = signed_in.get(first)
    assert "<h3>1 for Nora</h3>" in shown.text
    assert "alert(1)" not in shown.text and "kite.example" not in shown.text
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    assert "None of its automations can run" in signed_in.get(second).text
    assert "There is no automation yet." in section(page, "Empty")
    assert "takes `uri:` below it" in section(page, "Wrong")
    olga = Visitor(nora.url)
    olga.sign_in("olga@desk.example")
    assert "<h3>0 for Olga</h3>" in olga.get(first).text


def test_a_team_adds_an_automation_to_a_page(signed_in: Visitor, nora: Api) -> None:
    page_id, tab_id = tab_of(signed_in, "Automated")
    add = f"/workspaces/add?tab={tab_id}&kind=automation"
    fields = {"tab": tab_id, "kind": "automation", "label": "Seen", "kata": "automation/seen: x\n"}
    wrong = signed_in.send("/workspaces/add", fields, page=add)
    assert wrong.status_code == 422 and 'id="kata-error"' in wrong.text
    right = fields | {"kata": "automation/seen:\n  uri: svc:automation:page.seen\n"}
    assert signed_in.send("/workspaces/add", right, page=add).status_code == 303
    assert "/pages/texts/" in section(signed_in.get(f"/pages/{page_id}").text, "Seen")


# -- boards ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def board(nora: Api) -> Iterator[tuple[int, int]]:
    """A page with a board of three tasks, and the first task."""
    stages = {"params": {"options": ["Plan", "Make"]}, "context": "task"}
    field = nora.create("custom_field", name="Stage", uri="board_stage", type="D", **stages).ok()
    first, second, third = (nora.create("task", title=f"Board {number}").ok()["id"] for number in range(3))
    nora.update("task", second, status="waiting").ok()
    nora.update("task", third, **{f"custom_{field['id']}": "Make"}).ok()
    query = f"id:[{first},{second},{third}] sort:id"
    [id] = bring(
        nora,
        dashboards.page(
            "Boards",
            widget("Tasks", "board", context="task", query_required=query, field="status"),
            widget("Stages", "board", context="task", query_required=query, field="stage"),
            widget("Wrong", "board", context="task", query_required=query, field="title"),
        ),
    )
    yield id, first
    nora.remove("custom_field", field["id"]).ok()


def columns(html: str) -> dict[str, list[str]]:
    """Returns the cards of a board by the label of their column."""
    found = re.findall(r"<h4[^>]*><bdi>(.*?)</bdi>.*?<ul>(.*?)</ul>", html, re.DOTALL)
    return {label: re.findall(r'<li class="card"><a[^>]*>(.*?)</a>', cards) for label, cards in found}


def test_a_board_has_a_column_for_each_value(signed_in: Visitor, board: tuple[int, int]) -> None:
    page = signed_in.get(f"/pages/{board[0]}").text
    assert columns(section(page, "Tasks")) == {"Open": ["Board 0", "Board 2"], "Waiting": ["Board 1"], "Closed": []}
    stages = columns(section(page, "Stages"))
    assert stages["Plan"] == [] and stages["Make"] == ["Board 2"] and len(stages) == 3
    assert "has no list of values" in section(page, "Wrong")


def test_a_card_is_moved_by_its_buttons_and_back_by_undo(page: Page, nora: Api, board: tuple[int, int]) -> None:
    id, first = board
    page.goto(f"/pages/{id}")
    page.get_by_role("button", name="Move Board 0 to Waiting").click()
    page.wait_for_url(f"**/pages/{id}")
    expect(page.locator(".toast")).to_contain_text("Field set.")
    assert nora.record("task", first).ok()["status"] == "waiting"
    [entry] = nora.search("activity_log", f"target.task:(id:{first}) sort:-id limit:1").ok()["results"][:1] or [None]
    assert entry is not None
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-value='0'] .card").first).to_contain_text("Board 0")
    assert nora.record("task", first).ok()["status"] == "open"


@pytest.mark.exhaustive("its buttons do the same")
def test_a_card_is_dragged_to_a_column(page: Page, nora: Api, board: tuple[int, int]) -> None:
    id, first = board
    page.goto(f"/pages/{id}")
    boards = page.locator("[data-board]").first
    boards.locator(".card", has_text="Board 0").drag_to(boards.locator("[data-value='1']"))
    expect(page.locator("[data-board]").first.locator("[data-value='1']")).to_contain_text("Board 0")
    assert nora.record("task", first).ok()["status"] == "closed"
    assert violations(page) == []


def test_a_card_stays_for_those_who_may_not_move_it(nora: Api) -> None:
    ticket = nora.create("ticket", subject="Pinned", group_id=nora.ids["support"]).ok()["id"]
    params = {"context": "ticket", "query_required": f"id:{ticket}", "field": "status"}
    [id] = bring(nora, dashboards.page("Pins", widget("Pins", "board", **params)))
    olga = Visitor(nora.url)
    olga.sign_in("olga@desk.example")
    assert columns(section(olga.get(f"/pages/{id}").text, "Pins"))["Open"] == ["Pinned"]
    fields = {"ids[]": str(ticket), "field": "status_id", "status_id": "1", "back": f"/pages/{id}"}
    response = olga.send("/records/ticket/set", fields, page="/account")
    assert response.status_code == 422 and "Refused" in response.text
    assert nora.record("ticket", ticket).ok()["status"] == "open"


def test_a_team_builds_a_board(signed_in: Visitor, nora: Api) -> None:
    nora.create("task", title="On my board").ok()
    page_id, tab_id = tab_of(signed_in, "Boarded")
    add = f"/workspaces/add?tab={tab_id}&kind=board"
    fields = {"tab": tab_id, "kind": "board", "label": "Work", "of": "task", "query": "status:open", "field": "title"}
    wrong = signed_in.send("/workspaces/add", fields, page=add)
    assert wrong.status_code == 422 and 'id="field-error"' in wrong.text
    assert signed_in.send("/workspaces/add", fields | {"field": "status"}, page=add).status_code == 303
    assert "On my board" in columns(section(signed_in.get(f"/pages/{page_id}").text, "Work"))["Open"]
