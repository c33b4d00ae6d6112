"""Texts and full-text queries as PostgreSQL receives them."""

import pytest

from server.store.fulltext import MAX_WORD
from server.store.postgresql.tsvectors import MAX_BYTES, MAX_PLACE, as_tsquery, as_tsvector

COLUMNS = ("subject", "content", "notes", "sender", "files")


@pytest.mark.parametrize(
    ("parts", "vector"),
    [
        ([], ""),
        (["", ""], ""),
        (["pump"], "'pump':1A"),
        (["pump", "pump"], "'pump':1A,10B"),
        (["", "", "", "pump"], "'3_pump':25"),
        (["x" * MAX_WORD + " pump"], f"'pump':2A '{'x' * MAX_WORD}':1A"),
        (["x" * (MAX_WORD + 1) + " pump"], "'pump':2A"),  # its position stays counted, so that no phrase spans it
        (["it's"], "'it':1A 's':2A"),
    ],
)
def test_parts_become_a_vector(parts: list[str], vector: str) -> None:
    assert as_tsvector(parts) == vector


def test_a_word_that_is_too_long_to_be_kept_is_looked_for_and_not_found() -> None:
    kept, longer = "x" * MAX_WORD, "x" * 5000
    assert as_tsvector([f"{kept} {longer}"]) == f"'{kept}':1A"
    assert as_tsquery(f'"{kept}" "pump {longer}"*', ["name"]) == f"'{kept}' & ('pump' <-> '{longer[: MAX_WORD + 1]}':*)"


def test_a_text_of_endless_words_is_kept_as_far_as_postgresql_takes_it() -> None:
    """Stands for headers filled with characters of four bytes, each word different."""
    parts = [" ".join(chr(0x20000 + part * 25_000 + number) for number in range(25_000)) for part in range(6)]
    vector = as_tsvector(["pump", *parts])
    size = sum(len(each.partition("':")[0].encode()) + 7 for each in vector.split(" '"))
    assert "'pump':1A" in vector and MAX_BYTES // 2 < size <= MAX_BYTES


def test_words_behind_the_last_place_are_kept() -> None:
    assert as_tsvector(["a " * MAX_PLACE + "pump leak"]).endswith(f"'leak':{MAX_PLACE}A 'pump':{MAX_PLACE}A")


@pytest.mark.parametrize(
    ("columns", "query", "expected"),
    [
        (COLUMNS[:3], '"pump"', "'pump'"),
        (COLUMNS[:3], '"pump" "leak"*', "'pump' & 'leak':*"),
        (COLUMNS[:3], '"ana larch example"', "('ana' <-> 'larch' <-> 'example')"),
        (COLUMNS[:3], '"the pu"*', "('the' <-> 'pu':*)"),
        (COLUMNS[:3], '"o\'neill"', "('o' <-> 'neill')"),
        (COLUMNS[:3], '"a\\b"', "('a' <-> 'b')"),
        (COLUMNS, '"pump"', "('pump' | '3_pump' | '4_pump')"),
        (COLUMNS, '"the pu"*', "(('the' <-> 'pu':*) | ('3_the' <-> '3_pu':*) | ('4_the' <-> '4_pu':*))"),
        (COLUMNS, '{subject} : ("pump")', "'pump':A"),
        (COLUMNS, '{content} : ("pump" "leak"*)', "'pump':B & 'leak':*B"),
        (COLUMNS, '{sender} : ("ana larch")', "('3_ana' <-> '3_larch')"),
        (COLUMNS, '{sender files} : ("ana")', "('3_ana' | '4_ana')"),
        (COLUMNS, '{notes sender} : ("ana")', "('ana':C | '3_ana')"),
    ],
)
def test_a_query_becomes_one_of_postgresql(columns: tuple[str, ...], query: str, expected: str) -> None:
    assert as_tsquery(query, columns) == expected
