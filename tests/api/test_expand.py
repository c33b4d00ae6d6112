"""`expand` over HTTP: to any depth, for any type, but only what the caller may read."""

from typing import Any

import pytest

from tests.api.minimal import made
from tests.api.sample import Sample
from tests.service import Api


@pytest.fixture(scope="module")
def ids(nora: Api) -> dict[str, int]:
    """A ticket with all its related records."""
    found = dict(nora.ids)
    found["org"] = made(nora, "org", name="Larch Foods", city="Lyon")
    found["contact"] = made(nora, "contact", first_name="Ana", last_name="Lind", org_id=found["org"])
    found["address"] = made(nora, "address", contact_id=found["contact"], org_id=found["org"])
    nora.update("org", found["org"], email_id=found["address"]).ok()
    email = nora.record("address", found["address"])["email"]
    found["ticket"] = made(
        nora, "ticket", org_id=found["org"], owner_id=found["milo"], participants=email,
        links=[f"org:{found['org']}", f"worker:{found['olga']}"],
    )  # fmt: skip
    found["message"] = made(
        nora, "message", ticket_id=found["ticket"], sender_id=found["address"], content="The pump leaks",
        headers=f"From: {email}\r\nTo: support@desk.example\r\nCc: ole@kite.example\r\nX-Odd: yes\r\n",
    )  # fmt: skip
    for number in range(12):
        made(nora, "comment", comment=f"Note {number}", target__context="ticket", target_id=found["ticket"])
    found["file"] = made(
        nora, "attachment", name="pump.txt", content="pump", mime_type="text/plain",
        attach=[f"ticket:{found['ticket']}", f"message:{found['message']}"],
    )  # fmt: skip
    found["asset"] = made(nora, "asset", owner__context="group", owner_id=found["support"])
    return found


# type, expand, keys that must be there with their values; {org} stands for an id.
OPENED: list[tuple[str, str, dict[str, Any]]] = [
    ("ticket", "", {"group__context": "svc.contexts.group", "group_id": "{support}", "owner_id": "{milo}"}),
    ("ticket", "group_", {"group_name": "Support", "group__label": "Support", "group__type": "group"}),
    ("ticket", "group_name", {"group_name": "Support", "group_is_private": 0, "group__context": "svc.contexts.group"}),
    ("ticket", "owner_address_org_name", {"owner_first_name": "Milo", "owner_address_email": "milo@desk.example",
                                          "owner_address_org__context": "svc.contexts.org",
                                          "owner_address_org_id": None}),
    ("ticket", "latest_message_sender_org_city", {
        "latest_message_id": "{message}", "latest_message_sender_id": "{address}",
        "latest_message_sender_org_id": "{org}", "latest_message_sender_org_city": "Lyon",
        "latest_message_sender_org_name": "Larch Foods"}),
    ("ticket", "latest_message_sender_contact_org_email_contact_first_name", {
        "latest_message_sender_contact_org_email_contact_first_name": "Ana"}),
    ("ticket", " org_name , owner_ ,,custom_", {"org_name": "Larch Foods", "owner_first_name": "Milo", "custom": {}}),
    ("ticket", "latest_message_content", {"latest_message_content": "The pump leaks"}),
    ("ticket", "comment_count,requester_emails", {"comment_count": 12}),
    ("ticket", "latest_incoming_activity,latest_outgoing_activity", {"latest_outgoing_activity": 0}),
    ("ticket", "owner_custom_,org_links", {"owner_custom": {}, "org_links": {"svc.contexts.ticket": ["{ticket}"]}}),
    ("message", "content,headers", {"content": "The pump leaks"}),
    ("message", "_label,ticket_subject", {"ticket_subject": "Pump leak"}),
    ("message", "reply_cc", {"reply_cc": "support@desk.example, ole@kite.example"}),
    ("address", "_label,full_name", {"full_name": "Ana Lind"}),
    ("address", "first_name,last_name", {"first_name": "Ana", "last_name": "Lind"}),
    ("asset", "owner_", {"owner_name": "Support", "owner__label": "Support", "owner__context": "svc.contexts.group"}),
    ("asset", "owner_default_bucket_name", {"owner_default_bucket_name": "Inbox"}),
    ("contact", "email_,emails", {}),
    ("org", "last_sender_message", {"last_sender_message_id": "{message}"}),
    ("org", "last_recipient_message_id", {}),
    ("attachment", "on", {"on": [{"_context": "svc.contexts.message", "id": "{message}"},
                                 {"_context": "svc.contexts.ticket", "id": "{ticket}"}]}),
    ("attachment", "on.ticket", {}),
]  # fmt: skip


HARMLESS: dict[str, dict[str, Any]] = {
    "message": {"is_broadcast": 0}, "contact": {"phone": "1"}, "asset": {"updated_at": 1},
}  # fmt: skip


def filled(value: Any, ids: dict[str, int]) -> Any:
    if isinstance(value, dict):
        return {key: filled(each, ids) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, ids) for each in value]
    return ids[value[1:-1]] if isinstance(value, str) and value.startswith("{") else value


@pytest.mark.parametrize(("uri", "expand", "has"), OPENED, ids=[f"{row[0]} {row[1]}" for row in OPENED])
def test_expanded_keys(uri: str, expand: str, has: dict[str, Any], ids: dict[str, int], api: Api) -> None:
    id = ids.get(uri, ids["file"])
    found = api.record(uri, id, expand).ok().json
    expected = filled(has, ids)
    assert {key: found.get(key) for key in expected} == expected
    plain = api.record(uri, id).ok().json
    assert plain.items() <= found.items()
    searched = api.search(uri, f"id:{id}", expand=expand).ok()["results"][0]
    assert searched == {key: value for key, value in found.items() if key not in ("__build", "__status", "__version")}
    assert api.update(uri, id, expand=expand, **HARMLESS.get(uri, {"updated": 1})).ok().json.keys() == found.keys()


def without_notes(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "notes"}


def test_paths_that_lead_nowhere_add_nothing(ids: dict[str, int], api: Api) -> None:
    plain = api.record("ticket", ids["ticket"]).ok().json
    for expand in (
        "nosuch",
        "nosuch_",
        "group",
        "_",
        ",",
        "owner",
        "subject",
        "x" * 300,
        "~",
        ":",
        ".",
    ):
        assert without_notes(api.record("ticket", ids["ticket"], expand).ok().json) == plain, expand
    for expand in ("group_nosuch", "owner_address_nosuch_name"):
        assert "group_nosuch" not in without_notes(api.record("ticket", ids["ticket"], expand).ok().json)


def test_a_missing_record_adds_nothing(api: Api) -> None:
    ticket = made(api, "ticket")
    plain = api.record("ticket", ticket).ok().json
    opened = api.record("ticket", ticket, "owner_,org_,latest_message_,initial_message_sender_org_").ok().json
    assert opened == plain


def test_depth_and_number_of_paths_are_limited(ids: dict[str, int], api: Api) -> None:
    deep = "org_email_" * 30
    found = api.record("ticket", ids["ticket"], deep[:250]).ok().json
    assert max(key.count("org_email_") for key in found) <= 8
    many = ",".join(f"custom_{number}_" for number in range(5000))
    assert api.record("ticket", ids["ticket"], many[:8000]).ok()["id"] == ids["ticket"]


LINK_FORMS = [
    ("links", lambda ids: {"svc.contexts.org": [ids["org"]], "svc.contexts.worker": [ids["olga"]]}),
    ("links~1", lambda ids: [{"_context": "svc.contexts.org", "id": ids["org"]}]),
    ("links~0", lambda ids: [{"_context": "svc.contexts.org", "id": ids["org"]}]),
    ("links~99", lambda ids: [{"_context": "svc.contexts.org", "id": ids["org"]},
                              {"_context": "svc.contexts.worker", "id": ids["olga"]}]),
    ("links.nosuch", lambda ids: []),
    ("links.task", lambda ids: []),
]  # fmt: skip


@pytest.mark.parametrize(("form", "expected"), LINK_FORMS)
def test_forms_of_links(form: str, expected: Any, ids: dict[str, int], api: Api) -> None:
    assert api.record("ticket", ids["ticket"], form).ok()["links"] == expected(ids)


def test_links_with_records_and_keys(ids: dict[str, int], api: Api) -> None:
    for form in ("links.org", "links.org:name", "links.svc.contexts.org", "links.organization"):
        (one,) = api.record("ticket", ids["ticket"], form).ok()["links"]
        assert (one["_context"], one["id"], one["name"]) == ("svc.contexts.org", ids["org"], "Larch Foods"), form
    found = api.record("ticket", ids["ticket"], "links:_label").ok()["links"]
    assert [each["_label"] for each in found] == ["Larch Foods", "Olga Test"]


def test_forms_of_comments(ids: dict[str, int], api: Api) -> None:
    def texts(form: str) -> list[str]:
        comments = api.record("ticket", ids["ticket"], form).ok()["comments"]
        newest_first = sorted(comments.values(), key=lambda each: -each["id"])
        assert list(comments) == sorted(comments) and all(str(each["id"]) == id for id, each in comments.items())
        return [each["comment"] for each in newest_first]

    assert texts("comments") == [f"Note {number}" for number in range(11, 1, -1)]
    assert texts("comments~3") == ["Note 11", "Note 10", "Note 9"]
    assert len(texts("comments~99")) == 12 and len(texts("comments~0")) == 1
    opened = api.record("ticket", ids["ticket"], "comments:author_first_name").ok()["comments"]
    assert {each["author_first_name"] for each in opened.values()} == {"Nora"}


def test_forms_of_attachments(ids: dict[str, int], api: Api) -> None:
    (one,) = api.record("ticket", ids["ticket"], "attachments").ok()["attachments"]
    assert (one["id"], one["name"], one["_type"]) == (ids["file"], "pump.txt", "attachment")
    (opened,) = api.record("ticket", ids["ticket"], "attachments:on").ok()["attachments"]
    assert len(opened["on"]) == 2
    brief = {"id": ids["file"], "file_name": "pump.txt", "file_size": 4, "file_type": "text/plain", "dropped": ""}
    assert api.record("message", ids["message"], "attachments").ok()["attachments"] == {str(ids["file"]): brief}


def test_empty_collections_have_the_same_form_as_full_ones(api: Api) -> None:
    ticket = made(api, "ticket")
    found = api.record("ticket", ticket, "links,watchers,comments,attachments,requesters,custom_,comment_count").ok()
    assert [found[key] for key in ("links", "watchers", "comments", "requesters", "custom")] == [{}] * 5
    assert (found["attachments"], found["comment_count"]) == ([], 0)


def test_people_of_a_ticket(ids: dict[str, int], api: Api) -> None:
    found = api.record("ticket", ids["ticket"], "requesters,requester_emails,participants,watchers,_messages").ok()
    email = api.record("address", ids["address"])["email"]
    assert found["requesters"] == {
        str(ids["address"]): {
            "id": ids["address"], "email": email, "name": "Ana Lind",
            "contact_id": ids["contact"], "org_id": ids["org"],
        }
    }  # fmt: skip
    assert found["requester_emails"] == email
    assert [each["id"] for each in found["participants"]] == [ids["address"]]
    assert list(found["watchers"]) == [str(ids["olga"])]
    assert list(found["_messages"]) == [str(ids["message"])]


def test_headers_of_a_message_have_lower_case_names(ids: dict[str, int], api: Api) -> None:
    headers = api.record("message", ids["message"], "headers").ok()["headers"]
    assert headers["x-odd"] == "yes" and headers["to"] == "support@desk.example"


def test_workers_groups_and_roles(ids: dict[str, int], api: Api) -> None:
    milo = api.record("worker", ids["milo"], "groups,roles,emails,address_email").ok()
    assert list(milo["groups"]) == [str(ids["support"])]
    assert "Everyone" in [each["name"] for each in milo["roles"].values()]
    assert [each["email"] for each in milo["emails"].values()] == [milo["address_email"]]
    group = api.record("group", ids["support"], "members,buckets").ok()
    assert {each["first_name"] for each in group["members"].values()} >= {"Milo", "Nora"}
    assert "Inbox" in [each["name"] for each in group["buckets"]["results"]]


def test_hidden_records_are_not_expanded(ids: dict[str, int], api: Api) -> None:
    hidden = made(api, "ticket", subject="Canary", group_id=ids["private"])
    draft = made(api, "draft", worker_id=ids["olga"], ticket_id=hidden)
    note = made(api, "comment", comment="Canary", target__context="ticket", target_id=hidden)
    olga = api.as_("olga")
    opened = olga.record("draft", draft, "ticket_,ticket_group_,ticket_latest_message_").ok()
    assert opened["ticket_id"] == hidden
    assert not any(
        key.startswith("ticket_") and key not in ("ticket_id", "ticket__context", "ticket_url") for key in opened.json
    )
    assert olga.record("comment", note).status == 403
    transport = made(api, "mail_transport")
    address = made(api, "address", mail_transport_id=transport)
    assert "mail_transport_name" not in olga.record("address", address, "mail_transport_").ok().json
    assert api.record("address", address, "mail_transport_").ok()["mail_transport_name"] == "Nowhere"


def test_a_search_expands_the_same_as_each_record(sample: Sample) -> None:
    expand = "owner_address_,org_,group_,bucket_,latest_message_sender_,links,watchers,comments,custom_,requesters"
    found = sample.api.search("ticket", "sort:-importance", limit=12, expand=expand).ok()["results"]
    for each in found:
        alone = sample.api.record("ticket", each["id"], expand).ok().json
        assert each == {key: value for key, value in alone.items() if key not in ("__build", "__status", "__version")}
