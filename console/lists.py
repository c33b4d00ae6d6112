"""What pages with lists of records share: searching, choosing, one record. Source: ours."""

from typing import Any

from console.ui import PAGE_ROWS, Option
from console.visit import Visit
from server.desk import records
from server.desk.records import SearchRequest
from server.errors import BadQuery, NotFound
from server.store.transaction import Transaction

MAX_CHOICES = 500  # of a list to choose from


def found(visit: Visit, uri: str, sort: str = "", expand: str = "") -> tuple[dict[str, Any], str]:
    """The page of a search that the address asks for, and what is wrong with its query, "" for nothing."""
    page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    q = f"{visit.query.text('q', '')} {sort}".strip()
    try:
        return records.search(visit.ctx, uri, SearchRequest(q, PAGE_ROWS, page, expand)), ""
    except BadQuery as error:
        return {"results": [], "total": 0, "page": 1}, error.message


def choices(visit: Visit, uri: str, q: str = "") -> list[Option]:
    """Records to choose from, as id and label."""
    results = records.search(visit.ctx, uri, SearchRequest(q, MAX_CHOICES))["results"]
    return [(str(each["id"]), str(each["_label"])) for each in results]


def record(visit: Visit, uri: str, id: int) -> dict[str, Any]:
    """The stored values of a record, which administrators may read. Raises NotFound."""
    record_type = visit.service.registry.type(uri)

    def read(tx: Transaction) -> dict[str, Any]:
        row = tx.get(record_type.table, id)
        if row is None:
            raise NotFound(f"There is no {record_type.label_names[0].lower()} {id} any more.")
        return dict(record_type.record(row))

    return visit.service.store.read(read)
