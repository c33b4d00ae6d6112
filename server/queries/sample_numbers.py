"""Made-up numbers to try out charts. A query always returns the same numbers, random-looking ones included."""

import random

from server.counting.measures import plain
from server.queries.data_query import KeyValues
from server.queries.numbers import number_of
from server.queries.query_type import QueryKey

MAX_SAMPLES = 1_000  # numbers in one series
DEFAULT_SAMPLES = 10
DECIMALS = 2
LABEL = QueryKey("label", "text", "Its name; the id when omitted.")
TREND = QueryKey("trend", "text", "Trend of the numbers.", default="random", choices=("up", "down", "random"))


def bounds(series: KeyValues, axis: str) -> tuple[float, float]:
    """Returns `<axis>.min:` and `<axis>.max:`, by default 0 and 100. Raises BadDataQuery if min is above max."""
    low, high = number_of(series, f"{axis}.min", 0), number_of(series, f"{axis}.max", 100)
    if low > high:
        raise series.bad(f"{axis}.min", f"{plain(low)} is above {axis}.max, {plain(high)}")
    return low, high


def spread(count: int, low: float, high: float, trend: str, seed: str) -> list[float]:
    """Returns `count` numbers from low to high: at equal steps up or down, or at random.

    Whole numbers if both bounds are whole and the range has enough of them; else with two decimals.

    >>> spread(3, 0, 10, "down", ""), spread(3, 0, 1, "up", "")
    ([10, 5, 0], [0, 0.5, 1])
    """
    chance = random.Random(seed)
    places = [chance.random() if trend == "random" else step / max(count - 1, 1) for step in range(count)]
    if trend == "down":
        places.reverse()
    is_whole = float(low).is_integer() and float(high).is_integer() and high - low >= count
    decimals = 0 if is_whole else DECIMALS
    return [plain(round(low + (high - low) * place, decimals)) for place in places]
