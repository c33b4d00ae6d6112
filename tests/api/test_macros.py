"""Macros over HTTP: their effects on a ticket, limited by the rights of the worker who runs them."""

import itertools
from typing import Any

import pytest

from tests.api.post import Post, names, text_of
from tests.service import Api, Reply

MAY_ALL = "commands:\n  all:\n    allow@bool: yes\n"
MACRO, FUNCTION = "svc.trigger.ticket.macro", "svc.trigger.automation.function"
TEMPLATE_FUNCTION = "svc.trigger.scripting.function"
_numbers = itertools.count(1)
UPDATE = """
  record.update:
    output: done
    inputs:
      record_type: {type}
      record_id: {id}
      fields:
        {field}: {value}
"""


def made(api: Api, script: str, policy: str = MAY_ALL, trigger: str = MACRO, **fields: Any) -> str:
    """Creates a macro and returns its name."""
    name = f"macro.n{next(_numbers)}"
    api.create("automation", name=name, extension_id=trigger, script=script, policy_kata=policy, **fields).ok()
    return name


def returning(text: str) -> str:
    """Returns a script that returns this KATA."""
    return "start:\n  return:\n" + "".join(f"    {line}\n" for line in text.splitlines())


def run(api: Api, ticket: int, macro: str, **inputs: str) -> Reply:
    form = {"macro": macro} | {f"inputs[{name}]": value for name, value in inputs.items()}
    return api.call("POST", f"/rest/tickets/{ticket}/macro.json", data=form)


def entries(api: Api, ticket: int) -> int:
    return len(api.found("activity_log", f"activity:ticket.macro target.ticket:(id:{ticket})"))


def notes(api: Api, ticket: int) -> list[dict[str, Any]]:
    return list(api.record("ticket", ticket, "comments").ok()["comments"].values())


def mails(api: Api, ticket: int) -> int:
    """Returns the number of messages and drafts of the ticket."""
    return sum(api.search(uri, f"ticket.id:{ticket}").ok()["total"] for uri in ("message", "draft"))


@pytest.fixture
def milo(office: Post) -> Api:
    """A member of Support who is not an administrator."""
    return office.api.as_("milo")


@pytest.fixture
def ticket(post: Post) -> int:
    return post.ticket()[0]


def test_changes_are_saved_and_texts_are_returned_for_review(post: Post, ticket: int, milo: Api) -> None:
    changes = "changes:\n  status: closed\n  owner_id: me\n  importance@int: 90"
    macro = made(
        post.api, returning(f"reply: Dear {{{{ticket_mask}}}}, done.\nnote: By {{{{worker_first_name}}}}\n{changes}")
    )
    done = run(milo, ticket, macro.upper()).ok()
    assert (done["status"], done["owner_id"], done["importance"]) == ("closed", milo.ids["milo"], 90)
    told = done["macro"]
    assert told["reply"] == f"Dear {done['mask']}, done." and told["note"] == "By Milo"
    assert (told["name"], told["changed"], told["note_id"]) == (macro, ["status", "owner_id", "importance"], 0)
    assert "delivery" not in told and mails(milo, ticket) == 1 and not notes(milo, ticket)
    [entry] = milo.search("activity_log", f"activity:ticket.macro target.ticket:(id:{ticket})").ok()["results"]
    assert f"Milo Test ran the macro {macro} on ticket [#{done['mask']}] Boat" == entry["_label"]


def test_replies_to_send_are_sent_with_the_changes(post: Post, ticket: int, milo: Api) -> None:
    macro = made(post.api, returning("reply: It is *done*.\nnote: Told.\nsend@bool: yes\nchanges:\n  status: waiting"))
    post.api.update("ticket", ticket, status="closed").ok()
    done = run(milo, ticket, macro).ok()
    assert (done["status"], done["macro"]["reply"], done["macro"]["note"]) == ("waiting", "", "")
    assert done["macro"]["delivery"]["state"] == "sent"
    assert "<em>done</em>" in text_of(post.mail(), "html")
    [note] = notes(milo, ticket)
    assert (note["id"], note["comment"]) == (done["macro"]["note_id"], "Told.")


def test_a_reply_alone_does_not_change_the_status(post: Post, ticket: int) -> None:
    post.api.update("ticket", ticket, status="waiting", reopen_at="+2 days").ok()
    before = post.api.record("ticket", ticket).ok()
    done = run(post.api, ticket, made(post.api, returning("reply: Soon.\nsend@bool: yes"))).ok()
    assert (done["status"], done["reopen_at"]) == ("waiting", before["reopen_at"])
    assert "Soon." in text_of(post.mail())


def test_every_spelling_of_no_is_accepted(post: Post, ticket: int) -> None:
    for word in ("no", "0", "off", "false"):
        assert (
            run(post.api, ticket, made(post.api, returning(f"reply: Hm\nsend: {word}"))).ok()["macro"]["reply"] == "Hm"
        )
    assert mails(post.api, ticket) == 1


@pytest.mark.parametrize("sends", ["", "send@bool: yes\nreply: Gone\nnote: Gone"])
def test_either_all_changes_are_saved_and_replies_sent_or_nothing_is(post: Post, ticket: int, sends: str) -> None:
    macro = made(post.api, returning(f"changes:\n  importance: 77\n  owner_id: 999999\n{sends}"))
    before = post.api.record("ticket", ticket, "comments").ok().json
    names(run(post.api, ticket, macro), "owner_id")
    assert post.api.record("ticket", ticket, "comments").ok().json == before
    assert (entries(post.api, ticket), mails(post.api, ticket)) == (0, 1)


REFUSED = [
    ("replly: Hello", "return", "did you mean 'reply'"),
    ("reply:\n  a: b", "reply", "must be a text"),
    ("changes: closed", "changes", "takes a map"),
    ("changes:\n  colour: red", "colour", "colour"),
    ("changes:\n  status: lost", "status", "status"),
]


@pytest.mark.parametrize(("text", "field", "words"), REFUSED)
def test_unknown_keys_are_refused(post: Post, ticket: int, text: str, field: str, words: str) -> None:
    response = run(post.api, ticket, made(post.api, returning(text)))
    names(response, field)
    assert words in response["message"] and entries(post.api, ticket) == 0


def test_a_script_that_fails_waits_or_takes_too_long_is_reported(post: Post, ticket: int) -> None:
    api = post.api
    failed = run(api, ticket, made(api, "start:\n  error: No stock"))
    assert (failed.status, "No stock" in failed["message"]) == (422, True)
    waits = run(api, ticket, made(api, "start:\n  await:\n    until: tomorrow"))
    assert (waits.status, "cannot" in waits["message"]) == (422, True)
    endless = "start:\n  while:\n    if@bool: yes\n    do:\n      set:\n        a: b"
    late = run(api, ticket, made(api, endless, "settings:\n  time_limit_ms: 50"))
    assert (late.status, "too long" in late["message"]) == (504, True)
    denied = f"start:{UPDATE.format(type='ticket', id=ticket, field='importance', value=1)}"
    response = run(api, ticket, made(api, denied, ""))
    assert (response.status, "the policy does not let" in response["message"]) == (422, True)
    assert entries(api, ticket) == 0
    run(api, ticket, made(api, "start:\n  set:\n    a: b")).ok()
    assert entries(api, ticket) == 1


def test_inputs_are_required_texts(post: Post, ticket: int) -> None:
    api = post.api
    asked = "inputs:\n  text/days:\n    type: number\n    required@bool: yes\n    description: How many days\n"
    macro = made(api, asked + returning("reply: In {{inputs.days}} days"), description="Say when.\nIt asks how long.")
    [listed] = [
        each for each in api.get(f"/rest/tickets/{ticket}/macros.json").ok()["results"] if each["name"] == macro
    ]
    assert (listed["label"], listed["more"]) == ("Say when", "It asks how long.") and listed["inputs"] == [
        {"name": "days", "type": "number", "description": "How many days", "default": None, "required": True}
    ]
    assert run(api, ticket, "say WHEN", days="3").ok()["macro"]["reply"] == "In 3 days"
    names(run(api, ticket, macro), "days", "ERROR_PARAM_REQUIRED")
    names(run(api, ticket, macro, days="3", weeks="1"), "weeks")
    assert run(api, ticket, macro, days="soon").status == 422
    lists = made(api, "inputs:\n  array/days:\n" + returning("note: x"))
    names(run(api, ticket, lists), "days")


# -- rights ------------------------------------------------------------------------------------------------------------


def test_a_macro_can_do_no_more_than_its_worker(post: Post, ticket: int, milo: Api) -> None:
    ids = post.api.ids
    secret = post.api.create("ticket", subject="Secret", group_id=ids["private"]).ok()["id"]
    rows = (("worker", ids["milo"], "title", "Boss"), ("ticket", secret, "importance", 99),
            ("group", ids["private"], "name", "Ours"))  # fmt: skip
    for type, id, field, value in rows:
        before = post.api.record(type, id).ok()[field]
        command = UPDATE.format(type=type, id=id, field=field, value=value)
        inner, function = (made(post.api, f"start:{command}", trigger=each) for each in (FUNCTION, TEMPLATE_FUNCTION))
        called = f"start:\n  function/x:\n    uri: svc:automation:{inner}\n    output: x"
        templated = returning(f"note: {{{{svc_automation('svc:automation:{function}', {{}})|json_encode}}}}")
        scripts = [made(post.api, each) for each in (f"start:{command}", called, templated)]
        for script in scripts:
            run(milo, ticket, script)
            assert post.api.record(type, id).ok()[field] == before, (type, script)
        for script in scripts:
            run(post.api, ticket, script).ok()
            assert post.api.record(type, id).ok()[field] == value, (type, script)
            post.api.update(type, id, **{field: before}).ok()


def test_a_macro_replies_in_nobody_elses_name(post: Post, ticket: int, milo: Api) -> None:
    draft = """start:
  record.create:
    output: done
    inputs:
      record_type: draft
      fields:
        type: ticket.reply
        name: Pump
        ticket_id: {ticket}
        worker_id: {worker}
        params:
          content: It works.
"""
    for name in ("nora", "milo"):
        macro = made(post.api, draft.format(ticket=ticket, worker=post.api.ids[name]))
        ran = run(milo, ticket, macro)
        assert ran.status == (200 if name == "milo" else 422), ran.json
        assert name == "milo" or "only its worker and administrators may" in ran["message"]


def test_actions_without_a_record_are_governed_by_the_policy(post: Post, ticket: int, milo: Api) -> None:
    stored = (
        "start:\n  storage.set:\n    inputs:\n      key: macro.last\n      value: {{ticket_id}}\n"
        "  storage.get:\n    output: last\n    inputs:\n      key: macro.last\n  return:\n    note: {{last}}"
    )
    assert run(milo, ticket, made(post.api, stored)).ok()["macro"]["note"] == str(ticket)
    assert run(milo, ticket, made(post.api, stored, "")).status == 422


def test_a_macro_sees_no_more_than_its_worker(post: Post, ticket: int, milo: Api) -> None:
    secret = post.api.create("ticket", subject="Kite plans", group_id=post.api.ids["private"]).ok()["id"]
    search = (
        "start:\n  record.search:\n    output: found\n    inputs:\n      record_type: ticket\n"
        f"      record_query: id:{secret}\n  return:\n    note: {{{{found|length}}}} found"
    )
    macro = made(post.api, search)
    assert run(post.api, ticket, macro).ok()["macro"]["note"] == "1 found"
    assert run(milo, ticket, macro).ok()["macro"]["note"] == "0 found"
    loaded = f"start:\n  set:\n    other__context: svc.contexts.ticket\n    other_id: {secret}\n  return:\n    note: "
    macro = made(post.api, loaded + "<{{other_subject}}>")
    assert run(milo, ticket, macro).ok()["macro"]["note"] == "<>"


def test_a_macro_requires_the_right_to_change_the_ticket(post: Post, ticket: int, milo: Api) -> None:
    macro, olga = made(post.api, returning("note: x")), post.api.as_("olga")
    assert run(olga, ticket, macro).status == 403
    secret = post.api.create("ticket", subject="Secret", group_id=post.api.ids["private"]).ok()["id"]
    assert run(milo, secret, macro).status == 403
    assert milo.get(f"/rest/tickets/{secret}/macros.json").status == 403
    assert run(milo, 999999, macro).status == 404
    away = made(post.api, returning(f"changes:\n  group_id: {post.api.ids['private']}\nreply: Bye\nsend@bool: yes"))
    assert run(milo, ticket, away).status in (403, 422) and mails(milo, ticket) == 1
    assert post.api.record("ticket", ticket).ok()["group_id"] == post.api.ids["support"]


def test_only_macros_run_and_only_for_workers_whom_the_policy_allows(post: Post, ticket: int, milo: Api) -> None:
    script = returning("note: x")
    assert run(post.api, ticket, made(post.api, script, trigger=FUNCTION)).status == 404
    rules = {
        "    deny@bool: {{worker__label != 'Nora Berg'}}\n    allow@bool: yes\n": (200, 404),
        "    allow/support@bool: {{ticket_group__label == 'Nowhere'}}\n": (404, 404),
        "    allow@bool: {{1 / 0}}\n": (404, 404),
        "    allow@bool: yes\n": (200, 200),
    }
    for rule, expected in rules.items():
        macro = made(post.api, script, f"{MAY_ALL}callers:\n  {MACRO}:\n{rule}")
        assert (run(post.api, ticket, macro).status, run(milo, ticket, macro).status) == expected, rule
        listed = [each["name"] for each in milo.get(f"/rest/tickets/{ticket}/macros.json").ok()["results"]]
        assert (macro in listed) == (expected[1] == 200)
    other = made(post.api, script, f"{MAY_ALL}callers:\n  somebody:\n    allow@bool: yes\n")
    assert run(milo, ticket, other).status == 404


def test_an_ambiguous_label_is_refused(post: Post, ticket: int) -> None:
    first, second = (made(post.api, returning(f"note: {name}"), description="Twice") for name in "ab")
    assert "several" in run(post.api, ticket, "Twice")["message"]
    assert run(post.api, ticket, second).ok()["macro"]["note"] == "b" and first != second
