"""Contact forms: addresses, custom fields with conditions, consent versions, and websites that may frame them."""

import pytest

from server.errors import Conflict, Forbidden, Invalid
from server.record_types.shared.contact_fields import FormField, form_fields, shown_fields
from server.record_types.shared.custom import definitions

TICKET = "svc.contexts.ticket"


@pytest.fixture
def kite(desk, ids):
    return desk.create("brand", name="Kite", host="help.kite.example")["id"]


@pytest.fixture
def fields(desk):
    """Custom fields of tickets, by name."""
    kinds = {
        "kind": ("D", {"options": ["Order", "Question"]}),
        "number": ("S", {}),
        "urgent": ("C", {}),
        "owner": ("W", {}),
    }
    return {
        name: desk.create("custom_field", name=name.title(), context="ticket", type=kind, uri=name, params=params)["id"]
        for name, (kind, params) in kinds.items()
    }


@pytest.fixture
def form(desk, ids, kite):
    id = desk.create("contact_form", name="Write to us", brand_id=kite, group_id=ids["support"])["id"]
    yield id
    desk.delete("contact_form", id)


def test_a_new_form_is_off_and_takes_files(desk, form):
    values = desk.record("contact_form", form)
    assert (values["is_on"], values["has_files"], values["consent_version"], values["form_fields"]) == (0, 1, 0, [])


def test_the_version_rises_with_each_change_of_the_consent_text(desk, form):
    versions = []
    for text in ("I agree.", "I agree.", "I agree to all.", "", "I agree."):
        desk.update("contact_form", form, consent_text=text)
        versions.append(desk.record("contact_form", form)["consent_version"])
    assert versions == [1, 1, 2, 3, 4]


def test_an_address_has_one_form_a_language(desk, ids, kite, form):
    common = {"name": "Schreiben", "brand_id": kite, "group_id": ids["support"]}
    with pytest.raises(Conflict, match="Write to us has the same address"):
        desk.create("contact_form", **common)
    other = desk.create("contact_form", language="de", **common)["id"]
    with pytest.raises(Conflict, match="same address"):
        desk.update("contact_form", other, language="")
    desk.delete("contact_form", other)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"slug": "Sales"}, "must match"),
        ({"slug": "a/b"}, "must match"),
        ({"slug": "../x"}, "must match"),
        ({"language": "xx"}, "is not a known language"),
        ({"frame_origins": "kite.example"}, "is not the address of a website"),
        ({"frame_origins": "https://*.example"}, "is not the address of a website"),
        ({"frame_origins": "https://a.example; script-src *"}, "is not the address of a website"),
        ({"frame_origins": "https://a.example/path"}, "is not the address of a website"),
        ({"frame_origins": "javascript:alert(1)"}, "is not the address of a website"),
        ({"frame_origins": "https://user@a.example"}, "is not the address of a website"),
        ({"form_fields": '{"field_id": 1}'}, "takes a list of maps"),
        ({"form_fields": "[1]"}, "takes a list of maps"),
        ({"form_fields": '[{"field_id": "x"}]'}, "is not an id"),
        ({"form_fields": '[{"field_id": 999999}]'}, "no custom field 999999"),
        ({"form_fields": '[{"field_id": 1, "script": 1}]'}, "takes a list of maps"),
        ({"name": "a\nb"}, "must be one line"),
    ],
)
def test_what_no_form_can_have_is_refused(desk, form, values, said):
    with pytest.raises(Invalid, match=said):
        desk.update("contact_form", form, **values)


def test_fields_have_conditions_on_fields_above_them(desk, form, fields):
    def sent(*items):
        desk.update("contact_form", form, form_fields=list(items))

    kind, number = {"field_id": fields["kind"], "is_required": "1"}, {"field_id": fields["number"]}
    sent(kind, number | {"if_field_id": fields["kind"], "if_value": "Order", "is_required": 1})
    stored = form_fields(desk.record("contact_form", form)["form_fields"])
    assert stored == [
        FormField(fields["kind"], True),
        FormField(fields["number"], True, fields["kind"], "Order"),
    ]
    for items, said in (
        ([number | {"if_field_id": fields["kind"], "if_value": "Order"}, kind], "is not a field above it"),
        ([kind, number | {"if_field_id": fields["kind"], "if_value": "Other"}], "is not a value of the field Kind"),
        ([number, kind | {"if_field_id": fields["number"], "if_value": "1"}], "no field can depend on Number"),
        ([kind, kind], "is there twice"),
        ([{"field_id": fields["owner"]}], "visitors cannot fill in the field Owner"),
    ):
        with pytest.raises(Invalid, match=said):
            sent(*items)


def test_a_field_is_shown_when_the_fields_that_it_depends_on_are(desk, fields):
    known = desk.read(lambda tx: {each.id: each for each in definitions(tx).fields_of(TICKET)})
    kind, urgent, number = fields["kind"], fields["urgent"], fields["number"]
    chain = [FormField(kind), FormField(urgent, False, kind, "Order"), FormField(number, False, urgent, "1")]

    def shown(values):
        return [each.field_id for each in shown_fields(chain, known, values)]

    assert shown({}) == [kind]
    assert shown({kind: ["Order"]}) == [kind, urgent]
    assert shown({kind: ["Order"], urgent: ["1"]}) == [kind, urgent, number]
    assert shown({kind: ["Question"], urgent: ["1"]}) == [kind], "a hidden field meets no condition"
    assert shown_fields(chain, {number: known[number]}, {urgent: ["1"]}) == [], "the others were deleted"


def test_a_bucket_belongs_to_the_group(desk, ids, form):
    group = desk.create("group", name="Forms")["id"]
    bucket = desk.create("bucket", name="Forms", group_id=group)["id"]
    with pytest.raises(Invalid, match="is a bucket of another group"):
        desk.update("contact_form", form, bucket_id=bucket)
    desk.update("contact_form", form, bucket_id=bucket, group_id=group)
    desk.update("contact_form", form, bucket_id=0, group_id=ids["support"])


def test_only_administrators_write_forms(desk, ids, kite, form):
    with pytest.raises(Forbidden):
        desk.update("contact_form", form, by=ids["milo"], is_on=1)
    with pytest.raises(Forbidden):
        desk.create("contact_form", by=ids["milo"], name="Mine", brand_id=kite, group_id=ids["support"], slug="mine")
