"""Functions that call the service: addresses, privileges, records, calendars, automations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server import settings
from server.automation.automation_service import ServiceHost
from server.automation.host import FUNCTION, TEMPLATE_FUNCTION
from server.outbound import dns
from server.template.registry import FUNCTIONS
from tests.records.desk import BASE_URL, Desk
from tests.template.run_cases import Case, Fails, calls, check, every, failure, is_answered, render

Functions = Mapping[str, Callable[..., Any]]
TIMES_TWO = "inputs:\n  text/n:\n    type: number\nstart:\n  return:\n    twice@int: {{inputs.n * 2}}"
AGAIN = "start:\n  set:\n    found@json: {{svc_automation('again')|json_encode}}\n  return:\n    found@key: found"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("desk"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, int]:
    """The people; a ticket of Support, a calendar with an hour of office, a quarter of it busy, automations."""
    found = desk.people()
    desk.update("group", found["support"], is_private=1)
    found["ticket"] = desk.create("ticket", subject="Printer", group_id=found["support"], participants="a@x.example")[
        "id"
    ]
    found["calendar"] = desk.create("calendar", name="Office", owner__context="app")["id"]
    for name, is_available, start, end in (("open", 1, "10:00", "11:00"), ("taken", 0, "10:15", "10:30")):
        desk.create(
            "calendar_event", calendar_id=found["calendar"], name=name, is_available=is_available,
            date_start=f"2026-03-02 {start}", date_end=f"2026-03-02 {end}",
        )  # fmt: skip
    for name, trigger, script in (
        ("twice", TEMPLATE_FUNCTION, TIMES_TWO), ("plain", FUNCTION, TIMES_TWO), ("again", TEMPLATE_FUNCTION, AGAIN),
        ("wrong", TEMPLATE_FUNCTION, "start:\n  log: noted\n  error: not today"),
    ):  # fmt: skip
        desk.create("automation", name=name, extension_id=trigger, script=script)
    return found


@pytest.fixture(scope="module")
def by(desk: Desk, ids: dict[str, int]) -> Callable[[str], Functions]:
    """The functions of templates that a worker triggered; "" for the service itself."""
    return lambda name: ServiceHost(desk.context(ids[name] if name else 0)).functions()


ADDRESSES: list[Case] = [
    ('{{ svc_url("/c/profiles?id=1") }}', f"{BASE_URL}/c/profiles?id=1"),
    ('{{ svc_url("c/ä b", false) }}', "/c/%C3%A4%20b"),
    ('{{ svc_url("https://evil.example/x") }}', f"{BASE_URL}/https://evil.example/x"),
    ("{{ svc_url(null) }}", f"{BASE_URL}/"),
    ('{{ svc_avatar_url("worker", 3, 17) }}', f"{BASE_URL}/avatars/worker/3?v=17"),
    ('{{ svc_avatar_image("svc.contexts.org", "4") }}',
     f'<img src="{BASE_URL}/avatars/org/4?v=0" width="16" height="16" alt="">'),
    ('{{ svc_avatar_url("ticket", 3) }}', Fails("tickets have no pictures")),
    ('{{ svc_avatar_url("tickt", 3) }}', Fails("there is no record type 'tickt'; did you mean 'ticket'?")),
    ("{{ svc_file_url(999)|json_encode }}", "null"),
    ('{{ svc_extract_uris(h).tokens|json_encode(64) }}',
     '{"#uri-1":"http://x.example/?a=1&b=2","#uri-2":"https://i.example/p.png"}',
     {"h": '<a href="http://x.example/?a=1&amp;b=2" onclick="e()">x</a><img src="https://i.example/p.png">'}),
    ('{{ svc_extract_uris("<p>a > b</p>")|json_encode(64) }}',
     '{"tokens":[],"context":[],"template":"<p>a &gt; b</p>"}'),
    ('{% set f = svc_extract_uris(h) %}{{ f.context["#uri-1"].tag }} {{ f.context["#uri-1"].attribute }}', "a href",
     {"h": '<a href="https://x.example">x</a>'}),
    ("{{ svc_extract_uris(h).tokens|length }}", "0",
     {"h": '<a href="javascript:e()">x</a><script src="//e.example"></script>'}),
]  # fmt: skip


@every(ADDRESSES)
def test_addresses(case: Case, by: Callable[[str], Functions]) -> None:
    check(case, host=by("nora"))


def test_a_file_is_downloaded_where_its_record_says(desk: Desk, by: Callable[[str], Functions]) -> None:
    id = desk.own("attachment", name="a b.txt", mime_type="text/plain")
    assert render("{{ svc_file_url(id) }}", {"id": id}, host=by("")) == f"{BASE_URL}/files/{id}/a%20b.txt"


PRIVILEGES = [
    ("nora", 'svc_has_priv("contexts.svc.contexts.org.create")', True),
    ("milo", 'svc_has_priv("contexts.svc.contexts.org.no")', False),
    ("", 'svc_has_priv("anything")', True),
    ("nora", 'svc_has_priv("x", "worker", milo)', False),
    ("milo", 'svc_has_priv("x", "worker", nora)', True),
    ("milo", 'svc_has_priv("x", "app", 0)', True),
    ("milo", 'svc_has_priv("x", "worker", 999)', False),
    ("milo", 'svc_record_readable("ticket", ticket)', True),
    ("olga", 'svc_record_readable("ticket", ticket)', False),
    ("olga", 'svc_record_readable("ticket", ticket, "worker", milo)', True),
    ("nora", 'svc_record_readable("ticket", 999)', False),
    ("milo", 'svc_record_writeable("ticket", ticket)', True),
    ("olga", 'svc_record_writeable("ticket", ticket)', False),
    ("milo", 'svc_record_readable("group", support)', True),
    ("milo", 'svc_record_writeable("group", support)', False),
    ("nora", 'svc_record_writeable("svc.contexts.group", support)', True),
]


@pytest.mark.parametrize(("name", "call", "wanted"), PRIVILEGES)
def test_privileges(name: str, call: str, wanted: bool, ids: dict[str, int], by: Callable[[str], Functions]) -> None:
    assert render(f"{{{{ {call} ? 'yes' : 'no' }}}}", ids, host=by(name)) == ("yes" if wanted else "no")


REFUSED: list[Case] = [
    ('{{ svc_record_readable("tickt", 1) }}', Fails("there is no record type 'tickt'")),
    ('{{ svc_has_priv("x", "group", 1) }}', Fails("'group' cannot act; use a worker or the application")),
    ("\n{{ svc_calendar_time_elapsed(999, 0, 1) }}", Fails("there is no calendar 999", line=2)),
    ('{{ svc_calendar_time_elapsed(1, "no such day", 1) }}', Fails("is not a time")),
    ('{{ svc_calendar_time_elapsed(1, "1971-01-01", "2030-01-01") }}', Fails("range")),
    ('{{ dns_get_record("x.example", "a") }}', Fails("the setting script_dns allows it")),
    ('{{ dns_host_by_ip("192.0.2.1") }}', Fails("the setting script_dns allows it")),
]


@every(REFUSED)
def test_what_cannot_be_answered_is_an_error_of_the_template(case: Case, by: Callable[[str], Functions]) -> None:
    check(case, host=by("nora"))


TYPES: list[Case] = [
    ('{{ "ticket"|context_name }} {{ "svc.contexts.ticket"|context_name("singular") }}', "tickets ticket"),
    ('{{ "ticket"|context_name("id") }} {{ "svc.contexts.ticket"|context_alias }}', "svc.contexts.ticket ticket"),
    ('{{ "tickt"|context_name }}{{ nope|context_alias }}|', "|"),
    ('{{ "ticket" is record type("ticket") }}', "1"),
    ('{{ "svc.contexts.ticket" is record type("org", "ticket") }}', "1"),
    ('{{ "ticket" is record type("svc.contexts.ticket") }}', "1"),
    ('{{ "tickets" is record type(["org", "ticket"]) }}', "1"),
    ('{{ "org" is record type("ticket") }}|', "|"),
    ('{{ "nosuch" is record type("nosuch") }}|', "|"),
    ('{{ "org" is not record type "ticket" }}', "1"),
]


@every(TYPES)
def test_types_are_known_by_all_of_their_names(case: Case, by: Callable[[str], Functions]) -> None:
    check(case, host=by("milo"))


ELAPSED = [
    ('"2026-03-02 09:00", "2026-03-02 12:00"', 2700),
    ('"2026-03-02 10:10", "2026-03-02 10:31"', 360),
    ('"2026-03-02 12:00", "2026-03-02 09:00"', 0),
    ('date("2026-03-02 10:00"), 1772445660', 60),
]


@pytest.mark.parametrize(("dates", "seconds"), ELAPSED)
def test_available_seconds(dates: str, seconds: int, ids: dict[str, int], by: Callable[[str], Functions]) -> None:
    source = f"{{{{ svc_calendar_time_elapsed(calendar, {dates}) }}}}"
    assert render(source, ids, host=by("milo")) == str(seconds)


CALLS: list[Case] = [
    ('{{ svc_automation("twice", {n: 21})|json_encode }}', '{"exit_state":"return","return":{"twice":42}}'),
    ('{{ svc_automation("svc:automation:twice", {n: "4"}).exit_state }}', "return"),
    ('{{ svc_automation("plain", {n: 1})|json_encode }}{{ svc_automation("nosuch")|json_encode }}', "falsefalse"),
    ('{{ svc_automation("wrong")|json_encode }}', '{"exit_state":"error","error":"not today"}'),
]


@every(CALLS)
def test_templates_call_automations_that_are_made_for_it(
    case: Case, ids: dict[str, int], by: Callable[[str], Functions]
) -> None:
    check(case, host=by("milo"))


def test_a_called_automation_logs(desk: Desk, ids: dict[str, int], by: Callable[[str], Functions]) -> None:
    before = _entries(desk)
    render('{{ svc_automation("wrong") }}', host=by(""))
    assert _entries(desk) > before


def _entries(desk: Desk) -> int:
    table = desk.registry.type("automation_log").table
    return len(desk.read(lambda tx: tx.find(table, automation_name="wrong")))


def test_automations_that_call_themselves_through_templates_end(by: Callable[[str], Functions]) -> None:
    found = render('{{ svc_automation("again")|json_encode }}', host=by(""))
    assert found.count('"found":') == 8


def test_names_are_looked_up_where_the_setting_allows_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def records(name: str, type: str) -> list[dict[str, Any]]:
        asked.append((name, type))
        return [{"ip": "192.0.2.7"}]

    monkeypatch.setattr(dns, "records", records)
    monkeypatch.setattr(dns, "name_of", lambda address: f"host-{address}")
    allowed = replace(desk.service, settings=settings.load({"script_dns": "yes"}, {}, data_folder=Path("none")))
    host = ServiceHost(replace(desk.context(), service=allowed)).functions()
    source = "{{ dns_get_record('x.example', 'A')[0].ip }} {{ dns_get_record('x.example')|json_encode }}"
    assert render(f"{source} {{{{ dns_host_by_ip('192.0.2.7') }}}}", host=host) == "192.0.2.7 [] host-192.0.2.7"
    assert asked == [("x.example", "a")]


def test_without_a_service_there_is_nothing_to_ask() -> None:
    failed = failure('\n{{ svc_url("x") }}', host={})
    assert failed.message == "'svc_url' is not available in this template (line 2)"


ODD: list[Any] = [
    None, True, -1, 2**63 - 1, float("nan"), "", "abc", "é\0\ud800", "worker", "ticket", "now", "9" * 500, [],
    {"a": [1]},
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(name for name in FUNCTIONS if name.startswith(("svc_", "dns_"))))
def test_no_argument_brings_a_function_down(name: str, by: Callable[[str], Functions]) -> None:
    host = by("milo")
    for source in calls(FUNCTIONS[name], f"{name}({{}})"):
        for value in ODD:
            for odd in ODD:
                assert is_answered(source, {"v": value, "odd": odd}, host=host), (source, value, odd)
