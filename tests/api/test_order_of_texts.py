"""Lists of texts are in the order that people expect, by the alphabet of the caller, the same in both databases."""

import random

import pytest

from tests.api.minimal import number
from tests.service import Api

WORDS = ["Zebra", "Äpfel", "äpfel", "Öl", "apfel", "Apfel", "Apfelmus", "zebra", "Ångström", "Łódź", "Lodz", "Æther"]
GERMAN = ["Æther", "Ångström", "apfel", "Apfel", "äpfel", "Äpfel", "Apfelmus", "Lodz", "Łódź", "Öl", "zebra", "Zebra"]
SWEDISH = ["apfel", "Apfel", "Apfelmus", "Lodz", "Łódź", "zebra", "Zebra", "Ångström", "äpfel", "Äpfel", "Æther", "Öl"]
POLISH = ["Æther", "Ångström", "apfel", "Apfel", "äpfel", "Äpfel", "Apfelmus", "Lodz", "Łódź", "Öl", "zebra", "Zebra"]


@pytest.fixture(scope="module")
def mark(nora: Api) -> str:
    """A marker in the website of all organizations with these names."""
    mark = f"sorted{number()}"
    for word in random.Random(7).sample(WORDS, len(WORDS)):
        nora.create("org", name=word, website=f"https://{mark}.example/").ok()
    return mark


def names(api: Api, mark: str, sort: str, **options: int) -> list[str]:
    found = api.search("org", f"website:*{mark}* {sort}", **{"limit": 50, **options}).ok()["results"]
    return [each["name"] for each in found]


@pytest.mark.parametrize(
    ("language", "expected"),
    [("de_DE", GERMAN), ("en_US", GERMAN), ("sv_SE", SWEDISH), ("fi", SWEDISH), ("pl_PL", POLISH)],
)
def test_names_are_in_the_order_of_an_alphabet(language: str, expected: list[str], mark: str, nora: Api) -> None:
    before = nora.record("worker", nora.ids["nora"])["language"]
    nora.update("worker", nora.ids["nora"], language=language).ok()
    try:
        assert names(nora, mark, "sort:name") == expected
        assert names(nora, mark, "sort:-name") == expected[::-1]
        pages = [names(nora, mark, "sort:name", limit=5, page=page) for page in (1, 2, 3)]
        assert [each for page in pages for each in page] == expected
    finally:
        nora.update("worker", nora.ids["nora"], language=before).ok()


def test_values_of_custom_fields_are_in_the_order_of_an_alphabet(nora: Api) -> None:
    uri = f"fruit_{number()}"
    nora.create("custom_field", context="task", name=uri, uri=uri, type="S").ok()
    for word in ("Zebra", "Öl", "äpfel", "Apfelmus", "apfel"):
        nora.create("task", title=uri, **{uri: word}).ok()
    found = nora.search("task", f'title:"{uri}" sort:{uri}', expand="customfields", limit=50).ok()["results"]
    assert [each[uri] for each in found] == ["apfel", "äpfel", "Apfelmus", "Öl", "Zebra"]


@pytest.mark.parametrize(
    "ordered",
    [
        ["Ёлка", "Жук", "Зима"],
        ["Иван", "Йод", "Кот"],
        ["ΑΒΓ", "άβδ", "Βήτα"],
        ["2nd", "alpha", "Beta"],
    ],
)
def test_other_scripts_are_in_their_order(ordered: list[str], nora: Api) -> None:
    mark = f"script{number()}"
    for word in reversed(ordered):
        nora.create("org", name=word, website=f"https://{mark}.example/").ok()
    assert names(nora, mark, "sort:name") == ordered
