"""Recipes that external programs call, with signatures of GitHub, Stripe, Slack, a monitor, and web forms."""

import json
import queue
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import requests

from tests.automation.told import Told, told_office
from tests.cookbook.desk import SECRET, Recipe, mail, now, recipe, signed
from tests.outbound.peer import Asked, answer

FROM = "bot@desk.example"
OTHER = "another secret"
HOSTILE = "=?utf-8?q?x?=\r\nBcc: eve@evil.example\r\n\r\n{{7*7}} <script>alert(1)</script>"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with told_office(tmp_path_factory.mktemp("hooks")) as opened:
        yield opened


def answers(office: Told, **more: Any) -> dict[str, Any]:
    return {"group_id": office.api.ids["support"], "from": FROM, "secret": SECRET, **more}


def tickets(office: Told) -> int:
    return int(office.api.search("ticket", limit=1).ok()["total"])


def newest(office: Told) -> dict[str, Any]:
    """The newest ticket, with its message."""
    expand = "latest_message_content,requester_emails,_messages"
    found = office.api.search("ticket", "sort:-id limit:1", expand=expand).ok()["results"]
    return dict(found[0])


def comments(office: Told, ticket_id: int) -> list[str]:
    found = office.api.search("comment", f"on.ticket:(id:{ticket_id}) sort:id").ok()["results"]
    return [each["comment"] for each in found]


def hidden(office: Told, made: Recipe) -> None:
    """The secret is in no record that administrators can read, in no log, and in no stored call."""
    api = office.api
    seen = [api.record("automation", id, expand="script,policy_kata").content.decode() for uid, id in made.ids.items()
            if uid in made.labels and uid not in ("hook", "service", "account", "bot", "bot_service")]  # fmt: skip
    seen.append(api.record("webhook_listener", made.ids["hook"], expand="automations_kata").content.decode())
    seen.append(api.record("connected_account", made.ids["account"], expand="params").content.decode())
    deliveries = api.get(f"/rest/webhooks/{made.ids['hook']}/deliveries.json").ok()["results"]
    seen += [api.get(f"/rest/webhooks/deliveries/{each['id']}.json").content.decode() for each in deliveries]
    seen.append(api.get("/rest/automations/logs/search.json", limit=250).content.decode())
    assert deliveries and not [each for each in seen if SECRET in each]


# -- GitHub


@pytest.fixture(scope="module")
def github(office: Told) -> Iterator[Recipe]:
    with recipe(office, "github", **answers(office)) as made:
        yield made


def event(number: int, action: str = "opened", what: str = "issue", **more: Any) -> dict[str, Any]:
    """An event of GitHub."""
    thing = {"number": number, "title": "It leaks", "html_url": f"https://github.com/kite/pump/{number}",
             "user": {"login": "ana"}, "body": "Since yesterday"} | more  # fmt: skip
    repository = {"id": 700, "full_name": "kite/pump"}
    return {"action": action, what: thing, "repository": repository, "sender": {"login": "bo"}}


def from_github(
    made: Recipe, value: Any, kind: str = "issues", secret: str = SECRET, delivery: str = "d-1"
) -> requests.Response:
    body = value if isinstance(value, str) else json.dumps(value)
    signature = f"sha256={signed(body, secret)}"
    return made.call(body.encode(), X_GitHub_Event=kind, X_Hub_Signature_256=signature, X_GitHub_Delivery=delivery)


def test_an_issue_becomes_one_ticket_however_often_it_is_sent(office: Told, github: Recipe) -> None:
    before = tickets(office)
    first, again = (from_github(github, event(1)) for _ in range(2))
    assert first.status_code == 200 and first.text == again.text and tickets(office) == before + 1
    ticket = newest(office)
    assert ticket["subject"] == "kite/pump#1: It leaks" and first.text == f"ticket {ticket['mask']}"
    assert "Since yesterday" in ticket["latest_message_content"] and ticket["requester_emails"] == FROM
    hidden(office, github)


def test_a_pull_request_is_noted_once_when_it_is_merged(office: Told, github: Recipe) -> None:
    from_github(github, event(2, what="pull_request"), "pull_request")
    ticket = newest(office)
    assert ticket["subject"] == "kite/pump#2: It leaks"
    for _ in range(2):
        closed = event(2, "closed", "pull_request", merged=True)
        assert from_github(github, closed, "pull_request", delivery="d-2").status_code == 200
    assert comments(office, ticket["id"]) == ["Pull request merged by bo at GitHub."]


@pytest.mark.parametrize(("value", "kind", "status"), [
    ({"zen": "x"}, "ping", 200), (event(90, "labeled"), "issues", 202), (event(91), "star", 202), ("[]", "issues", 202),
    ("not json", "issues", 202), ('{"action": "opened", "issue": 7}', "issues", 202), ("", "issues", 202),
    (event(92, "closed"), "issues", 200), ({"action": {"$ne": 1}, "issue": {"number": 1}}, "issues", 202),
])  # fmt: skip
def test_other_requests_of_github_create_nothing(
    office: Told, github: Recipe, value: Any, kind: str, status: int
) -> None:
    before = tickets(office)
    assert from_github(github, value, kind).status_code == status and tickets(office) == before


@pytest.mark.parametrize("signature", [
    "", "sha256=", "sha256=" + "0" * 64, "sha1=0", "none", "é", "sha256=,,,", "x" * 7000,
    signed(json.dumps(event(93)), OTHER),
])  # fmt: skip
def test_a_request_that_github_did_not_sign_is_refused(office: Told, github: Recipe, signature: str) -> None:
    before = tickets(office)
    sent = json.dumps(event(93)).encode()
    refused = github.call(
        sent, X_GitHub_Event="issues", X_Hub_Signature_256=signature.encode("utf-8").decode("latin-1")
    )
    assert refused.status_code == 401 and SECRET not in refused.text and tickets(office) == before
    unsigned = github.call(sent, X_GitHub_Event="issues")
    assert unsigned.status_code == 401


def test_a_changed_body_is_refused(office: Told, github: Recipe) -> None:
    body = json.dumps(event(94))
    refused = github.call(body.replace("leaks", "burns"), X_GitHub_Event="issues",
                          X_Hub_Signature_256=f"sha256={signed(body)}")  # fmt: skip
    assert refused.status_code == 401


def test_a_hostile_issue_is_text(office: Told, github: Recipe) -> None:
    assert from_github(github, event(3, title=HOSTILE, body=HOSTILE, user={"login": HOSTILE})).status_code == 200
    require_harmless(office)
    assert from_github(github, event(4, title="x" * 5000, body="y" * 200_000)).status_code == 200
    assert len(newest(office)["subject"]) <= 255


def require_harmless(office: Told) -> None:
    """The newest ticket shows the submitted input as text, and adds no other people."""
    ticket = newest(office)
    assert "eve@evil.example" not in ticket["requester_emails"] and "{{7*7}}" in ticket["latest_message_content"]
    message = office.api.record("message", ticket["latest_message_id"], expand="headers").ok()["headers"]
    names = (
        {line.partition(":")[0].lower() for line in str(message).split("\n")}
        if isinstance(message, str)
        else {name.lower() for name in message}
    )
    assert "bcc" not in names and "\n" not in ticket["subject"] and "49" not in ticket["subject"]


# -- Stripe


@pytest.fixture(scope="module")
def stripe(office: Told) -> Iterator[Recipe]:
    with recipe(office, "stripe", **answers(office)) as made:
        yield made


def payment(id: str, kind: str = "invoice.payment_failed", **fields: Any) -> str:
    known = {"id": "in_1", "customer_email": "ana@kite.example", "amount_due": 1250, "currency": "eur"}
    return json.dumps({"id": id, "type": kind, "data": {"object": known | fields}})


def from_stripe(made: Recipe, body: str, at: int, header: str = "t={at},v1={good}") -> requests.Response:
    good, bad = signed(f"{at}.{body}"), signed(f"{at}.{body}", OTHER)
    return made.call(body.encode(), Stripe_Signature=header.format(at=at, good=good, bad=bad))


def test_a_failed_payment_becomes_one_ticket_of_the_customer(office: Told, stripe: Recipe) -> None:
    before = tickets(office)
    at = now()
    first = from_stripe(stripe, payment("evt_1"), at)
    again = from_stripe(stripe, payment("evt_1"), at, "t={at},v1={bad},v1={good},v0=abc")  # both are valid for a while
    assert (
        (first.status_code, first.text) == (again.status_code, again.text) == (200, f"ticket {newest(office)['mask']}")
    )
    assert tickets(office) == before + 1
    ticket = newest(office)
    assert (ticket["subject"], ticket["requester_emails"]) == ("Payment failed: 12.50 EUR", "ana@kite.example")
    hidden(office, stripe)


def test_a_dispute_without_an_address_comes_from_that_of_the_prompt(office: Told, stripe: Recipe) -> None:
    body = payment(
        "evt_2", "charge.dispute.created", customer_email=HOSTILE, amount=99, amount_due=None, reason=HOSTILE
    )
    assert from_stripe(stripe, body, now()).status_code == 200
    assert newest(office)["requester_emails"] == FROM
    require_harmless(office)


@pytest.mark.parametrize(("seconds", "header"), [
    (0, "t={at},v1={bad}"), (0, "t={at}"), (0, "v1={good}"), (0, ""), (0, "t=,v1={good}"), (0, "t={at},v0={good}"),
    (-301, "t={at},v1={good}"), (400, "t={at},v1={good}"), (-86_400 * 30, "t={at},v1={good}"),
    (0, "t=-1,v1={good}"), (0, "t=9e9,v1={good}"), (0, "t={at},v1=" + "z" * 64), (0, "garbage"),
])  # fmt: skip
def test_a_request_that_stripe_did_not_sign_now_is_refused(
    office: Told, stripe: Recipe, seconds: int, header: str
) -> None:
    before = tickets(office)
    refused = from_stripe(stripe, payment("evt_3"), now() + seconds, header)
    assert refused.status_code == 400 and tickets(office) == before


def test_a_time_that_was_not_signed_does_not_count(office: Told, stripe: Recipe) -> None:
    old = now() - 4000
    body = payment("evt_4")
    refused = stripe.call(body, Stripe_Signature=f"t={now()},v1={signed(f'{old}.{body}')}")
    assert refused.status_code == 400


@pytest.mark.parametrize("body", ["[]", "no", payment("evt_5", "customer.created"), payment("", "charge.failed")])
def test_other_events_of_stripe_create_nothing(office: Told, stripe: Recipe, body: str) -> None:
    before = tickets(office)
    assert from_stripe(stripe, body, now()).status_code == 200 and tickets(office) == before


# -- Slack


@pytest.fixture(scope="module")
def slack(office: Told) -> Iterator[Recipe]:
    more = {"token": "xoxb-of-the-tests", "channel": "#boats: {{1}}", "api": office.peer.url("/api")}
    with recipe(office, "slack", **answers(office, **more)) as made:
        yield made


def from_slack(
    made: Recipe, body: str, at: int, secret: str = SECRET, kind: str = "application/x-www-form-urlencoded"
) -> requests.Response:
    signature = f"v0={signed(f'v0:{at}:{body}', secret)}"
    return made.call(body.encode(), X_Slack_Request_Timestamp=str(at), X_Slack_Signature=signature, Content_Type=kind)


def slash(text: str, trigger: str) -> str:
    return urlencode({"command": "/ticket", "text": text, "user_name": "ana", "trigger_id": trigger})


def test_a_slash_command_becomes_one_ticket(office: Told, slack: Recipe) -> None:
    before = tickets(office)
    first, again = (from_slack(slack, slash("The printer burns", "1.2"), now()) for _ in range(2))
    ticket = newest(office)
    assert (
        first.json() == {"response_type": "ephemeral", "text": f"Ticket {ticket['mask']} is created."} == again.json()
    )
    assert (tickets(office), ticket["subject"]) == (before + 1, "The printer burns")
    assert from_slack(slack, slash("", "1.3"), now()).json()["text"].startswith("Say what")
    assert tickets(office) == before + 1
    hidden(office, slack)


def test_events_of_slack(office: Told, slack: Recipe) -> None:
    kind, before = "application/json", tickets(office)
    challenge = json.dumps({"type": "url_verification", "challenge": "3eZbrw1a<b>"})
    assert from_slack(slack, challenge, now(), kind=kind).text == "3eZbrw1ab"
    said = {"type": "app_mention", "user": "U1", "text": "<@U0BOT> The roof leaks"}
    mention = json.dumps({"type": "event_callback", "event_id": "Ev1", "event": said})
    for _ in range(2):
        assert from_slack(slack, mention, now(), kind=kind).status_code == 200
    assert (tickets(office), newest(office)["subject"]) == (before + 1, "The roof leaks")
    own = json.dumps({"type": "event_callback", "event_id": "Ev2", "event": said | {"bot_id": "B1"}})
    assert from_slack(slack, own, now(), kind=kind).text == "Nothing to do." and tickets(office) == before + 1
    assert from_slack(slack, slash(HOSTILE, "1.4"), now()).status_code == 200
    require_harmless(office)


@pytest.mark.parametrize(("seconds", "secret"), [(0, OTHER), (-301, SECRET), (900, SECRET), (0, "")])
def test_a_request_that_slack_did_not_sign_now_is_refused(
    office: Told, slack: Recipe, seconds: int, secret: str
) -> None:
    before = tickets(office)
    assert from_slack(slack, slash("x", "2.1"), now() + seconds, secret or "-").status_code == 401
    assert slack.call(slash("x", "2.1")).status_code == 401 and tickets(office) == before


def test_a_new_ticket_is_posted_to_slack(office: Told, slack: Recipe) -> None:
    posted: queue.Queue[Asked] = queue.Queue()

    def post(asked: Asked) -> bytes:
        posted.put(asked)
        return answer('{"ok": true}', content_type="application/json")

    office.peer.answers["/api/chat.postMessage"] = post
    office.api.parse(mail("ana@kite.example", "<!channel> & co")).ok()
    asked = next(each for each in iter(lambda: posted.get(timeout=30), None) if b"channel&gt;" in each.body)
    body = json.loads(asked.body)
    assert asked.header("authorization") == "Bearer xoxb-of-the-tests"
    assert body["channel"] == "#boats: {{1}}" and "&lt;!channel&gt; &amp; co http" in body["text"]


# -- a monitor


@pytest.fixture(scope="module")
def monitor(office: Told) -> Iterator[Recipe]:
    with recipe(office, "monitor", **answers(office)) as made:
        yield made


def alert(
    fingerprint: str = "f1", status: str = "firing", at: str = "2026-11-01T09:00:00Z", **labels: Any
) -> dict[str, Any]:
    named = {"alertname": "DiskFull", "instance": "db1"} | labels
    return {"status": status, "fingerprint": fingerprint, "startsAt": at, "labels": named,
            "annotations": {"summary": "97 % used"}}  # fmt: skip


def from_monitor(made: Recipe, *alerts: Any, token: str = SECRET) -> requests.Response:
    return made.call(json.dumps({"version": "4", "alerts": list(alerts)}), Authorization=f"Bearer {token}")


def test_an_incident_is_one_ticket_that_recovery_closes(office: Told, monitor: Recipe) -> None:
    before = tickets(office)
    for _ in range(3):
        assert from_monitor(monitor, alert()).text == "ok"
    ticket = newest(office)
    assert (tickets(office), ticket["subject"], ticket["status"]) == (before + 1, "DiskFull db1", "open")
    assert "97 % used" in ticket["latest_message_content"]
    for _ in range(2):
        from_monitor(monitor, alert(status="resolved"))
    assert office.api.record("ticket", ticket["id"]).ok()["status"] == "closed"
    assert comments(office, ticket["id"]) == ["The monitor says that the alert is over."]
    from_monitor(monitor, alert(at="2026-11-02T09:00:00Z"))
    assert tickets(office) == before + 2 and newest(office)["id"] != ticket["id"]
    hidden(office, monitor)


def test_what_is_no_alert_opens_nothing(office: Told, monitor: Recipe) -> None:
    before = tickets(office)
    assert (
        from_monitor(monitor, alert("never", "resolved"), {"status": "firing"}, "x", 7, alert("f9", "odd")).text == "ok"
    )
    for body in ("[]", "no", '{"alerts": 7}'):
        assert monitor.call(body, Authorization=f"Bearer {SECRET}").status_code == 400
    for token in (OTHER, "", SECRET[:-1], f"{SECRET}x"):
        assert from_monitor(monitor, alert("f8"), token=token).status_code == 401
    assert monitor.call("{}").status_code == 401 and tickets(office) == before
    assert from_monitor(monitor, alert("f7", alertname=HOSTILE)).text == "ok"
    require_harmless(office)


# -- a contact form


@pytest.fixture(scope="module")
def form(office: Told) -> Iterator[Recipe]:
    with recipe(office, "contact-form", group_id=office.api.ids["support"], title='Kite "& co" {{1}}') as made:
        yield made


FIELDS = {"name": "Ana", "email": "ana@form.example", "subject": "The pump leaks", "message": "Since\nyesterday"}


def test_a_form_is_shown_and_sent_with_files(office: Told, form: Recipe) -> None:
    shown = requests.get(form.url, timeout=30)
    assert "<h1>Kite &quot;&amp; co&quot; {{1}}</h1>" in shown.text and 'enctype="multipart/form-data"' in shown.text
    files = [("files", ("a b.txt", b"one", "text/plain")), ("files", ("../run.exe", b"two", "text/html"))]
    sent = requests.post(form.url, data=FIELDS, files=files, timeout=30)
    assert (sent.status_code, sent.text) == (200, "Thank you. We answer to ana@form.example.")
    ticket = newest(office)
    assert (ticket["subject"], ticket["requester_emails"]) == ("The pump leaks", "ana@form.example")
    attached = office.api.search("attachment", f"on.message:(ticket.id:{ticket['id']})").ok()["results"]
    assert sorted(each["name"] for each in attached) == ["a b.txt", "run.exe"]


@pytest.mark.parametrize(("fields", "status", "text"), [
    ({"email": "nobody"}, 422, "Enter an email address"), ({"email": ""}, 422, "Enter an email address"),
    ({"email": "a@b.example\r\nBcc: eve@evil.example"}, 422, "Enter an email address"),
    ({"email": "a@b.example, eve@evil.example"}, 422, "Enter an email address"),
    ({"subject": " "}, 422, "Enter a subject"), ({"message": ""}, 422, "Enter a subject"),
    ({"message": "x" * 60_000}, 422, "Write a shorter"), ({"name": "x" * 300}, 422, "Write a shorter"),
    ({"website": "https://spam.example"}, 200, "Thank you."),
])  # fmt: skip
def test_a_form_that_is_wrong_creates_nothing(
    office: Told, form: Recipe, fields: dict[str, str], status: int, text: str
) -> None:
    before = tickets(office)
    sent = requests.post(form.url, data=FIELDS | fields, timeout=30)
    assert (sent.status_code, tickets(office)) == (status, before) and text in sent.text


def test_what_was_typed_is_shown_again_as_text(office: Told, form: Recipe) -> None:
    typed = '"><script>alert(1)</script>{{7*7}}'
    shown = requests.post(form.url, data=FIELDS | {"email": "x", "subject": typed, "message": typed}, timeout=30).text
    assert (
        "<script>" not in shown
        and "49" not in shown
        and "{{7*7}}" in shown.replace("&#x7B;", "{").replace("&#x7D;", "}")
    )


def test_a_form_smuggles_no_header(office: Told, form: Recipe) -> None:
    sent = requests.post(form.url, data=FIELDS | {"name": HOSTILE, "subject": HOSTILE, "message": HOSTILE}, timeout=30)
    assert sent.status_code == 200
    require_harmless(office)
