"""Prompts, placeholders and the templates that use them; every value is inserted into the title of a task."""

import re

import pytest

from server.errors import HelpdeskError, Invalid, Required
from tests.packages.parcel import TASK, bring, counts, package, task, title

WORKER = {"context": "svc.contexts.worker", "single": True}


def prompt(kind: str, key: str = "x", **params):
    return {"type": kind, "label": "Which one", "key": key, "params": params}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{{x}}} and {{b}}", "A and {{b}}"),
        ("{{{ x|lower }}}-{{{ 5 + 1 }}}", "a-6"),
        ("{{% if x == 'A' %}}yes{{% endif %}}", "yes"),
        ("{{# hidden #}}t", "t"),
        ("{{{uid.one}}}/{{{uid['one']}}}", r"(\d+)/\1"),
        ("[{{{uid.unknown}}}{{{nothing}}}]", "[]"),
        ('{{{x ~ "}"}}}', "A}"),
        ('{{{ "#{{x}}!" }}}', "A!"),
        ("{% if x %}{# as it is #}", "{% if x %}{# as it is #}"),
        ("{{{ [1]|json_encode }}}{{{ [1] }}}", "[1]Array"),
        ("{{{default.base_url}}}", "https://desk.example"),
        ("{{{default.group_id}}}.{{{default.bucket_id}}}", r"\d+\.\d+"),
        ("[{{{default.replyto_email}}}]{{{default.mail_transport_id}}}", r"\[\]0"),
    ],
)
def test_a_text_is_rendered(text, expected, desk, ids):
    found = title(desk, text, prompts=[prompt("text")], x="A")
    if "\\" in expected:
        assert re.fullmatch(expected, found), found
    else:
        assert found == expected


@pytest.mark.parametrize("answer", ['say "hi"', "two\nlines", "{{{x}}} {{y}} {{% z", "\\n", "<b>&", "日本 🎉"])
def test_an_answer_is_inserted_literally(answer, desk):
    entry = {"uid": "one", "_context": "snippet", "title": "T", "content": "[{{{x}}}]", "owner__context": "app"}
    made = bring(desk, package(entry | {"owner_id": 0}, prompts=[prompt("text")]), x=answer)
    assert desk.row("snippet", made.records["svc.contexts.snippet"]["one"]["id"])["content"] == f"[{answer}]"


@pytest.mark.parametrize(
    ("asked", "answer", "text", "expected"),
    [
        (prompt("chooser", single=True), "7", "{{{x + 1}}}", "8"),
        (prompt("chooser", single=1), 7, "{{{x}}}", "7"),
        (prompt("chooser"), ["7", "9"], "{{{x|join('+')}}}", "7+9"),
        (prompt("chooser"), "7", "{{{x|json_encode}}}", "[7]"),
        (prompt("picklist", options=["a", "b"]), "b", "{{{x}}}", "b"),
        (prompt("picklist", options={"Plain": "", "Loud": "!"}), "", "Hi{{{x}}}", "Hi"),
        (prompt("picklist", options=["", "b"]), "", "Hi{{{x}}}", "Hi"),
        (prompt("picklist", options={"Formal": "f", "5": 5}), "5", "{{{x}}}", "5"),
        (prompt("picklist", options=["a", "b"], multiple=True), ["a", "b"], "{{{x|join}}}", "ab"),
        (prompt("picklist", options=["a", "b"], multiple=True), "b", "{{{x|join}}}", "b"),
        (prompt("text", default="D"), "0", "{{{x}}}", "0"),
        (prompt("text", format="email"), "ana@kite.example", "{{{x}}}", "ana@kite.example"),
        (prompt("text", format="name"), "shop.orders_2", "{{{x}}}", "shop.orders_2"),
        (prompt("text", format="number"), 7, "{{{x}}}", "7"),
        (prompt("text", format="url"), "https://kite.example/a?b", "{{{x}}}", "https://kite.example/a?b"),
    ],
)
def test_an_answer_becomes_a_placeholder(asked, answer, text, expected, desk):
    assert title(desk, text, prompts=[asked], x=answer) == expected


def test_fields_of_a_chosen_record_are_available(desk, ids):
    text = "{{{boss__label}}}|{{{boss_first_name}}}|{{{boss_address_email}}}|{{{boss__context}}}|{{{boss_id}}}"
    found = title(desk, text, prompts=[prompt("chooser", "boss_id", **WORKER)], boss_id=ids["milo"])
    assert found == f"Milo|Milo|milo@desk.example|svc.contexts.worker|{ids['milo']}"


def test_a_missing_chosen_record_is_empty(desk):
    prompts = [prompt("chooser", "boss_id", **WORKER)]
    assert title(desk, "[{{{boss_first_name}}}{{{boss_}}}]", prompts=prompts, boss_id="999999") == "[]"


@pytest.mark.parametrize(
    ("asked", "answer", "error", "words"),
    [
        (prompt("text"), None, Required, "'Which one' (x): an answer is missing; send prompts[x]"),
        (prompt("text", default="D"), "", Required, "prompts[x]"),
        (prompt("chooser", single=True), "", Required, "prompts[x]"),
        (prompt("picklist", options=["a"]), [], Required, "prompts[x]"),
        (prompt("picklist", options=["a"]), "", Required, "prompts[x]"),
        (prompt("picklist", options=["", "a"]), None, Required, "prompts[x]"),
        (prompt("picklist", options=["", "a"]), "b", Invalid, "'b' is not offered"),
        (prompt("text"), ["a"], Invalid, "takes one text"),
        (prompt("text", format="emial"), "a@b.c", Invalid, "did you mean 'email'?"),
        (prompt("text", format="email"), "a@b.c\nx: y", Invalid, "is not one email address"),
        (prompt("text", format="email"), "a@b.c, d@e.f", Invalid, "is not one email address"),
        (prompt("text", format="name"), "a b", Invalid, "must have at most 60 letters"),
        (prompt("text", format="name"), ".a", Invalid, "begin and end with a letter or digit"),
        (prompt("text", format="number"), "-1", Invalid, "is not a whole number"),
        (prompt("text", format="url"), "javascript:alert(1)", Invalid, "is not an http:// or https:// address"),
        (prompt("text", format="url"), "https://a/{{b}}", Invalid, "is not an http:// or https:// address"),
        (prompt("chooser", single=True), "milo", Invalid, "'milo' is not the id of a record"),
        (prompt("chooser", single=True), ["1", "2"], Invalid, "takes one text"),
        (prompt("chooser"), ["1", "-2"], Invalid, "'-2' is not the id"),
        (prompt("chooser"), ["1"] * 1001, Invalid, "at most 1000"),
        (prompt("chooser", context="wroker", single=True), "1", Invalid, "did you mean 'worker'?"),
        (prompt("picklist", options=["formal", "friendly"]), "formel", Invalid, "did you mean 'formal'?"),
        (prompt("picklist", options=["a"], multiple=1), ["a", "zzz"], Invalid, "'zzz' is not offered"),
        (prompt("date"), "1", Invalid, "'date' is not a type of prompt"),
        (prompt("textt"), "1", Invalid, "did you mean 'text'?"),
        (prompt("text") | {"params": "p"}, "1", Invalid, "params takes a map"),
        (prompt("text", ""), "1", Invalid, "entry 1 has no key"),
        ({"type": "text"}, "1", Invalid, "has no key"),
        (prompt("text", "uid"), "1", Invalid, "'uid' is a placeholder of every package"),
        (prompt("text", "default"), "1", Invalid, "every package"),
    ],
)
def test_an_invalid_prompt_or_answer_is_reported(asked, answer, error, words, desk):
    before = counts(desk)
    with pytest.raises(error) as caught:
        bring(desk, package(task(), prompts=[asked]), **({} if answer is None else {"x": answer}))
    assert words in caught.value.message and "field" in caught.value.details
    assert counts(desk) == before


def test_answers_without_a_prompt_are_ignored(desk):
    assert title(desk, "{{{y}}}.", y="no") == "."


def test_random_placeholders_use_unambiguous_letters_and_digits(desk):
    listed = [{"type": "random", "key": "x", "params": {"length": 200}}, {"type": "random", "key": "y"}]
    long, short = title(desk, "{{{x}}} {{{y}}}", placeholders=listed).split()
    assert re.fullmatch("[A-HJ-NP-Z1-9]{200}", long) and re.fullmatch("[A-HJ-NP-Z1-9]{8}", short)


QUERY = "type:worklist.metrics values.n:(of:worker function:count query:(firstName:milo)) format:table"


@pytest.mark.parametrize(
    ("params", "text", "expected"),
    [
        ({"query": QUERY}, "{{{x.rows|first.value}}}", "1"),
        ({"query": QUERY, "selector": "{{results.data.rows|length}} row"}, "{{{x}}}", "1 row"),
        ({"query": QUERY, "selector": "[1,{{results.data.rows.0.value}}]", "format": "json"}, "{{{x|join}}}", "11"),
        ({"query": QUERY, "validate": "{% if results.data.rows is empty %}no{% endif %} "}, "{{{x.rows|length}}}", "1"),
    ],
)
def test_data_queries_provide_placeholders(params, text, expected, desk, ids):
    listed = [{"type": "data_query", "key": "x", "params": params}]
    assert title(desk, text, placeholders=listed) == expected


@pytest.mark.parametrize(
    ("placeholder", "words"),
    [
        ({"type": "random"}, "entry 1 has no key"),
        ({"type": "dice", "key": "x"}, "'dice' is not a type of placeholder"),
        ({"type": "random", "key": "x", "params": {"length": 0}}, "from 1 to 255"),
        ({"type": "random", "key": "x", "params": {"length": "many"}}, "from 1 to 255"),
        ({"type": "random", "key": "x", "params": []}, ""),
        ({"type": "data_query", "key": "x", "params": {"query": "type:nothing"}}, "placeholder 'x': query: 'nothing'"),
        ({"type": "data_query", "key": "x"}, "q is required"),
        ({"type": "data_query", "key": "x", "params": {"query": QUERY, "validate": " too few "}}, "'x': too few"),
        ({"type": "data_query", "key": "x", "params": {"query": QUERY, "selector": "{{ nosuch( }}"}}, "selector"),
        ({"type": "data_query", "key": "x", "params": {"query": QUERY, "selector": "{", "format": "json"}}, "not JSON"),
    ],
)
def test_an_invalid_placeholder_is_reported(placeholder, words, desk):
    if not words:
        assert len(title(desk, "{{{x}}}", placeholders=[placeholder])) == 8  # an empty list is an empty map
        return
    with pytest.raises(Invalid) as caught:
        bring(desk, package(task(), placeholders=[placeholder]))
    assert words in caught.value.message


@pytest.mark.parametrize("text", ["{{{a}}", "{{{a", "{{% if %}}", "{{{ nosuch() }}}", "{{{ 1 / 0 }}}", "{{#"])
def test_a_broken_template_names_record_and_key(text, desk):
    before = counts(desk)
    with pytest.raises(HelpdeskError) as caught:
        bring(desk, package(task("fine"), task("broken", title=text)))
    assert caught.value.message.startswith("records: 'broken': title: ")
    assert counts(desk) == before


def test_endless_templates_are_stopped(desk):
    loop = "{{% for i in 1..90000 %}}{{% for j in 1..90000 %}}{{% endfor %}}{{% endfor %}}"
    with pytest.raises(Invalid, match=r"more steps than it may|longer than it may"):
        bring(desk, package(task(title=loop)))


def test_keys_are_rendered_too_and_must_not_collide(desk):
    entry = {"uid": "one", "_context": "task", "{{{x}}}": "Oil"}
    made = bring(desk, package(entry, prompts=[prompt("text")]), x="title")
    assert made.records[TASK]["one"]["label"] == "Oil"
    with pytest.raises(Invalid, match="'title' appears twice"):
        bring(desk, package(task(**{"{{{x}}}": "Oil"}), prompts=[prompt("text")]), x="title")
