"""Searches of the types of work and administration."""

import pytest

from server.errors import BadQuery

FAMILY = "work"


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("worker", "gender:unknown", True),
        ("worker", "group:(name:Support)", True),
        ("worker", "group.manager:(name:Support)", False),
        ("worker", "role:(name:Clerks)", True),
        ("worker", "mentionName:milo", True),
        ("worker", "alias:milo", True),
        ("worker", "isBusy:today", False),
        ("group", "member:(firstName:milo)", True),
        ("group", "manager:(firstName:milo)", False),
        ("group", "default:yes", True),
        ("bucket", "group:(name:Support)", True),
        ("role", "member:(firstName:milo)", True),
        ("role", "privsMode:itemized", True),
        ("task", "comments:leaks", True),
        ("task", "comments:other", False),
        ("task", "isCompleted:no", True),
        ("task", "isCompleted:yes", False),
        ("task", "status:[o,w]", True),
        ("task", "status:0", True),
        ("task", "owner:(firstName:milo)", True),
        ("task", "watchers:(firstName:olga)", True),
        ("task", "fieldset:(name:Technical)", True),
        ("task", "technical.serialNumber:AB*", True),
        ("task", "links:worker", True),
        ("asset", "owner:none", True),
        ("asset", "owner.app:any", False),
        ("email_signature", "owner.app:any", True),
        ("email_signature", "owner.bot:(name:x)", False),
        ("email_signature", "owner.worker:(id:1)", False),
        ("custom_field", "fieldset:(name:Technical)", True),
        ("custom_field", "type:S", True),
        ("custom_fieldset", "context:svc.contexts.task", True),
        ("html_template", "signature.id:null", False),
        ("notification", "worker:(mention:milo) isRead:no", True),
        ("activity_log", "actor.worker:(firstName:nora)", True),
        ("activity_log", "target.task:(title:pump)", True),
        ("activity_log", "target:ticket", False),
        ("activity_log", "activity:[custom.other,x]", True),
        ("mail_transport", "type:core.mail.transport.null", True),
        ("oauth_app", "callbackUrl:stock.example", True),
    ],
)
def test_filters_find_the_described_records(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


def test_an_unreadable_date_is_reported_for_calendars_too(filled):
    desk, _ = filled
    with pytest.raises(BadQuery, match="isBusy"):
        desk.found("worker", "isBusy:blurb")
