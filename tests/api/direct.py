"""A helpdesk without a server, with the interface of a client over HTTP, so that minimal.py can create records in
it."""

from typing import Any, cast

from tests.records.desk import Desk
from tests.service import Api


class Answer(dict[str, Any]):
    """The fields of a record that was created; errors are raised."""

    def ok(self) -> "Answer":
        return self


class Direct:
    """The methods of tests.service.Api that creating records requires, with the rights of an administrator."""

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
    """Returns a client of a desk for functions that expect one over HTTP."""
    return cast(Api, Direct(desk, ids))
