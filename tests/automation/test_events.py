"""Events over HTTP: automations run after changes, and before mail is received or sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.post import customer, text_of
from tests.automation.told import MAY_ALL, Told, told_office

CHANGED = ("change_type", "record__type", "record_id", "record_name", "was_record_name", "actor__type", "actor_id")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with told_office(tmp_path_factory.mktemp("events")) as opened:
        yield opened


@pytest.fixture
def post(office: Told) -> Told:
    office.smtp.forget()
    return office


def raw(sender: str, subject: str = "Broken pump", body: str = "It drips.", **headers: str) -> str:
    lines = [f"From: {sender}", "To: support@localhost", f"Subject: {subject}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", body, ""])


def receive(post: Told, mail: str) -> Any:
    return post.api.post("/rest/parser/parse.json", message=mail)


# -- record.changed ---------------------------------------------------------------------------------------------------


def test_created_updated_and_deleted_records_are_reported_with_their_former_values(post: Told) -> None:
    with post.bound("record.changed", post.reporting_script(*CHANGED), only="record__type == 'org'"):
        id = post.api.create("org", name="Kite Ltd").ok()["id"]
        created = post.take_report()
        post.api.update("org", id, name="Kite Inc").ok()
        updated = post.take_report()
        post.api.delete(f"/rest/records/org/{id}.json").ok()
        deleted = post.take_report()
    nora = {"actor__type": "worker", "actor_id": post.api.ids["nora"], "record__type": "org", "record_id": id}
    assert created == nora | {"change_type": "created", "record_name": "Kite Ltd", "was_record_name": None}
    assert updated == nora | {"change_type": "updated", "record_name": "Kite Inc", "was_record_name": "Kite Ltd"}
    assert deleted == nora | {"change_type": "deleted", "record_name": "Kite Inc", "was_record_name": "Kite Inc"}


def test_a_record_is_reported_once_per_request_and_only_if_it_changed(post: Told) -> None:
    only = "record__type in ['ticket', 'address', 'message']"
    with post.bound("record.changed", post.reporting_script("change_type", "record__type"), only=only):
        sender = customer()
        receive(post, raw(sender)).ok()
        told = [post.take_report() for _ in range(3)]
        id = post.api.found("address", f"email:{sender}")[0]
        post.api.update("address", id, is_banned=0).ok()
        post.api.update("address", id, is_banned=1).ok()
        last = post.take_report()
    assert sorted(each["record__type"] for each in told) == ["address", "message", "ticket"]
    assert {each["change_type"] for each in told} == {"created"}
    assert last == {"change_type": "updated", "record__type": "address"} and post.calls.empty()


def test_links_of_the_record_load_on_demand(post: Told) -> None:
    keys = ("record_owner__label", "was_record_owner__label", "actor_first_name")
    ticket_id, _ = post.ticket()
    with post.bound("record.changed", post.reporting_script(*keys), only="record__type == 'ticket'"):
        post.api.update("ticket", ticket_id, owner_id=post.api.ids["milo"]).ok()
        assert post.take_report() == {
            "record_owner__label": "Milo Test", "was_record_owner__label": None, "actor_first_name": "Nora",
        }  # fmt: skip


def test_automations_that_trigger_each_other_are_stopped_and_reported(post: Told) -> None:
    script = post.reporting_script("record_description") + (
        "  record.update:\n    output: changed\n    inputs:\n      record_type: task\n"
        "      record_id@key: record_id\n      fields:\n        importance@int: {{(record_importance + 1) % 90}}\n"
    )
    with post.bound("record.changed", script, only="record__type == 'task'"):
        post.api.create("task", title="Ping", importance=1).ok()
        told = [post.take_report() for _ in range(8)]
        stopped = _eventually_logged(post, "record.changed: not run")
    assert len(told) == 8 and "8 automations" in stopped
    assert post.calls.empty()


def test_automations_cannot_write_mail_about_their_mail_endlessly(post: Told) -> None:
    script = post.reporting_script("message_id") + (
        "  record.create:\n    output: made\n    inputs:\n      record_type: draft\n      fields:\n"
        "        type: mail.compose\n        is_queued: 1\n        WORKER\n        params:\n"
        "          to: archive@example.com\n          subject: One left\n          content: It did.\n"
        "          GROUP\n"
    )
    ids = post.api.ids
    script = script.replace("WORKER", f"worker_id: {ids['nora']}").replace("GROUP", f"group_id: {ids['support']}")
    with post.bound("mail.sent", script):
        post.api.compose(group_id=ids["support"], to=customer(), subject="First", content="Hello").ok()
        told = [post.take_report()["message_id"] for _ in range(8)]
        stopped = _eventually_logged(post, "mail.sent: not run")
    assert len(set(told)) == 8 and "8 automations" in stopped and post.calls.empty()


def _eventually_logged(post: Told, beginning: str) -> str:
    """Returns an entry that later jobs will write. Each poll is a request, so that the server can proceed; a busy
    machine needs many."""
    for _ in range(20_000):
        for message in post.logged(""):
            if message.startswith(beginning):
                return message
    raise AssertionError(f"nothing like '{beginning}' was logged")


def test_a_change_by_a_command_can_be_silent(post: Told) -> None:
    quiet = (
        "start:\n  record.create:\n    output: made\n    inputs:\n      record_type: org\n      fields:\n"
        "        name: Quiet\n      disable_events@bool: yes\n"
    )
    only = "record__type in ['org', 'task']"
    name = post.automation("webhook.respond", quiet)
    hook = post.api.create("webhook_listener", name="Quiet", automations_kata=f"automation/a:\n  uri: {name}").ok()
    guid = post.api.record("webhook_listener", hook["id"])["guid"]
    with post.bound("record.changed", post.reporting_script("record__type"), only=only):
        assert post.api.session.post(f"{post.api.url}/webhooks/{guid}", timeout=30).status_code == 200
        post.api.create("task", title="Loud").ok()
        assert post.take_report() == {"record__type": "task"}
    assert post.api.found("org", "name:Quiet")


def test_a_failing_automation_is_logged_and_the_next_one_runs(post: Told) -> None:
    with post.bound(
        "record.changed", "start:\n  error: broken", post.reporting_script("record_id"), only="record__type == 'org'"
    ) as names:
        id = post.api.create("org", name="Two").ok()["id"]
        assert post.take_report() == {"record_id": id}
        assert any("broken" in message for message in post.logged(names[0]))


# -- mail in ----------------------------------------------------------------------------------------------------------


def test_a_filter_may_refuse_mail(post: Told) -> None:
    sender = customer()
    script = "start:\n  return:\n    reject@bool: {{email_subject == 'Buy now'}}"
    with post.bound("mail.filter", script):
        refused = receive(post, raw(sender, "Buy now"))
        assert refused.status == 422 and "mail.filter refused" in refused["message"]
        assert receive(post, raw(sender, "Help")).ok()["id"]
    assert len(post.api.found("ticket", f"participant:(email:{sender})")) == 1


def test_a_filter_may_change_subject_body_headers_and_organization(post: Told) -> None:
    sender, org = customer(), post.api.create("org", name="Filtered").ok()["id"]
    field = post.api.create("custom_field", context="ticket", name="Plan", type="S", uri="plan").ok()["id"]
    script = (
        "start:\n  return:\n    set:\n      email_subject: {{email_subject|replace({'[EXT] ': ''})}}\n"
        "      email_body: {{email_body|upper}}\n      headers:\n        X-Level: gold\n        X-Gone:\n"
        f"      email_sender_org_id@int: {org}\n      custom_fields:\n        plan: pro\n        nosuch: 1\n"
    )
    with post.bound("mail.filter", script):
        made = receive(post, raw(sender, "[EXT] Pump", X_Gone="1")).ok()
    ticket = post.api.record("ticket", made["id"], expand="custom_,latest_message_content,latest_message_headers")
    assert (ticket["subject"], ticket["org_id"], ticket[f"custom_{field}"]) == ("Pump", org, "pro")
    message = post.api.record("message", ticket["latest_message_id"], expand="headers,content")
    assert message["content"].strip() == "IT DRIPS."
    headers = {name.lower(): value for name, value in message["headers"].items()}
    assert headers["x-level"] == "gold" and "x-gone" not in headers
    assert any("nosuch" in entry for entry in post.logged(""))


def test_a_filter_sees_the_ticket_of_a_reply(post: Told) -> None:
    sender = customer()
    first = receive(post, raw(sender, Message_ID=f"<one.{sender}>")).ok()["id"]
    keys = ("parent_ticket_id", "parent_ticket_subject", "email_sender_email", "email_recipients", "email_body")
    with post.bound("mail.filter", post.reporting_script(*keys)):
        receive(post, raw(sender, "Re: Broken pump", In_Reply_To=f"<one.{sender}>")).ok()
        told = post.take_report()
    assert told["parent_ticket_id"] == first and told["parent_ticket_subject"] == "Broken pump"
    assert told["email_sender_email"] == sender and told["email_recipients"] == ["support@localhost"]
    assert told["email_body"].strip() == "It drips."


@pytest.mark.parametrize(("answer", "place"), [
    ("group_name: management", "Management"), ("group_id@int: PRIVATE", "Management"),
    ("bucket_name: Later\n    group_name: Support", "Later"), ("group_name: Nowhere", "Support"),
    ("other: 1", "Support"),
])  # fmt: skip
def test_new_mail_is_routed(post: Told, answer: str, place: str) -> None:
    support = post.api.ids["support"]
    if not post.api.found("bucket", "name:Later"):
        post.api.create("bucket", name="Later", group_id=support).ok()
    answer = answer.replace("PRIVATE", str(post.api.ids["private"]))
    with post.bound("mail.route", "start:\n  set:\n    a: 1", f"start:\n  return:\n    {answer}"):
        made = receive(post, raw(customer())).ok()["id"]
    ticket = post.api.record("ticket", made, expand="group_,bucket_")
    assert place in (ticket["group__label"], ticket["bucket__label"])


def test_received_mail_is_reported_once_it_is_stored(post: Told) -> None:
    keys = ("is_new_ticket", "message_ticket_id", "message_sender_email")
    sender = customer()
    with post.bound("mail.received", post.reporting_script(*keys)):
        made = receive(post, raw(sender)).ok()["id"]
        told = post.take_report()
    assert told == {"is_new_ticket": True, "message_ticket_id": made, "message_sender_email": sender}


# -- mail out ---------------------------------------------------------------------------------------------------------


def compose(post: Told, **values: Any) -> Any:
    known = {"group_id": post.api.ids["support"], "to": customer(), "subject": "Boat", "content": "Hello"}
    return post.api.compose(**known | values)


def test_a_mail_may_be_changed_before_it_is_sent(post: Told) -> None:
    other = customer()
    script = (
        "start:\n  return:\n    draft:\n      params:\n        subject: {{draft_params.subject}} [checked]\n"
        f"        bcc: {other}\n      content:\n        append/foot:\n          text: Bye\n"
        "        replace/word:\n          text: /h(el+)o/i\n          with: J$1y\n          regex@bool: yes\n"
    )
    with post.bound("mail.send", script):
        made = compose(post).ok()["id"]
        _, recipients, mail = post.take()
        post.api.reply(message_id=post.api.record("ticket", made)["latest_message_id"], content="Hello again").ok()
        response = post.mail()
    assert "Boat [checked]" in mail["Subject"] and other in recipients
    assert text_of(mail).split() == ["Jelly", "Bye"] and text_of(response).split()[:3] == ["Jelly", "again", "Bye"]
    content = post.api.record("ticket", made, expand="initial_message_content")["initial_message_content"]
    assert content.split() == ["Jelly", "Bye"]


def test_an_automation_names_the_status_after_a_mail_or_sets_another_state(post: Told) -> None:
    api = post.api
    for name in ("On order", "On its way"):
        api.create("ticket_status", name=name, status="waiting").ok()
    script = "start:\n  return:\n    draft:\n      params:\n        {}\n"
    made = compose(post).ok().json
    reply = {"message_id": made["latest_message_id"], "content": "Hello again", "status_name": "On order"}
    for change, state in (
        ("status_name: On its way", ("waiting", "On its way")),
        ("status: closed", ("closed", "")),
        ("subject: Checked", ("waiting", "On order")),
    ):
        with post.bound("mail.send", script.format(change)):
            replied = api.reply(**reply).ok()
        assert (replied["status"], replied["status_name"]) == state, change


def test_an_owner_changed_during_an_automation_stays(post: Told) -> None:
    api = post.api
    script = (
        "start:\n  record.update:\n    inputs:\n      record_type: ticket\n"
        "      record_id: {{draft_params.ticket_id}}\n"
        f"      fields:\n        owner_id: {api.ids['milo']}\n"
        "  return:\n    draft:\n      params:\n        subject: {{draft_params.subject}} [checked]\n"
    )
    made = compose(post).ok()["id"]
    post.take()
    with post.bound("mail.send", script):
        message = api.record("ticket", made)["latest_message_id"]
        assert api.reply(message_id=message, content="Hello again").ok()["owner_id"] == api.ids["milo"]
    assert "[checked]" in post.mail()["Subject"]


@pytest.mark.parametrize("event", ["mail.draft.validate", "mail.reply.validate"])
def test_a_mail_may_be_refused(post: Told, event: str) -> None:
    _, message_id = post.ticket()
    script = "start:\n  return:\n    reject@bool: {{'dear' in draft_params.content}}\n    message: no prices"
    with post.bound(event, script):
        if event == "mail.draft.validate":
            refused, sent = compose(post, content="dear"), compose(post)
        else:
            refused = post.api.reply(message_id=message_id, content="dear")
            sent = post.api.reply(message_id=message_id, content="cheap")
    assert refused.status == 403 and "no prices" in refused["message"]
    assert sent.status == 200 and post.mail()


def test_sent_mail_is_reported(post: Told) -> None:
    with post.bound("mail.sent", post.reporting_script("message_ticket_id", "message_content")):
        made = compose(post, content="Gone").ok()["id"]
        assert post.take_report() == {"message_ticket_id": made, "message_content": "Gone"}


# -- tickets, reminders -----------------------------------------------------------------------------------------------


def test_a_moved_ticket_is_reported(post: Told) -> None:
    ticket_id, _ = post.ticket()
    keys = ("ticket_group__label", "was_group__label", "was_bucket__label", "actor__type")
    with post.bound("mail.moved", post.reporting_script(*keys)):
        post.api.update("ticket", ticket_id, group_id=post.api.ids["private"], owner_id=0).ok()
        told = post.take_report()
    assert told == {"ticket_group__label": "Management", "was_group__label": "Support", "was_bucket__label": "Inbox",
                    "actor__type": "worker"}  # fmt: skip


def test_a_merge_may_be_denied_and_is_reported(post: Told) -> None:
    (one, _), (two, _) = post.ticket(), post.ticket()
    ids = {"ticket_ids[]": [str(one), str(two)]}
    with post.bound("record.merge", "start:\n  return:\n    deny: keep them apart"):
        refused = post.api.post("/rest/tickets/merge.json", **ids)
    assert refused.status == 403 and "keep them apart" in refused["message"]
    with post.bound("record.merged", post.reporting_script("record_type", "source_ids", "target_id", "worker_id")):
        post.api.post("/rest/tickets/merge.json", **ids).ok()
        told = post.take_report()
    assert told == {"record_type": "ticket", "source_ids": [two], "target_id": one, "worker_id": post.api.ids["nora"]}


def test_a_due_reminder_is_reported(post: Told) -> None:
    with post.bound("reminder.remind", post.reporting_script("reminder_name", "reminder_worker__label")):
        fields: dict[str, Any] = {"name": "Call Ana", "remind_at": "1 second ago", "worker_id": post.api.ids["milo"]}
        post.api.create("reminder", **fields).ok()
        assert post.take_report() == {"reminder_name": "Call Ana", "reminder_worker__label": "Milo Test"}


# -- bindings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", ["automation/a:\n  uri", "automation/a:\n  uri: {{", "  x: y\n z: 1"])
def test_a_binding_with_mistakes_is_refused_with_its_line(post: Told, binding: str) -> None:
    (id,) = [each["id"] for each in post.api.search("automation_event", "name:mail.filter").ok()["results"]
             if each["name"] == "mail.filter"]  # fmt: skip
    refused = post.api.update("automation_event", id, automations_kata=binding)
    assert refused.status == 422 and "line" in refused["message"], refused.content


def test_an_automation_with_a_changed_trigger_does_not_run(post: Told) -> None:
    """It had the right trigger when it was bound. The automation log says so once for each change."""
    name = post.automation("mail.filter", "start:\n  return:\n    reject@bool: yes")
    (id,) = post.api.found("automation", f"name:{name}")
    post.bind("mail.filter", f"automation/a:\n  uri: {name}")
    post.api.update("automation", id, extension_id="svc.trigger.mail.route").ok()
    try:
        for _ in range(3):
            assert receive(post, raw(customer())).ok()["id"]
    finally:
        post.bind("mail.filter", "")
    said = [each for each in post.logged("") if name in each]
    assert said == [
        f"mail.filter: automation/a does not run: the automation is started by svc.trigger.mail.route ({name})"
    ]


BINDINGS_THAT_NEVER_RUN = [
    ("uri: no.such.automation", "there is no automation 'no.such.automation'"),
    ("uri: svc:automation:told.near2", "there is no automation 'told.near2'; did you mean 'told.near1'?"),
    (
        "uri: told.other",
        "the automation 'told.other' has the trigger svc.trigger.mail.route, but svc.trigger.mail.filter is required",
    ),
]


@pytest.mark.parametrize(("entry", "words"), BINDINGS_THAT_NEVER_RUN)
def test_a_binding_that_would_never_run_is_refused(post: Told, entry: str, words: str) -> None:
    for name, trigger in (("told.near1", "mail.filter"), ("told.other", "mail.route")):
        if not post.api.found("automation", f"name:{name}"):
            fields = {"name": name, "extension_id": f"svc.trigger.{trigger}", "script": "start:\n  return:\n    a: 1"}
            post.api.create("automation", **fields).ok()
    (event,) = [each for each in post.api.search("automation_event", "limit:100").ok()["results"]
                if each["name"] == "mail.filter"]  # fmt: skip
    off, made_up = "automation/off:\n  uri: gone\n  disabled@bool: yes", "automation/made:\n  uri: {{'a'}}"
    post.api.update("automation_event", event["id"], automations_kata=f"{off}\n{made_up}").ok()
    refused = post.api.update("automation_event", event["id"], automations_kata=f"{off}\nautomation/x:\n  {entry}\n")
    assert refused.status == 422 and f"automations_kata: line 4: automation/x: {words}" in refused["message"]
    post.api.update("automation_event", event["id"], automations_kata="").ok()


def test_a_policy_limits_what_automations_may_do(post: Told) -> None:
    assert MAY_ALL
    with post.bound("record.changed", post.reporting_script("record_id"), only="record__type == 'org'") as names:
        (id,) = post.api.found("automation", f"name:{names[0]}")
        post.api.update("automation", id, policy_kata="").ok()
        post.api.create("org", name="Not told").ok()
        assert any(any("policy" in message for message in post.logged(names[0])) for _ in range(20_000))
        post.api.update("automation", id, policy_kata=MAY_ALL).ok()
        post.api.create("org", name="Told").ok()
        post.take_report()


@pytest.mark.parametrize("key", ["subject", "content"])
def test_bytes_returned_by_a_script_do_not_change_mail(post: Told, key: str) -> None:
    with post.bound("mail.send", f'start:\n  return:\n    draft:\n      params:\n        {key}@json: "\\ud800"'):
        post.api.compose(group_id=post.api.ids["support"], to=customer(), subject="As it was", content="So").ok()
    assert b"Subject: As it was" in post.smtp.take().raw
    assert any("bytes that are not text" in message for message in post.logged(""))


def test_an_excessive_replacement_sends_nothing(post: Told) -> None:
    script = "start:\n  return:\n    content:\n      replace:\n        text: a\n        with: {{'x'|repeat(9000000)}}"
    with post.bound("mail.send", script):
        refused = post.api.compose(group_id=post.api.ids["support"], to=customer(), subject="S", content="aaaa")
    assert refused.status == 422 and "too long" in refused["message"]


def test_a_script_tags_a_ticket_and_sees_its_former_tags(post: Told) -> None:
    ticket_id, _ = post.ticket()
    post.api.update("ticket", ticket_id, tags="billing").ok()
    only = "record__type == 'ticket'"
    with post.bound("record.changed", post.reporting_script("record_tags", "was_record_tags"), only=only):
        post.api.update("ticket", ticket_id, tags=["-billing", "vip"]).ok()
        assert post.take_report() == {"record_tags": ["vip"], "was_record_tags": ["billing"]}
