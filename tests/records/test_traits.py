"""A trait adds its fields, filters, columns and expand names to the types that declare it, and to no other."""

from server.record_types import registry, traits
from server.record_types.asset import Asset
from server.record_types.file_bundle import FileBundle


def test_a_picture_adds_its_column_and_its_field() -> None:
    with_picture, without = Asset(), FileBundle()
    assert "image_blob_id" in with_picture.table.names and "image" in with_picture.fields
    assert "image_blob_id" not in without.table.names and "image" not in without.fields


def test_a_type_has_the_traits_it_names_and_no_other() -> None:
    asset = Asset()
    assert {each.name for each in traits.ALL if asset.has(type(each))} == asset.features
    assert asset.has(traits.Avatars) and not FileBundle().has(traits.Avatars)


def test_types_declare_their_traits_in_the_order_of_all() -> None:
    """The order decides that of filters and expand names."""
    for record_type in registry.load():
        declared = [type(each) for each in record_type.traits]
        assert declared == sorted(declared, key=traits.ORDER.index), record_type.uri


def test_traits_are_named_by_their_features() -> None:
    assert [type(each) for each in traits.named(frozenset(("search", "links")))] == [traits.Links, traits.Search]


def test_searching_requires_the_trait_and_the_operation() -> None:
    offering = {each.uri for each in registry.load() if each.offers("search")}
    assert "ticket" in offering and "automation_resource" not in offering  # the trait
    assert all(each.operations["search"] for each in registry.load() if each.uri in offering)
