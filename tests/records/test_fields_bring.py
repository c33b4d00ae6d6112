"""Filters and related records that a field adds to its type, and how the type overrides them."""

from typing import Any

from server.fields import Bit, ContextName, CreatedAt, Id, Name, Seconds, Structure, Text, Timestamp, Uint, UpdatedAt
from server.record_types.record_type import Access, NestedRecord, RecordType
from server.record_types.shared import record_owners
from server.search.filters import AllWords, TextFilter

ANYBODY = Access(read="any worker", write=("privilege",))


def made(fields: dict[str, Any], **declared: Any) -> RecordType:
    """Returns a record type with these fields."""
    body = {"uri": "printer", "access": ANYBODY, "fields": fields} | declared
    return type("Printer", (RecordType,), body)()


def filters(fields: dict[str, Any], **declared: Any) -> dict[str, tuple[str, str, str]]:
    """Returns {name: (kind, note, column)} of the filters of such a type, in their order, except `id`."""
    found = made(fields, **declared).filter_by_name.values()
    return {each.name: (each.type, each.note, each.column_name) for each in found if each.name != "id"}


def test_each_kind_of_field_adds_the_filter_of_its_kind():
    assert filters(
        {
            "checked_at": Timestamp("Last check; 0 for never."),
            "is_colour": Bit("Prints in colour."),
            "num_pages": Uint("Pages printed: all of them. Never less."),
            "serial": Text("Serial number."),
            "warm_up": Seconds("How long it takes."),
        }
    ) == {
        "checkedAt": ("date", "Last check.", "checked_at"),
        "isColour": ("bool", "Prints in colour.", "is_colour"),
        "numPages": ("number", "Pages printed.", "num_pages"),
        "serial": ("text", "Serial number.", "serial"),
        "warmUp": ("duration", "How long it takes.", "warm_up"),
    }


def test_common_fields_need_no_note():
    assert filters({"created_at": CreatedAt(), "name": Name(), "updated_at": UpdatedAt()}) == {
        "text": ("text", "Bare words are searched in the name.", "name"),
        "created": ("date", "When the record was created.", "created_at"),
        "name": ("text", "Name.", "name"),
        "updated": ("date", "Last change.", "updated_at"),
    }


def test_a_field_describes_a_deviating_filter():
    found = made({"serial_no": Text("Serial number.", filter="serial", filter_note="The whole of it.", match="exact")})
    assert found.filter_by_name["serial"].describe() == {
        "name": "serial",
        "type": "text",
        "default": False,
        "sortable": True,
        "note": "The whole of it.",
        "key": "serial_no",
        "match": "exact",
    }


def test_hidden_fields_are_not_searchable_unless_listed():
    secret = Text("Secret.", shown=False)
    assert (
        filters({"secret": secret, "other": Text("Other.", alternative_to="secret"), "many": Structure("Many.")}) == {}
    )
    assert list(filters({"pin": Text("Pin.", shown=False, filter="pin"), "note": Text("Note.", filter=None)})) == [
        "pin"
    ]


def test_an_id_adds_the_related_record():
    found = made({"room_id": Id("Room that it stands in; 0 for none.", "room", zero_ok=True, deep="In such a room.")})
    assert found.nested == (NestedRecord("room", "room", "Room that it stands in.", "room_id"),)
    assert not found.fields["room_id"].shown
    assert filters(found.fields) == {
        "room": ("deep", "In such a room.", ""),
        "room.id": ("chooser", "By id; comparison and sets as for numbers.", "room_id"),
    }
    assert found.filter_by_name["room.id"].target == "room"


def test_an_id_may_rename_the_related_record_or_show_itself():
    found = made(
        {
            "file_id": Id("File.", "attachment", nested=None, filter=None),
            "room_id": Id(
                "Room.", "room", nested="place", nested_note="Where it is.", filter="place.id", deep="There."
            ),
        }
    )
    assert found.nested == (NestedRecord("place", "room", "Where it is.", "room_id"),)
    assert found.fields["file_id"].shown
    assert [each for each in found.filter_by_name if each != "id"] == ["place", "place.id"]


def test_a_hidden_id_shows_nothing_of_the_related_record():
    found = made({"room_id": Id("Room.", "room", shown=False)})
    assert found.nested == ()
    assert not found.fields["room_id"].shown
    assert [each for each in found.filter_by_name if each != "id"] == []


def test_a_polymorphic_id_adds_the_related_record_and_no_filter_of_its_own():
    pair = {"on__context": ContextName("Its type.", shown=False), "on_id": Id("Its id.", target_from="on__context")}
    found = made(pair)
    assert found.nested == (NestedRecord("on", "*", "Its id.", "on_id"),)
    assert filters(pair) == {}


def test_an_owner_adds_the_filters_on_owners():
    names = ["owner", "owner.app", "owner.bot", "owner.group", "owner.role", "owner.worker"]
    assert list(filters(record_owners.fields())) == names
    assert filters(record_owners.fields(filter=None)) == {}


def test_declarations_of_a_type_replace_those_of_its_fields():
    own = (AllWords("Bare words are serial numbers.", "serial"), TextFilter("name", "Whole.", "name", "exact"))
    nested = (NestedRecord("room", "room", "Null for none.", is_nullable=True),)
    found = made(
        {"name": Name(), "room_id": Id("Room.", "room"), "serial": Text("Serial.")}, filters=own, nested=nested
    )
    assert found.filter_by_name["text"].note == "Bare words are serial numbers."
    assert found.filter_by_name["name"].note == "Whole."
    assert found.nested == nested


def test_filters_are_sorted_by_name_after_the_one_for_bare_words():
    own = (TextFilter("model", "Model.", "serial"),)
    fields = {"zone": Text("Zone."), "serial": Text("Serial."), "name": Name(), "bay": Text("Bay.")}
    assert list(made(fields, filters=own).filter_by_name) == ["text", "bay", "id", "model", "name", "serial", "zone"]


def test_the_uri_provides_names_that_a_type_does_not_declare():
    found = made({"name": Name()}, uri="label_printer")
    assert found.context == "svc.contexts.label_printer"
    assert found.label_names == ("Label Printer", "Label Printers")
    assert found.aliases == ("label printer", "label printers")
    assert made({"name": Name()}).aliases == ("printers",)
    assert made({"name": Name()}, context="").context == ""
