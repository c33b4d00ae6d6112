"""A helpdesk without a server, asked as one over HTTP is: for making records by what minimal.py has."""

from typing import Any, cast

from tests.records.desk import Desk
from tests.service import Api


class Answer(dict[str, Any]):
    """A dictionary of a record; making it has succeeded, or an error was raised."""

    def ok(self) -> "Answer":
        return self


class Direct:
    """The part of tests.service.Api that making records needs, by an administrator."""

    def __init__(self, desk: Desk, ids: dict[str, int]) -> None:
        self.desk = desk
        self.ids = ids

    def create(self, uri: str, /, **fields: Any) -> Answer:
        return Answer(self.desk.create(uri, by=self.ids["nora"], **fields))

    def record(self, uri: str, id: int, expand: str = "") -> Answer:
        return Answer(self.desk.record(uri, id, by=self.ids["nora"], expand=expand))

    def found(self, uri: str, q: str) -> list[int]:
        return self.desk.found(uri, q, by=self.ids["nora"])


def direct(desk: Desk, ids: dict[str, int]) -> Api:
    """A client of a desk, for functions that take one over HTTP."""
    return cast(Api, Direct(desk, ids))
