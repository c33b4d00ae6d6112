"""Several pieces of work in few transactions, each as if done alone: a hundred small writes then wait for the disk a
few times instead of a hundred."""

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from server.context import Context
from server.errors import HelpdeskError, Invalid
from server.store.database import NotOnWriter
from server.store.transaction import Transaction

Result = TypeVar("Result")
GROUP = 50  # pieces in one transaction, for which other writes wait


class Failed(Exception):
    """A piece of work failed, so none was done. place: its place, from 0."""

    def __init__(self, place: int, error: HelpdeskError) -> None:
        super().__init__(place)
        self.place = place
        self.error = error


class _Broken(Exception):
    """A piece of work hit a bug, and its transaction was rolled back."""


def all_or_nothing(ctx: Context, works: Sequence[Callable[[], Result]]) -> list[Result]:
    """Do all the work in one transaction; return the results. Raises Failed with the first error."""

    def done(place: int, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except NotOnWriter:
            raise Failed(place, Invalid("this takes time before it writes; do it outside of the others")) from None
        except HelpdeskError as error:
            raise Failed(place, error) from error

    return ctx.service.store.write(lambda tx: [done(place, work) for place, work in enumerate(works)])


def each_by_itself(
    ctx: Context, works: Sequence[Callable[[], Result]], alone: Callable[[Callable[[], Result]], Result]
) -> list[Result]:
    """Do small writes, GROUP of them in a transaction; return the results. `alone`, which never raises, repeats work
    that takes too long for the writer, hits a bug or cannot be written, and turns the error of work that fails into its
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
    except (NotOnWriter, _Broken):  # nothing was written
        return [alone(work) for work in works]
    except HelpdeskError as error:
        return [alone(_raising(error)) for _ in works]


def _raising(error: HelpdeskError) -> Callable[[], NoReturn]:
    def work() -> NoReturn:
        raise error

    return work
