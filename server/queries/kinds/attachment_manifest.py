"""`attachment.manifest`: lists the contents of a ZIP attachment without unpacking it."""

from dataclasses import asdict
from typing import Any

from server.errors import Invalid, TooLarge
from server.queries import archives
from server.queries.data_query import DataQuery
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.store import blobs

MAX_LISTED = 1_000


class AttachmentManifest(QueryType):
    """{cursor: {num_files, offset_start, offset_end, limit}, files: [{name, index, size, mtime}]}.

    num_files, offset and limit count the files that match `filter:`; `index` is the place in the archive; offset_end is
    the last one returned."""

    name = "attachment.manifest"
    description = "The files in a ZIP attachment."
    keys = (
        QueryKey("id", "number", "The id of an attachment that the caller may read.", required=True, low=1, high=2**53),
        QueryKey("filter", "text", "A name in which * stands for any text; case does not count."),
        QueryKey("limit", "number", "Maximum number.", default=str(MAX_LISTED), low=1, high=MAX_LISTED),
        QueryKey("offset", "number", "Number to skip.", default="0"),
    )

    def run(self, query: DataQuery) -> QueryResult:
        values = query.values
        limit, offset = values.number("limit", MAX_LISTED), values.number("offset", 0)
        entries = _entries(query)
        pattern_text = values.text("filter")
        if pattern_text:
            import re2  # a large C++ library, loaded when first needed

            pattern = re2.compile("(?is)" + ".*".join(map(re2.escape, pattern_text.split("*"))))
            entries = [each for each in entries if pattern.fullmatch(each.name)]
        page = entries[offset : offset + limit]
        cursor = {
            "num_files": len(entries),
            "offset_start": offset,
            "offset_end": offset + max(len(page) - 1, 0),
            "limit": limit,
        }
        return QueryResult({"cursor": cursor, "files": [asdict(each) for each in page]})


def _entries(query: DataQuery) -> list[archives.ArchiveEntry]:
    values = query.values
    id = values.number("id", 0)
    readable: list[dict[str, Any]] = query.dictionaries().records("attachment", [id])
    if not readable:
        raise values.bad("id", f"there is no attachment {id}, or you may not read it")
    file = readable[0]

    def read(start: int, end: int) -> bytes:
        return b"".join(blobs.pieces(query.tx, file["blob_id"], start, end))

    try:
        return archives.entries(file["size"], read, query.scope.tz)
    except (Invalid, TooLarge) as error:
        raise values.bad("id", f"attachment {id}: {error.message}") from error
