"""Formulas of `metric:`: their results, and their errors."""

import pytest

from server.errors import BadDataQuery
from server.queries.formula import MAX_FORMULA_CHARS, MAX_FORMULA_DEPTH, formula


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("x", 7, 7), ("x*100", 3, 300), ("x / 4", 10, 2.5), ("x+1*2", 1, 3), ("(x+1)*2", 1, 4), ("x-1-1", 5, 3),
        ("x/2/5", 100, 10), ("2**3**2", 0, 512), ("-x**2", 3, -9), ("(-x)**2", 3, 9), ("2**-1", 0, 0.5), ("--x", 4, 4),
        ("x - -1", 4, 5), ("(x/60)|round", 90, 2), ("x/60|round", 150, 3), ("x|round(1)", 2.25, 2.3),
        ("-x|round", 2.5, -3), ("x|abs", -4, 4), ("(x|abs)+1", -4, 5), ("x|round|abs", -1.6, 2),
        ("x|number_format(2)", 1234.5678, 1234.57), ("x/3", 1, 0.3333), ("1/x", 0, None), ("0**-1", 0, None),
        ("(-8)**0.5", 0, None), ("x**1000", 10, None), ("x**9999", 2, None), ("x*x", 1e200, None), ("x", None, None),
        ("x*x*x*x", 10**10, 1e40),
    ],
)  # fmt: skip
def test_what_formulas_compute(text: str, x: float | None, expected: float | None) -> None:
    assert formula(text, 0)(x) == expected


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", 0, "ends too early"), ("x*", 2, "ends too early"), ("x x", 2, "'x' is not expected"),
        ("(x", 2, "')' is missing"), ("x)", 1, "')' is not expected"), ("xx", 0, "'xx' is not expected"),
        ("x+y", 2, "'y' is not expected"), ("x^2", 1, "'^' is not known"), ("x|", 2, "'' is not a filter"),
        ("x|rond", 2, "did you mean 'round'"), ("x|round(x)", 8, "number of decimals"),
        ("x|round(99)", 8, "number of decimals"), ("x|round(2", 9, "')' is missing"), ("x|abs(2)", 5, "not expected"),
        ("x.y", 1, "'.' is not known"), ("1e5", 1, "not expected"), ("__import__", 0, "not expected"),
    ],
)  # fmt: skip
def test_errors_name_their_place(text: str, place: int, part: str) -> None:
    with pytest.raises(BadDataQuery) as caught:
        formula(text, 40)
    assert part in caught.value.message and caught.value.details["position"] == 40 + place


def test_limits() -> None:
    assert formula("+".join("x" * (MAX_FORMULA_CHARS // 2)), 0)(1) == MAX_FORMULA_CHARS // 2
    with pytest.raises(BadDataQuery, match=f"{MAX_FORMULA_CHARS} are allowed"):
        formula("x" * (MAX_FORMULA_CHARS + 1), 0)
    assert formula("(" * MAX_FORMULA_DEPTH + "x" + ")" * MAX_FORMULA_DEPTH, 0)(5) == 5
    for text in ("(" * 21 + "x" + ")" * 21, "-" * 21 + "x", "x" + "**x" * 21):
        with pytest.raises(BadDataQuery, match="nested deeper"):
            formula(text, 0)
