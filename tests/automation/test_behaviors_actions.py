"""Actions of behaviors: the keys that each adds to the dictionary, and its state after a failure."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from server.automation.behaviors import actions as families
from server.automation.behaviors import delayed_runs
from server.automation.behaviors.action import ACTIONS
from server.errors import BudgetSpent, Rejected
from server.jobs.job_queue import JOB, JobQueue, body_of
from server.record_types.shared.behavior_events import CALLED, WEBHOOK
from server.times import instant
from tests.automation.bots import EVENT, Bots, actions, add, bots, private, public, put
from tests.outbound.peer import HOST, Peer, answer
from tests.records.desk import NOW

__all__ = ["bots"]
RECORD = "core.bot.action.record."
MISSING = object()


def record(name: str, into: str = "made", **params: Any) -> dict[str, Any]:
    return {"action": RECORD + name, "object_placeholder": into} | params


def task(title: str, **more: Any) -> str:
    return json.dumps({"title": title} | more)


def test_every_action_of_the_reference_exists(bots: Bots):
    families.load()
    assert {
        "_set_custom_var", "add_api_response", "_exit", "_run_subroutine", "_run_behavior", "_schedule_behavior",
        "_unschedule_behavior", "_get_key", "_set_key", "core.bot.action.record.create",
        "core.bot.action.record.update", "core.bot.action.record.upsert", "core.bot.action.record.delete",
        "core.bot.action.record.retrieve", "core.bot.action.record.search", "core.bot.action.data_query",
        "core.va.action.http_request", "core.bot.action.automation", "core.bot.action.package.import",
        "core.bot.action.email_parser", "core.bot.action.calculate_time_elapsed", "core.bot.action.create_reminder",
        "core.va.action.create_attachment", "_get_links", "set_links", "add_watchers", "send_email",
    } == set(ACTIONS)  # fmt: skip
    assert all(each.note for each in ACTIONS.values())


# -- placeholders and the response ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "kept"),
    [
        (put("it", "plain"), "plain"),
        (put("it", "{{1 + 1}}"), "2"),
        (put("it", "{{var_who|upper}}"), "ANN"),
        (put("it", "{{va_name}} of {{behavior_bot_owner__context}}"), "Shop bot of svc.contexts.app"),
        (put("it", ""), MISSING),
        (put("it", "0"), MISSING),
        (put("it", "{{''}}"), ""),
        (put("it", "{{0}}"), "0"),
        (put("it", "{{ broken"), False),
        (put("it", "{{1 / 0}}"), False),
        (put("it", "{{no_such_function()}}"), False),
        (put("it", '{"a": [1, "{{var_who}}", null, true, 1.5]}', "json"), {"a": [1, "Ann", None, True, 1.5]}),
        (put("it", "[]", "json"), []),
        (put("it", '"text"', "json"), "text"),
        (put("it", "no json", "json"), None),
        (put("it", "[" * 500 + "]" * 500, "json"), None),
        (put("it", "NaN", "json"), None),
        (put("it", "x", is_simulator_only="1"), MISSING),
        (put("", "x"), MISSING),
        ({"action": "_set_custom_var"}, MISSING),
        ({"action": "_set_custom_var", "var": "it", "value": 5}, "5"),
    ],
)
def test_placeholders(bots: Bots, action, kept):
    assert bots.run(actions(action), variables={"var_who": public("S")}, var_who="Ann").get("it", MISSING) == kept


def test_the_response_grows_line_by_line(bots: Bots):
    found = bots.run(actions(add("a{{1}}"), add(""), add("{{ broken"), add("b")))
    assert found["_response"] == "a1\n\nb\n"
    assert "_response" not in bots.run(actions(put("x", "1")))


def test_the_size_of_the_response_is_limited(bots: Bots):
    long = put("x", "{% for i in 1..20 %}{{x}}{{x}}ab{% endfor %}")
    with pytest.raises(BudgetSpent):
        bots.run(actions(*[long] * 10))


@pytest.mark.parametrize(
    ("variable", "given", "kept"),
    [
        (private("S"), {"value": "{{'a'|upper}}"}, "A"),
        (public("N"), {"value": "{{5 + 1}} pieces"}, 6),
        (private("C"), {"value": "1"}, 1),
        (private("C"), {"value": "{{0}}"}, 0),
        (private("E"), {"value": "+1 day"}, NOW + 86400),
        (private("D", options="a\nb"), {"value": "b"}, "b"),
        (private("D", options="a\nb"), {"value": "c"}, MISSING),
        (private("E"), {"value": "no day"}, MISSING),
        (private("S"), {"value": "{{ broken"}, MISSING),
        (private("X"), {"values": ["a", "{{'b'}}"]}, ["a", "b"]),
        (private("L", context="task"), {"value": "7"}, 7),
        (private("contexts"), {"value": "7"}, MISSING),
        (private("W"), {"worker_id": ["99"]}, MISSING),
        (private("W"), {"worker_id": ["x"]}, MISSING),
    ],
)
def test_variables_are_set_by_their_type(bots: Bots, variable, given, kept):
    variables = {"var_it": variable, "var_sent": public("N")}
    found = bots.run(actions({"action": "var_it"} | given), variables=variables, var_sent="1", var_it="0")
    assert found.get("var_it", MISSING) == (kept if kept is not MISSING or variable["is_private"] == "1" else 0)


def test_workers_are_chosen_from_a_list(bots: Bots):
    ids, variables = bots.ids, {"var_it": private("W")}
    listed = ["99", str(ids["milo"]), "{{99}}", str(ids["olga"])]
    assert bots.run(actions({"action": "var_it", "worker_id": listed}), variables=variables)["var_it"] == ids["milo"]
    random = bots.run(actions({"action": "var_it", "worker_id": listed, "mode": "random"}), variables=variables)
    assert random["var_it"] in (ids["milo"], ids["olga"])


@pytest.fixture(scope="module")
def pens(bots: Bots) -> list[int]:
    """Five tasks that a search finds."""
    return [bots.desk.create("task", title=f"Pen {number}")["id"] for number in range(5)]


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([{"quick_search": "Pen sort:id"}], [0, 1, 2, 3, 4]),
        ([{"quick_search": "Pen sort:-id", "mode": "replace", "limit": "first", "limit_count": "2"}], [4, 3]),
        ([{"quick_search": "Pen sort:id", "limit": "last", "limit_count": "2"}], [3, 4]),
        ([{"quick_search": "Pen", "limit": "first", "limit_count": "0"}], []),
        ([{"quick_search": 'title:"Pen 1"'}, {"quick_search": 'title:"Pen {{3}}"', "mode": "add"}], [1, 3]),
        ([{"quick_search": "Pen sort:id"}, {"quick_search": 'title:"Pen 1"', "mode": "subtract"}], [0, 2, 3, 4]),
        ([{"quick_search": 'title:"Pen 1"'}, {"quick_search": "nosuch:1"}], [1]),
        ([{"quick_search": 'title:"Pen 1"'}, {"quick_search": "Pen", "mode": "odd"}], [1]),
        ([{"quick_search": 'title:"Pen 1"'}, {"quick_search": "Pen", "limit": "some"}], [1]),
    ],
)
def test_lists_are_searched(bots: Bots, pens, steps, kept):
    todo = [{"action": "var_pens"} | each for each in steps]
    found = bots.run(actions(*todo), variables={"var_pens": private("ctx_svc.contexts.task")})
    assert list(found["var_pens"]) == [str(pens[place]) for place in kept]


def test_a_random_part_of_a_list(bots: Bots, pens):
    todo = {"action": "var_pens", "quick_search": "Pen sort:id", "limit": "random", "limit_count": "3"}
    found = bots.run(actions(todo, add("{{var_pens|keys|join(',')}}")), variables={"var_pens": private("ctx_task")})
    assert len(found["var_pens"]) == 3 and set(found["var_pens"]) <= {str(id) for id in pens}


# -- records ----------------------------------------------------------------------------------------------------------


def test_a_record_is_created_changed_and_deleted(bots: Bots):
    field = bots.desk.create("custom_field", name="Size", context="task", type="S", uri="size")["id"]
    create = record("create", context="task", changeset_json=task("{{var_title}}", **{f"custom_{field}": "XL"}))
    found = bots.run(actions(create), variables={"var_title": public("S")}, var_title="Paint")["made"]
    id = found["id"]
    assert (found["title"], found[f"custom_{field}"], bots.desk.row("task", id)["title"]) == ("Paint", "XL", "Paint")
    assert found["record_url"].startswith("https://desk.example")
    update = record("update", "it", context="svc.contexts.task", id="{{var_id}}", changeset_json=task("Painted"))
    variables = {"var_id": public("N")}
    assert bots.run(actions(update), variables=variables, var_id=id)["it"]["title"] == "Painted"
    retrieve = record("retrieve", "it", context="tasks", id=f"{id}")
    found = bots.run(actions(retrieve, put("said", "{{it.title}} {{it.owner__label}}")))
    assert (found["it"]["title"], found["said"]) == ("Painted", "Painted ")
    bots.run(actions(record("delete", context="task", id=str(id))))
    assert bots.desk.found("task", f"id:{id}") == []
    assert bots.run(actions(retrieve))["it"] is None


def test_an_upsert_creates_changes_or_does_nothing(bots: Bots):
    changes = task("Ink blue", importance=7)
    upsert = record("upsert", context="task", query="title:{{var_query}}", changeset_json=changes)
    variables = {"var_query": public("S")}

    def run(query):
        return bots.run(actions(upsert), variables=variables, var_query=query)["made"]

    first = run('"Ink blue"')["id"]
    assert run('"Ink blue"')["id"] == first and bots.desk.row("task", first)["importance"] == 7
    bots.desk.create("task", title="Ink red")
    assert run('"Ink*"') is None and run("(") is None
    assert len(bots.desk.found("task", 'title:"Ink*"')) == 2


def test_records_are_searched(bots: Bots, pens):
    def search(query, **more):
        return bots.run(actions(record("search", "found", context="task", query=query, **more)))

    found = search("Pen sort:-id limit:2")
    assert [each["title"] for each in found["found"].values()] == ["Pen 4", "Pen 3"]
    assert list(found["found"]) == [str(pens[4]), str(pens[3])]
    assert (found["found__total"], found["found__page"]) == (5, 1)
    assert search("Pen sort:id limit:2 page:2")["found__page"] == 2
    assert search('title:"Pen 3" limit:1')["found"]["id"] == pens[3]
    assert search("title:none limit:1")["found"] is None
    assert search("title:none")["found"] == {} and search("nosuch:1")["found"] == {}
    expanded = search('title:"Pen 3" limit:1', expand="links\n{{'watchers'}}")["found"]
    assert expanded["links"] == {} and expanded["watchers"] == {}


@pytest.mark.parametrize(
    "action",
    [
        record("create", context="nothing", changeset_json=task("x")),
        record("create", changeset_json=task("x")),
        record("create", context="task", changeset_json="{}"),
        record("create", context="task", changeset_json="no json"),
        record("create", context="task", changeset_json="[1]"),
        record("create", context="task", changeset_json='{"nosuch": 1}'),
        record("create", context="task", changeset_json="{{ broken"),
        record("create", context="task"),
        record("create", context="activity_log", changeset_json='{"activity_point": "x"}'),
        record("update", context="task", id="99", changeset_json=task("x")),
        record("update", context="task", id="x", changeset_json=task("x")),
        record("update", context="task", changeset_json=task("x")),
        record("upsert", context="task", query="", changeset_json=task("x")),
        record("retrieve", context="task", id="99"),
        record("retrieve", context="task", id="9" * 40),
        record("retrieve", context="automation_log", id="1"),
        {"action": "core.bot.action.data_query", "object_placeholder": "made", "query": "type:nothing"},
        {"action": "core.bot.action.data_query", "object_placeholder": "made", "query": ""},
        {"action": "core.bot.action.automation", "object_placeholder": "made", "automations_kata": "automation/x: y"},
        {"action": "core.bot.action.automation", "object_placeholder": "made", "automations_kata": ""},
        {"action": "core.bot.action.package.import", "object_placeholder": "made", "package_json": "{}"},
        {"action": "core.bot.action.package.import", "object_placeholder": "made", "package_json": '{"package": 1}'},
        {"action": "_get_key", "var": "made", "key": ""},
        {"action": "_get_key", "var": "made", "key": "unknown"},
        {"action": "_run_behavior", "var": "made", "behavior_id": "99"},
        {"action": "_run_behavior", "var": "made", "behavior_id": "unknown_uri"},
        {"action": "_run_behavior", "var": "made"},
    ],
)
def test_a_failure_yields_null_and_the_run_continues(bots: Bots, action):
    before = len(bots.desk.found("task", ""))
    found = bots.run(actions(action, add("on")))
    assert found["made"] is None and found["_response"] == "on\n" and len(bots.desk.found("task", "")) == before


def test_the_bot_acts_in_its_own_name(bots: Bots):
    made = bots.run(actions(record("create", context="task", changeset_json=task("By the bot"))), by="olga")["made"]
    comment = {"target__context": "task", "target_id": made["id"], "comment": "Done."}
    note = bots.run(actions(record("create", context="comment", changeset_json=json.dumps(comment))))["made"]
    assert (note["author__context"], note["author_id"]) == ("svc.contexts.bot", bots.bot)
    entry = bots.desk.log("comment.create")[-1]
    assert (entry["actor__context"], entry["actor_id"]) == ("svc.contexts.bot", bots.bot)
    assert entry["params"]["variables"]["actor"] == "Shop bot"


# -- other parts of the service ---------------------------------------------------------------------------------------


def test_data_queries(bots: Bots, pens):
    ask = {"action": "core.bot.action.data_query"}
    found = bots.run(actions(ask | {"query": "type:worklist.records of:task query:(Pen limit:2) format:dictionaries"}))
    assert len(found["_results"]["data"]) == 2 and found["_results"]["_"]["type"] == "worklist.records"
    named = bots.run(actions(ask | {"query": "type:record.types", "object_placeholder": "types"}))
    assert named["types"]["data"]


@pytest.fixture(scope="module")
def automations(bots: Bots) -> None:
    def keep(name: str, script: str, trigger: str = "svc.trigger.behavior.action") -> None:
        bots.desk.create("automation", name=name, extension_id=trigger, script=script)

    keep(
        "shop.double",
        "inputs:\n  text/number:\n    type: number\nstart:\n  return:\n"
        "    twice@int: {{inputs.number * 2}}\n    who: {{va_name}}\n",
    )
    keep("shop.fail", "start:\n  error: It broke\n")
    keep("shop.quiet", "start:\n  set:\n    a: b\n")
    keep("shop.other", "start:\n  return:\n    a: b\n", "svc.trigger.automation.function")


FIRST_IS_OFF = """
automation/a:
  uri: svc:automation:shop.fail
  disabled@bool: {{var_number}}
automation/b:
  uri: svc:automation:shop.quiet
"""


@pytest.mark.parametrize(
    ("kata", "kept"),
    [
        ("automation/a:\n  uri: svc:automation:shop.double\n  inputs:\n    number: {{var_number}}\n",
         {"exit": "return", "return": {"twice": 42, "who": "Shop bot"}}),
        ("automation/a:\n  uri: svc:automation:shop.fail\n", {"exit": "error", "error": "It broke"}),
        ("automation/a:\n  uri: svc:automation:shop.quiet\n", {"exit": "exit", "return": None}),
        ("automation/a:\n  uri: svc:automation:shop.double\n  disabled@bool: yes\n", None),
        ("automation/a:\n  uri: svc:automation:shop.quiet\nautomation/b:\n  uri: svc:automation:shop.fail\n",
         {"exit": "exit", "return": None}),
        ("automation/a:\n  uri: svc:automation:shop.other\n", None),
        ("automation/a:\n  uri: svc:automation:nothing\n", None),
        (FIRST_IS_OFF, {"exit": "exit", "return": None}),
    ],
)  # fmt: skip
def test_automations(bots: Bots, automations, kata, kept):
    ask = {"action": "core.bot.action.automation", "automations_kata": kata}
    assert bots.run(actions(ask), variables={"var_number": public("N")}, var_number="21")["_results"] == kept


def test_packages(bots: Bots):
    package = {
        "package": {
            "name": "Tasks", "revision": 1, "requires": {"svc_version": "0.1", "plugins": []},
            "configure": {"prompts": [{"type": "text", "label": "Title", "key": "title", "params": {}}],
                          "placeholders": []},
        },
        "records": [{"uid": "task_one", "_context": "task", "title": "{{{title}}}"}],
    }  # fmt: skip
    todo = {
        "action": "core.bot.action.package.import",
        "object_placeholder": "made",
        "package_json": "{% verbatim %}" + json.dumps(package) + "{% endverbatim %}",
        "prompts_json": '{"title": "{{var_title}}"}',
    }
    found = bots.run(actions(todo), variables={"var_title": public("S")}, var_title="Sweep")
    id = found["made"]["svc.contexts.task"]["task_one"]["id"]
    assert bots.desk.row("task", id)["title"] == "Sweep"


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    with Peer() as running:
        yield running


@pytest.fixture(scope="module")
def reaching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bots]:
    """A desk that may reach this machine."""
    made = Bots(tmp_path_factory.mktemp("reaching"), outbound_allow=[HOST])
    yield made
    made.desk.close()


def test_requests_to_other_programs(reaching: Bots, peer: Peer):
    peer.answers["/json"] = answer('{"a": [1, 2]}', content_type="application/json; charset=utf-8")
    peer.answers["/text"] = answer("gone", 410, content_type="text/plain", x_more="yes")

    def ask(path, **params):
        url = {"http_url": peer.url("/{{var_path}}")}
        action = {"action": "core.va.action.http_request", "http_verb": "get"} | url | params
        return reaching.run(actions(action), variables={"var_path": public("S")}, var_path=path)["_http_response"]

    found = ask("json")
    assert (found["body"], found["content_type"], found["error"]) == ({"a": [1, 2]}, "application/json", "")
    assert found["info"]["http_code"] == 200 and found["info"]["url"] == peer.url("/json")
    assert ask("json", options={"raw_response_body": "1"})["body"] == '{"a": [1, 2]}'
    found = ask("text", http_verb="post", http_headers="X-Key: {{1 + 1}}\n\nX-Other: b", http_body="{{va_name}}")
    assert (found["body"], found["info"]["http_code"], found["headers"]["x-more"]) == ("gone", 410, "yes")
    sent = peer.take()
    assert (sent.method, sent.body, sent.header("x-key"), sent.header("x-other")) == ("POST", b"Shop bot", "2", "b")
    for wrong in ({"http_url": "ftp://shop.example/"}, {"http_headers": "no colon"}, {"http_verb": "BREW"},
                  {"auth": "magic"}, {"auth": "connected_account"}, {"http_url": ""},
                  {"auth": "connected_account", "auth_connected_account_id": "99"}):  # fmt: skip
        found = ask("text", **wrong)
        assert found["error"] and (found["body"], found["info"]) == ("", {})


def test_requests_to_internal_addresses_are_refused(bots: Bots, peer: Peer):
    before = len(peer.asked)
    action = {"action": "core.va.action.http_request", "http_url": peer.url("/text"), "response_placeholder": "it"}
    assert HOST in bots.run(actions(action))["it"]["error"] and len(peer.asked) == before


# -- links, files, reminders, time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", ["task:{{it.id}}", "it", "it_id", "var_list"])
def test_links_and_watchers(bots: Bots, on: str):
    org, task = bots.desk.create("org", name="Acme")["id"], bots.desk.create("task", title="Linked")["id"]
    known = actions(
        record("retrieve", "it", context="task", id=str(task)),
        put("it_id", str(task)),
        put("it__context", "svc.contexts.task"),
    )
    variables, context = {"var_list": public("ctx_task")}, {"action": "_get_links", "on": on}

    def run(*listed):
        return bots.run(known, actions(*listed, context), variables=variables, var_list=f"[{task}]")["_links"]

    link = {"action": "set_links", "on": on, "links": [f"org:{org}"]}
    assert run(link) == {"svc.contexts.org": [org]}
    assert run(link | {"links": f"svc.contexts.org:{org}", "is_remove": "1"}) == {}
    watch = {"action": "add_watchers", "on": on, "worker_id": [str(bots.ids["milo"]), str(bots.ids["olga"])]}
    assert run(watch) == {"svc.contexts.worker": [bots.ids["milo"], bots.ids["olga"]]}


@pytest.mark.parametrize("on", ["", "nothing", "nothing_id", "var_list", "task:x", "task:99", "nothing:5", "va_name"])
def test_links_to_missing_records(bots: Bots, on: str):
    get, link = {"action": "_get_links", "on": on}, {"action": "set_links", "on": on, "links": ["task:99"]}
    found = bots.run(actions(link, get, add("on")), variables={"var_list": public("ctx_task")}, var_list="[]")
    assert found["_links"] == {} and found["_response"] == "on\n"


def test_files_and_reminders(bots: Bots):
    store = {"action": "core.va.action.create_attachment", "object_placeholder": "file", "file_name": "{{'a'}}.txt"}
    found = bots.run(actions(store | {"file_type": "text/plain", "content": "{{va_name}}"}))["file"]
    assert (found["name"], found["mime_type"], found["size"]) == ("a.txt", "text/plain", 8)
    assert bots.run(actions(store | {"content": "aGk=", "content_encoding": "base64"}))["file"]["size"] == 2
    assert bots.run(actions(store | {"content": "?", "content_encoding": "base64"}))["file"] is None
    remind = {"action": "core.bot.action.create_reminder", "name": "Call {{va_name}}", "remind_at": "+1 hour",
              "worker_id": str(bots.ids["milo"]), "object_placeholder": "it"}  # fmt: skip
    found = bots.run(actions(remind))["it"]
    assert (found["name"], found["remind_at"], found["worker_id"]) == ("Call Shop bot", NOW + 3600, bots.ids["milo"])
    assert bots.run(actions(remind | {"worker_id": "99"}))["it"] is None


def test_elapsed_time(bots: Bots):
    calendar = bots.desk.create("calendar", name="Open", owner__context="app", owner_id=0)["id"]
    bots.desk.create(
        "calendar_event", name="Open", calendar_id=calendar, is_available=1,
        date_start="2026-11-18 09:00", date_end="2026-11-18 17:00",
    )  # fmt: skip
    count = {"action": "core.bot.action.calculate_time_elapsed", "placeholder": "it"}

    def elapsed(start, end, **more):
        return bots.run(actions(count | {"date_from": start, "date_to": end} | more))["it"]

    assert elapsed("now", "+2 hours") == 7200 and elapsed("+2 hours", "now") == 0
    assert elapsed("2026-11-18 08:00", "2026-11-18 10:00", calendar_id=str(calendar)) == 3600
    assert elapsed("2026-11-18 08:00", "2026-11-18 10:00", calendar_id="99") is None
    assert elapsed("no day", "now") is None


# -- keys and other behaviors -----------------------------------------------------------------------------------------


def test_keys_are_stored_for_a_bot(bots: Bots):
    keep = {"action": "_set_key", "key": "last_{{var_name}}", "value": "{{var_name|upper}}"}
    get = {"action": "_get_key", "key": "last_{{var_name}}", "var": "it"}
    variables = {"var_name": public("S")}
    assert bots.run(actions(keep, get), variables=variables, var_name="ann")["it"] == "ANN"
    assert bots.run(actions(get), variables=variables, var_name="ann")["it"] == "ANN"
    assert bots.run(actions(get), variables=variables, var_name="bob")["it"] is None
    gone = keep | {"expires_at": "yesterday"}
    assert bots.run(actions(gone, get), variables=variables, var_name="old")["it"] is None
    other = bots.bot_of("app", 0)
    id = bots.keep(actions(get), variables=variables, bot_id=other)
    assert bots.call(id, var_name="ann")["it"] is None


def test_another_behavior_of_the_bot_is_run(bots: Bots):
    double = bots.keep(
        actions(put("twice", "{{var_number * 2}}", "json")),
        variables={"var_number": public("N")},
        uri="double",
    )
    run = {"action": "_run_behavior", "var_number": "{{var_sent + 1}}", "var": "it"}
    variables = {"var_sent": public("N")}
    for name in (str(double), "double", "{{'dou'}}ble"):
        found = bots.run(actions(run | {"behavior_id": name}), variables=variables, var_sent="20")
        assert (found["it"]["twice"], found["it"]["behavior_id"]) == (42, double) and "twice" not in found
    assert bots.run(actions({"action": "_run_behavior", "behavior_id": "double"}))["_behavior"] is None
    bots.desk.update("behavior", double, is_disabled=1)
    found = bots.run(actions(run | {"behavior_id": "double"}), variables=variables, var_sent="20")
    assert found["it"] is None
    foreign = bots.keep(bot_id=bots.bot_of("app", 0))
    assert bots.run(actions({"action": "_run_behavior", "behavior_id": str(foreign)}))["_behavior"] is None


def test_a_list_is_passed_to_another_behavior(bots: Bots, pens):
    bots.keep(actions(put("count", "{{var_pens|length}}")), variables={"var_pens": public("ctx_task")}, uri="count")
    run = {"action": "_run_behavior", "behavior_id": "count"}
    for given in (f"[{pens[0]}, {pens[1]}]", [str(pens[0]), str(pens[1])]):
        assert bots.run(actions(run | {"var_pens": given}))["_behavior"]["count"] == "2"


def test_passed_records_are_limited_to_those_that_the_first_caller_may_read(bots: Bots):
    group = bots.desk.create("group", name="Board", is_private=1)["id"]
    secret = bots.desk.create("ticket", subject="Salaries", group_id=group)["id"]
    bots.keep(variables={"var_tickets": public("ctx_ticket")}, uri="shows")
    run = actions({"action": "_run_behavior", "behavior_id": "shows", "var_tickets": "[{{var_id}}]"})
    for who, kept in (("nora", [str(secret)]), ("milo", [])):
        found = bots.run(run, variables={"var_id": public("N")}, by=who, var_id=secret)
        assert list(found["_behavior"]["var_tickets"]) == kept


@pytest.mark.parametrize(
    ("config", "lines"),
    [
        ({}, ["a"]),
        ({"actions": {"mode": "all", "items": []}}, ["a"]),
        ({"actions": {"mode": "allow", "items": ["add_api_response"]}}, ["a"]),
        ({"actions": {"mode": "allow", "items": ["_exit"]}}, []),
        ({"actions": {"mode": "deny", "items": ["add_api_response"]}}, []),
        ({"actions": {"mode": "deny", "items": {"0": "_exit"}}}, ["a"]),
        ({"events": {"mode": "allow", "items": [EVENT]}}, ["a"]),
        ({"events": {"mode": "deny", "items": [EVENT]}}, None),
        ({"events": {"mode": "allow", "items": []}}, None),
    ],
)
def test_a_bot_is_limited_to_its_permissions(bots: Bots, config, lines):
    owner = bots.desk.own("bot", name="Tied", owner__context="svc.contexts.app", owner_id=0, config=config)
    id = bots.keep(actions(add("a")), bot_id=owner)
    if lines is None:
        with pytest.raises(Rejected, match="Tied"):
            bots.call(id)
    else:
        assert bots.call(id).get("_response", "").splitlines() == lines


def test_a_recursive_behavior_is_skipped(bots: Bots):
    bots.keep(actions({"action": "_run_behavior", "behavior_id": "pong", "var": "pong"}, put("a", "1")), uri="ping")
    bots.keep(actions({"action": "_run_behavior", "behavior_id": "ping", "var": "ping"}, put("b", "1")), uri="pong")
    found = bots.call("ping")
    assert (found["a"], found["pong"]["b"], found["pong"]["ping"]) == ("1", "1", None)


def test_the_end_of_one_behavior_does_not_end_the_other(bots: Bots):
    bots.keep(actions({"action": "_exit"}), uri="ends")
    found = bots.run(actions({"action": "_run_behavior", "behavior_id": "ends"}, put("after", "1")))
    assert found["after"] == "1"


def test_a_behavior_without_an_event_is_run_only_by_others(bots: Bots):
    variables = {"var_x": public("S")}
    inner = bots.keep(actions(put("a", "{{var_x}}!")), uri="inner", event_point=CALLED, variables=variables)
    run = {"action": "_run_behavior", "behavior_id": "inner", "var_x": "Hi", "var": "it"}
    assert bots.run(actions(run))["it"]["a"] == "Hi!"
    with pytest.raises(Rejected, match="responds to the event 'Custom behavior'"):
        bots.call(inner, var_x="Hi")


@pytest.mark.parametrize(("event", "runs"), [(EVENT, True), (CALLED, True), (WEBHOOK, False)])
def test_which_behaviors_run_later(bots: Bots, event, runs):
    id = bots.keep(actions(record("create", context="task", changeset_json='{"title": "Soon"}')), event_point=event)
    body = body_of(delayed_runs.KIND)
    assert body is not None
    before = len(bots.desk.found("task", 'title:"Soon"'))
    body(bots.desk.service, {"behavior_id": id, "values": {}, "zone": ""}, NOW)
    assert len(bots.desk.found("task", 'title:"Soon"')) - before == int(runs)


def test_behaviors_run_later(bots: Bots):
    later = bots.keep(
        actions(record("create", context="task", changeset_json='{"title": "{{var_title}}"}')),
        variables={"var_title": public("S")},
        uri="later",
    )
    plan = {"action": "_schedule_behavior", "behavior_id": "later", "run_date": "+2 hours"}
    variables = {"var_name": public("S")}

    def run_later(name, **more):
        return bots.run(actions(plan | {"var_title": "Later {{var_name}}"} | more), variables=variables, var_name=name)

    def waiting():
        return bots.desk.read(lambda tx: tx.find(JOB, kind=delayed_runs.KIND))

    run_later("a")
    run_later("a")
    run_later("b", run_date="tomorrow 8am")
    assert sorted(row[JOB.position["due_at"]] for row in waiting()) == [
        NOW + 7200,
        instant("tomorrow 8am", NOW, bots.desk.context().tz),
    ]
    for wrong in ({"run_date": "no day"}, {"behavior_id": "nothing"}, {"var_title": "x" * 70_000}):
        run_later("c", **wrong)
    bots.run(actions(plan))  # its variable is missing
    assert len(waiting()) == 2
    queue, body = JobQueue(bots.desk.store), body_of(delayed_runs.KIND)
    assert body is not None and queue.claim_due(NOW + 7199) == []
    (due,) = queue.claim_due(NOW + 7200)
    body(bots.desk.service, due.payload, NOW + 7200)
    queue.finish(due)
    assert len(bots.desk.found("task", 'title:"Later a"')) == 1
    bots.run(actions({"action": "_unschedule_behavior", "behavior_id": str(later)}))
    assert waiting() == []


def test_runs_that_have_become_impossible_are_dropped(bots: Bots):
    id = bots.keep(actions(record("create", context="task", changeset_json='{"title": "Never"}')), is_disabled=1)
    body = body_of(delayed_runs.KIND)
    assert body is not None
    for name in (id, 99):
        body(bots.desk.service, {"behavior_id": name, "values": {}, "zone": ""}, NOW)
    assert bots.desk.found("task", "Never") == []


def test_the_number_of_waiting_runs_is_limited(bots: Bots, monkeypatch):
    monkeypatch.setattr(delayed_runs, "MAX_WAITING", 2)
    bots.keep(uri="often", variables={"var_n": public("N")})
    plan = {"action": "_schedule_behavior", "behavior_id": "often", "run_date": "+1 day"}
    bots.run(actions(*[plan | {"var_n": str(number)} for number in range(5)]))
    rows = bots.desk.read(lambda tx: tx.find(JOB, kind=delayed_runs.KIND))
    assert len(rows) == 2
