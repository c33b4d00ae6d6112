"""Groups small writes into few transactions, each write isolated from the others: a hundred small writes wait for the
disk a few times instead of a hundred."""

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from server.context import Context
from server.errors import HelpdeskError, Invalid
from server.store.database import NotOnWriter
from server.store.transaction import Transaction

Result = TypeVar("Result")
GROUP = 50  # writes in one transaction; other writes wait for it


class Failed(Exception):
    """A write failed, so the whole batch was rolled back. place: index of the write, from 0."""

    def __init__(self, place: int, error: HelpdeskError) -> None:
        super().__init__(place)
        self.place = place
        self.error = error


class _Broken(Exception):
    """A write raised an unexpected error, and its transaction was rolled back."""


def all_or_nothing(ctx: Context, works: Sequence[Callable[[], Result]]) -> list[Result]:
    """Runs all writes in one transaction; returns their results. Raises Failed with the first error."""

    def done(place: int, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except NotOnWriter:
            raise Failed(place, Invalid("this needs time before it writes; send it outside of the batch")) from None
        except HelpdeskError as error:
            raise Failed(place, error) from error

    return ctx.service.store.write(lambda tx: [done(place, work) for place, work in enumerate(works)])


def each_by_itself(
    ctx: Context, works: Sequence[Callable[[], Result]], alone: Callable[[Callable[[], Result]], Result]
) -> list[Result]:
    """Runs small writes, GROUP of them in a transaction; returns their results. `alone` repeats a write that is too
    slow for the writer, raises an unexpected error or cannot be stored. It never raises: it turns an error into a
    result."""
    results: list[Result] = []
    for begin in range(0, len(works), GROUP):
        results += _group(ctx, works[begin : begin + GROUP], alone)
    return results


def _group(
    ctx: Context, works: Sequence[Callable[[], Result]], alone: Callable[[Callable[[], Result]], Result]
) -> list[Result]:
    def part(tx: Transaction, work: Callable[[], Result]) -> Result:
        try:
            return tx.part(lambda _: work())
        except HelpdeskError as error:
            return alone(_raising(error))
        except NotOnWriter:
            raise
        except Exception as error:
            raise _Broken from error

    try:
        return ctx.service.store.write(lambda tx: [part(tx, work) for work in works])
    except (NotOnWriter, _Broken):  # the transaction was rolled back
        return [alone(work) for work in works]
    except HelpdeskError as error:
        return [alone(_raising(error)) for _ in works]


def _raising(error: HelpdeskError) -> Callable[[], NoReturn]:
    def work() -> NoReturn:
        raise error

    return work
