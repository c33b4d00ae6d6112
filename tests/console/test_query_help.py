"""The search of a list while it is typed: suggestions at the caret, mistakes and their positions, terms as chips."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from server.records import search_suggestions
from server.records.search_help.chips import chips
from server.records.search_help.mistakes import QueryMistake
from server.records.search_help.options import MAX_NAMES, MAX_RECORDS, QueryOption
from server.records.search_help.query_help import QueryHelp
from server.search.query_parser import MAX_QUERY_CHARS, MAX_TERMS
from server.store.database import OutOfSteps
from tests.console.browser import Browser, intercept, violations
from tests.console.visitor import Visitor, text_of
from tests.records.desk import Desk
from tests.service import Api, Server

TICKETS = "/search/ticket"
MILO = 1
STATUS = ["status", "status.id", "statusName.id"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Two groups, two workers, an organization, and a custom field of tickets with options."""
    made = Desk(Path(tmp_path_factory.mktemp("small")))
    for name in ("Support", 'Sales "West"'):
        made.create("group", name=name)
    made.create("org", name="Kite Ltd")
    assert made.worker("Milo", last_name="Hart") == MILO and made.worker("Bella", last_name="Ray")
    params = {"options": ["Late night", "noon"]}
    made.create("custom_field", name="Shift", uri="shift_uri", context="ticket", type="D", params=params)
    yield made
    made.close()


def asked(small: Desk, marked: str, uri: str = "ticket") -> tuple[list[QueryOption], QueryMistake | None]:
    """Returns suggestions and the mistake for a text whose caret is `|`."""
    at, q = marked.index("|"), marked.replace("|", "", 1)
    helping = QueryHelp(small.context(), small.registry.type(uri))
    typed = helping.typed(q, at)
    options = helping.offer(typed).options
    return options, helping.mistake_while_typing(q, at, typed, options)


def taken(marked: str, option: QueryOption) -> str:
    q = marked.replace("|", "", 1)
    return q[: option.start] + option.insert + q[option.end :]


def test_tags_are_offered_by_name_and_quoted_if_needed(small: Desk) -> None:
    for name in ("late payer", "late"):
        small.create("tag", name=name)
    options, mistake = asked(small, "tag:lat|")
    assert sorted(taken("tag:lat|", each) for each in options) == ['tag:"late payer"', "tag:late"] and mistake is None
    assert [each.label for each in asked(small, "tag:no|")[0]] == ["none"]


def test_names_of_statuses_are_offered_after_the_states(small: Desk) -> None:
    small.create("ticket_status", name="Waiting for supplier", status="waiting")
    options, mistake = asked(small, "status:wait|")
    assert [taken("status:wait|", each) for each in options] == ["status:waiting", 'status:"Waiting for supplier"']
    assert mistake is None
    assert asked(small, 'status:"Waiting for sup|')[1] is None
    helping = QueryHelp(small.context(), small.registry.type("ticket"))
    assert [each.words for each in helping.chips('status:"Waiting for supplier"')] == ["Status: Waiting for supplier"]


@pytest.mark.parametrize(
    ("marked", "labels"),
    [
        ("sta|", STATUS),
        ("status:open sta|", STATUS),
        ("st|atus:open", STATUS),
        ("!sta|", STATUS),
        ("(sta|", STATUS),
        ("SHI|", ["shift"]),
        ("lim|", ["limit"]),
        ("(lim|", []),
        ('"sta|', []),
        ("status:op|", ["open"]),
        ("status:!op|", ["open"]),
        ("status: op|", ["open"]),
        ("status:open|", []),
        ("status:|", ["open", "waiting", "closed", "deleted"]),
        ("status:[open,wa|", ["waiting"]),
        ("status:open,wa|", ["waiting"]),
        ("status:[wa|,open]", ["waiting"]),
        ('status:"wa|', ["waiting"]),
        ("spam.training:n|", ["not spam", "untrained"]),
        ("owner.id:|", ["me", "any", "none", "Bella Ray", "Milo Hart"]),
        ("owner.id:mi|", ["Milo Hart"]),
        ("owner:mi|", ["Milo Hart"]),
        ("owner:be|", ["Bella Ray"]),  # which is a common word too
        ("watchers:m|", ["me", "Milo Hart"]),
        ("inGroupsOf:|", ["me", "Bella Ray", "Milo Hart"]),
        ("group:Supp|", ["Support"]),
        ("group:(na|", ["name"]),
        ("group:(name:x)| sta", []),
        ("group:(name:x) sta|", ["status", "status.id"]),
        ("bucket:(group:(na|", ["name"]),
        ("created:(si|", ["since"]),
        ('created:"-1 w|', ["-1 week to now"]),
        ("created:ne|", ["never"]),
        ("created:>to|", ["today"]),
        ("links:cust|", ["custom_field", "custom_fieldset", "custom_record"]),
        ("shift:|", ["Late night", "noon"]),
        ("shift:la|", ["Late night"]),
        ("sort:-crea|", ["-created"]),
        ("sort:-created,sub|", ["subject"]),
        ("subject:pu|", []),
        ("nope:x|", []),
        ("nope:(x|", []),
        ("]) ) x:|", []),
    ],
)
def test_suggestions_at_the_caret(small: Desk, marked: str, labels: list[str]) -> None:
    found = [each.label for each in asked(small, marked)[0]]
    assert found[: len(labels)] == labels and (bool(found) is bool(labels))


@pytest.mark.parametrize(
    ("marked", "label", "text"),
    [
        ("sta| pump", "status", "status: pump"),
        ("st|atus:open", "status", "status:open"),
        ("!sta|", "status", "!status:"),
        ("status:!op| pump", "open", "status:!open pump"),
        ("status:[open,wa|]", "waiting", "status:[open,waiting]"),
        ('status:"wa|"', "waiting", "status:waiting"),
        ('created:"-1 w|', "-1 week to now", 'created:"-1 week to now"'),
        ('created:"-1 w| x" a', "-1 week to now", 'created:"-1 week to now" a'),
        ("created:>to|", "today", "created:>today"),
        ("spam.training:n|", "not spam", 'spam.training:"not spam"'),
        ("owner.id:mi|", "Milo Hart", f"owner.id:{MILO}"),
        ("owner:mi|", "Milo Hart", f"owner:(id:{MILO})"),
        ("group:Supp|", "Support", 'group:(name:"Support")'),
        ("group:West|", 'Sales "West"', "group:(id:{})"),
        ("group:|", "(", "group:("),
        ("shift:la|", "Late night", 'shift:"Late night"'),
        ("sort:-created,sub|", "subject", "sort:-created,subject"),
        ("é😀 sta|", "status", "é😀 status:"),
    ],
)
def test_an_inserted_option_is_a_valid_or_continuable_search(small: Desk, marked: str, label: str, text: str) -> None:
    option = next(each for each in asked(small, marked)[0] if each.label == label)
    made = taken(marked, option)
    assert made == text.format(option.note.removeprefix("#"))
    if not made.endswith((":", "(")) and ": " not in made:
        assert QueryHelp(small.context(), small.registry.type("ticket")).mistake(made) is None


def test_suggestions_are_short_and_have_a_description(small: Desk) -> None:
    options, _mistake = asked(small, "|")
    assert len(options) == MAX_NAMES and all(each.note for each in options)
    noted = {each.label: each.note for each in asked(small, "sta|")[0] + asked(small, "group|")[0]}
    assert noted["status"].endswith("(choice)") and noted["group"] == "Its group matches the query. (search of group)"
    assert asked(small, "shi|")[0][0].note == "Custom field Shift. (picklist)"


def test_suggested_records_are_few_and_readable(small: Desk) -> None:
    for number in range(MAX_RECORDS + 3):
        small.create("org", name=f"Larch {number}")
    assert len([each for each in asked(small, "org:larch|")[0] if each.note.startswith("#")]) == MAX_RECORDS
    hidden = small.create("group", name="Management", is_private=1)["id"]
    small.create("ticket", subject="Merger", group_id=hidden)
    for worker, count in ((0, 1), (MILO, 0)):
        helping = QueryHelp(small.context(worker), small.registry.type("message"))
        options = helping.offer(helping.typed("ticket:merger", 13)).options
        assert len([each for each in options if each.label.endswith("Merger")]) == count


@pytest.mark.parametrize(
    ("q", "start", "end", "instead", "told"),
    [
        ("stauts:open", 0, 6, "status", "'stauts' is not a filter of ticket"),
        ("stauts:", 0, 6, "status", "'stauts' is not a filter of ticket"),
        ("pump status:opne", 12, 16, "open", "is not one of open"),
        ("status:[open,opne]", 13, 17, "open", "is not one of open"),
        ("group:(nmae:x)", 7, 11, "name", "'nmae' is not a filter of group"),
        ("status:(open)", 7, 8, "", "takes a value"),
        ("é😀 (a", 3, 4, "", "is not closed"),
        ("a)", 1, 2, "", "has no opening bracket"),
        ('a "b c', 2, 6, "", "is not closed"),
        ("subject:", 0, 8, "", "has no value"),
        ("created:soonish", 8, 15, "", "soonish"),
        ("sort:-craeted", 6, 13, "created", "cannot be sorted by"),
        ("importance:>", 11, 12, "", "compares with nothing"),
        ("set.timezone:Nowhere", 13, 20, "", "Nowhere"),
    ],
)
def test_the_position_of_a_mistake_and_its_correction(
    small: Desk, q: str, start: int, end: int, instead: str, told: str
) -> None:
    helping = QueryHelp(small.context(), small.registry.type("ticket"))
    found = helping.mistake(q)
    assert found is not None and told in found.message
    assert (found.start, found.end, found.instead) == (start, end, instead)
    if instead and q != "stauts:":
        assert helping.mistake(found.mended(q)) is None


@pytest.mark.parametrize(
    ("marked", "is_told"),
    [
        ("|", False),
        ("sta|", False),
        ("status:|", False),
        ("status:op|", False),
        ("status:oqen|", True),
        ("status:op pump|", True),
        ("stauts:|", True),
        ("stauts:open|", True),
        ("subject:|", False),
        ("(status:op|", False),
        ("(stauts:op|", True),
        ("group:(na|", False),
        ("group:(nmae:x|", True),
        ('created:"-1 w|', False),
        ('"pump le|', False),
        ("status:[open,wa|", False),
        ("importance:>|", False),
        ("importance:many|", True),
        ("(status:open| x", True),
    ],
)
def test_unfinished_input_is_not_a_mistake(small: Desk, marked: str, is_told: bool) -> None:
    assert (asked(small, marked)[1] is not None) is is_told


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("status:open pump", [("Status: open", "pump"), ("“pump”", "status:open")]),
        ("!pump status:!open", [("without “pump”", "status:!open"), ("Status: not open", "!pump")]),
        ("status:! open x", [("Status: not open", "x"), ("“x”", "status:! open")]),
        ("a OR b AND c sort:-created", [
            ("“a”", "b AND c sort:-created"), ("“b” “c”", "a sort:-created"), ("Sorted by created ↓", "a OR b AND c"),
        ]),
        ("status:open group:Support OR id:5", [
            ("Status: open", "group:Support OR id:5"), ("Group: Support", "status:open OR id:5"),
            ("ID: 5", "status:open OR group:Support"),
        ]),
        ("created:\"-1 week to now\" importance:>=5", [
            ("Created: -1 week to now", "importance:>=5"), ("Importance: at least 5", 'created:"-1 week to now"'),
        ]),
        ("importance:1...5 created:>today", [
            ("Importance: 1 to 5", "created:>today"), ("Created: after today", "importance:1...5"),
        ]),
        ("status:[open,waiting]", [("Status: open or waiting", "")]),
        (f'owner.id:{MILO} group:(name:"a b")', [
            ("Owner: Milo Hart", 'group:(name:"a b")'), ('Group: (name:"a b")', f"owner.id:{MILO}"),
        ]),
        ("owner.id:99999", [("Owner: 99999", "")]),
        ("stauts:open x", [("stauts:open", "x"), ("“x”", "stauts:open")]),
        ("shift:noon", [("Shift: noon", "")]),
        ('! "a b" !"c d"', [("without “”", '"a b" !"c d"'), ("“a b”", '! !"c d"'), ("without “c d”", '! "a b"')]),
        ("OR a", [("“OR”", "a"), ("“a”", "OR")]),
        ("(a OR b) c", [("(a OR b)", "c"), ("“c”", "(a OR b)")]),
        ("(a", []),
        ("", []),
    ],
)  # fmt: skip
def test_terms_are_chips_that_can_be_removed(small: Desk, q: str, expected: list[tuple[str, str]]) -> None:
    found = QueryHelp(small.context(), small.registry.type("ticket")).chips(q)
    assert [(each.words, each.without) for each in found] == expected
    assert all(q[each.start : each.end] == each.text for each in found)


@pytest.mark.sqlite("what runs on the event loop")
def test_chips_stay_within_the_budget_of_the_event_loop(small: Desk) -> None:
    """The list was found there, and would otherwise be searched again on a thread."""
    on_loop = replace(small.context(), steps=100_000)
    record_type = small.registry.type("worker")
    assert search_suggestions.labels(on_loop, record_type, [MILO, 10**17]) == {MILO: "Milo Hart"}
    with pytest.raises(OutOfSteps):
        search_suggestions.records_by_name(on_loop, record_type, "milo", 1)


@pytest.mark.parametrize("q", ['"' * 3001, "(" * 3000, "[" * 3000, "a:" * 3000, "! " * 3000, "x," * 4000, ":" * 8000])
def test_hostile_texts_are_only_mistakes(small: Desk, q: str) -> None:
    helping = QueryHelp(small.context(), small.registry.type("ticket"))
    for at in (0, len(q) // 2, len(q)):
        typed = helping.typed(q, at)
        assert 0 <= typed.start <= at <= typed.end <= len(q)
        assert len(helping.offer(typed).options) <= MAX_NAMES + MAX_RECORDS
    assert len(helping.chips(q)) <= MAX_TERMS


def test_chips_work_without_a_store() -> None:
    assert [each.words for each in chips("nope:1 x", lambda name: None)] == ["nope:1", "“x”"]


# -- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_responds_in_json(signed_in: Visitor, visitor: Visitor) -> None:
    response = signed_in.get("/-/query/ticket", params={"q": "status:op", "at": 9}).json()
    assert response["options"] == [{"label": "open", "note": "", "insert": "open", "start": 7, "end": 9}]
    assert response["takes_first"] is True and response["mistake"] is None and response["chips"][0]["without"] == ""
    mistake = signed_in.get("/-/query/ticket", params={"q": "stauts:open"}).json()["mistake"]
    assert (mistake["start"], mistake["end"], mistake["instead"]) == (0, 6, "status")
    long = signed_in.get("/-/query/ticket", params={"q": "x" * (MAX_QUERY_CHARS + 1)}).json()
    assert str(MAX_QUERY_CHARS) in long["mistake"]["message"] and long["options"] == long["chips"] == []
    assert signed_in.get("/-/query/nope").status_code == 404
    assert signed_in.get("/-/query/ticket?at=x").status_code == 200  # treated as after the end
    assert visitor.get("/-/query/ticket").status_code in (303, 401, 403)


def test_chips_and_mistakes_need_no_scripts(signed_in: Visitor, nora: Api) -> None:
    page = signed_in.get(TICKETS, params={"q": "status:open pump", "sort": "-updated"}).text
    listed = re.search(r"<ul[^>]*data-chips.*?</ul>", page, re.DOTALL)
    assert listed is not None and 'aria-label="Remove Status: open"' in listed[0]
    assert f'href="{TICKETS}?q=pump&amp;sort=-updated"' in listed[0]
    response = signed_in.get(TICKETS, params={"q": "pump stauts:open"})
    assert response.status_code == 422 and "pump <mark>stauts</mark>:open" in response.text
    assert f'href="{TICKETS}?q=pump+status%3Aopen"' in response.text and 'aria-invalid="true"' in response.text
    assert "“status”" in text_of(response.text)


def test_positions_refer_to_the_typed_text(signed_in: Visitor) -> None:
    """The list prepends a filter of its own."""
    page = signed_in.get("/inbox", params={"q": "pump )"}).text
    assert "pump <mark>)</mark>" in page and "at position 5" in page


# -- with scripts -----------------------------------------------------------------------------------------------------


def test_a_search_is_written_with_the_keyboard_alone(page: Page, nora: Api) -> None:
    for number, status in enumerate(("open", "closed")):
        nora.create("task", title=f"typed {number}", status=status).ok()
    page.goto("/search/task?q=title:typed*")
    expect(page.locator("tbody tr")).to_have_count(2)
    field = page.get_by_role("combobox", name="Search")
    field.focus()
    page.keyboard.press("End")
    page.keyboard.type(" sta")
    expect(page.locator("[data-query] + ul").get_by_role("option", name="status").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("title:typed* status:")
    expect(page.locator("[data-query] + ul").get_by_role("option", name="closed")).to_be_visible()
    page.keyboard.type("cl")
    expect(page.locator("[data-query] + ul").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(field).to_have_value("title:typed* status:closed ")
    expect(page.locator("tbody tr")).to_have_count(2)  # nothing was sent yet
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(field).to_be_focused()
    expect(page.locator("[data-chips] li")).to_have_text(["Title: typed* ×", "Status: closed ×"])
    page.get_by_role("link", name="Remove Status: closed").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("combobox", name="Search")).to_have_value("title:typed*")


def test_a_mistake_is_reported_and_the_rows_stay(page: Page, nora: Api) -> None:
    nora.create("task", title="stays").ok()
    page.goto("/search/task?q=title:stays")
    field = page.get_by_role("combobox", name="Search")
    field.focus()
    page.keyboard.press("End")
    page.keyboard.type(" stauts:open")
    told = page.locator("#q-error")
    expect(told).to_contain_text("'stauts' is not a filter of task")
    expect(told.locator("mark")).to_have_text("stauts")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_attribute("aria-describedby", "q-error")
    expect(page.locator(".stale tbody tr")).to_have_count(1)
    assert violations(page, part="main") == []
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("stauts"))
    expect(page.locator("#q-error")).to_have_attribute("role", "alert")
    expect(page.locator(".stale tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Use “status”").click()
    expect(page.locator("#q-error")).to_have_count(0)
    expect(page.locator("[data-rows]:not(.stale) tbody tr")).to_have_count(1)
    expect(page.get_by_role("combobox", name="Search")).to_have_value("title:stays status:open")


@pytest.mark.exhaustive("every key of the list of options")
def test_the_list_of_options_closes_and_releases_its_keys(page: Page) -> None:
    page.goto(TICKETS)
    field = page.get_by_role("combobox", name="Search")
    field.focus()
    page.keyboard.type("stat")
    expect(field).to_have_attribute("aria-expanded", "true")
    assert violations(page, part="main") == []
    page.keyboard.press("Escape")
    expect(field).to_have_attribute("aria-expanded", "false")
    expect(field).to_have_value("stat")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(field).to_have_value("status:")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(field).not_to_be_focused()


@pytest.mark.exhaustive("from right to left as well")
def test_it_works_from_right_to_left(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as opened:
        opened.goto(TICKETS)
        opened.evaluate("document.documentElement.dir = 'rtl'")
        field = opened.get_by_role("combobox", name="Search")
        field.focus()
        opened.keyboard.type("sta")
        first = opened.locator("[data-query] + ul").get_by_role("option").first
        expect(first).to_be_visible()
        line, option = field.bounding_box(), first.bounding_box()
        assert line is not None and option is not None
        assert abs((line["x"] + line["width"]) - (option["x"] + option["width"])) < 16  # both begin at the right
        assert option["y"] >= line["y"] + line["height"]


@pytest.mark.exhaustive("late options, as in test_late_answers.py")
def test_a_pending_request_invalidates_older_options(page: Page, nora: Api) -> None:
    """An option belongs to the text for which it was suggested."""
    page.goto(TICKETS)
    field = page.get_by_role("combobox", name="Search")
    field.focus()
    page.keyboard.type("sta")
    expect(page.locator("[data-query] + ul").get_by_role("option").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.evaluate("document.querySelector('[data-query]').value = 'own'")
    page.keyboard.press("Enter")
    expect(page.locator("[data-query] + ul").get_by_role("option").first).to_have_text(re.compile("owner"))
    expect(field).to_have_value("own")


@pytest.mark.exhaustive("every end of a request")
def test_a_failed_request_is_reported_and_nothing_lost(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, refused="ERR_FAILED") as opened:
        intercept(opened)
        opened.goto(TICKETS)
        opened.route("**/-/query/**", lambda route: route.abort())
        field = opened.get_by_role("combobox", name="Search")
        field.focus()
        opened.keyboard.type("sta")
        expect(opened.locator("main .help")).to_contain_text("The server does not respond")
        expect(field).to_have_value("sta")
