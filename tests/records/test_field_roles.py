"""The order in which people read the fields of a record."""

import pytest

from server.record_types import field_inputs, registry

TYPES = registry.load()


@pytest.mark.parametrize(
    ("uri", "names"),
    [
        ("contact", ["first_name", "last_name", "title", "email_id", "gender", "username", "tags"]),
        (
            "org",
            ["name", "email_id", "website", "tags", "shares_requests", "phone", "street", "postal", "city", "province"],
        ),
        ("calendar_event", ["name", "calendar_id", "is_available", "date_start", "date_end"]),
        ("task", ["title", "status_id", "owner_id", "completed", "due", "reopen", "importance"]),
        ("html_template", ["name", "signature_id", "content", "owner"]),
    ],
)
def test_fields_are_entered_in_the_order_of_their_roles(uri: str, names: list[str]) -> None:
    assert list(field_inputs.entered_fields(TYPES.type(uri), None))[: len(names)] == names


def test_every_type_begins_with_its_name_and_ends_with_fields_that_the_service_sets() -> None:
    assert list(field_inputs.entered_fields(TYPES.type("webhook_listener"), None))[-1] == "guid"
    assert list(field_inputs.entered_fields(TYPES.type("mailbox"), None))[-2:] == ["checked_at", "num_fails"]
