"""A trait brings its fields, filters, columns and expand names to the types that have it, and to no other."""

import pytest

from server.records import traits
from server.records.asset import Asset
from server.records.file_bundle import FileBundle


def test_a_picture_brings_its_column_and_its_field() -> None:
    with_picture, without = Asset(), FileBundle()
    assert "image_blob_id" in with_picture.table.names and "image" in with_picture.fields
    assert "image_blob_id" not in without.table.names and "image" not in without.fields


@pytest.mark.parametrize("name", ["comments", "custom_fields", "links", "watchers", "attachments", "avatars"])
def test_a_feature_has_one_trait(name: str) -> None:
    assert [each.name for each in traits.of(frozenset((name,)))] == [name]


def test_features_without_a_declaration_have_no_trait() -> None:
    assert traits.of(frozenset(("owner", "search"))) == ()
