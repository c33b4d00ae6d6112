import pytest

from server.mail.spam_score import score, words


@pytest.mark.parametrize(("count", "expected"), [(3, 0.2286), (15, 0.0023), (40, 0.0023), (0, 0.5)])
def test_untrained_words(count, expected):
    assert round(score({f"w{number}": (0, 0) for number in range(count)}, 0, 0), 4) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"a": (0, 5)}, 0.9999),
        ({"a": (5, 0)}, 0.0001),
        ({"a": (5, 5)}, 0.5),
        ({"a": (1, 3)}, 0.4),
        ({"a": (2, 6)}, 0.75),
        ({"a": (0, 50), "b": (50, 0)}, 0.5),
    ],
)
def test_a_word_counts_by_its_share(counts, expected):
    assert score(counts, 100, 100) == pytest.approx(expected)


def test_shares_are_of_the_trained_tickets():
    assert score({"a": (10, 10)}, 1000, 10) == pytest.approx(1 / 1.01)
    assert score({"a": (10, 0)}, 10, 0) == 0.0001
    assert score({"a": (5, 5)}, 0, 0) == 0.4


def test_the_fifteen_words_farthest_from_the_middle_decide():
    strong = {f"s{number}": (0, 20) for number in range(15)}
    weak = {f"w{number}": (0, 0) for number in range(500)}
    assert score(strong | weak, 20, 20) == 0.9999


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Win a FREE bike!", {"win", "free", "bike"}),
        ("2024 12 abc123", {"abc123"}),
        ("the and with from", set()),
        ("ab abc " + "x" * 24 + " " + "y" * 25, {"abc", "x" * 24}),
        ("bike bike", {"bike"}),
        ("grün_blau Привет", {"grün", "blau", "привет"}),
        ("x" * 14_990 + " early  late", {"early"}),
        ("", set()),
    ],
)
def test_words(text, expected):
    assert words(text) == expected
