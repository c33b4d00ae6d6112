"""Operations on records of any type: retrieve, search, create, update, upsert, delete.

Values are read as submitted; results are dictionaries as shown to the caller."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from server import times
from server.access.rules import Rules
from server.context import Context, covers_search
from server.counting.subtotals import subtotals
from server.dataclass import dataclass
from server.errors import AmbiguousUpsert, BadQuery, Forbidden, Invalid, NotFound, NotOffered, Required
from server.fields import Bit, ContextName, Id, Number, Text
from server.record_types.describe import describe
from server.record_types.record_type import Record, RecordType
from server.record_types.shared.custom import definitions, shown_value, values_of
from server.record_types.shared.relation_tables import FIELDSET_USE
from server.records import dictionary, index_backfill, metrics, search_cursors
from server.records.dictionary import Dictionaries, paths
from server.records.metrics.builtin import RECORD_SEARCH
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.search.ast import Query
from server.search.compile import SearchScope
from server.search.query_parser import parse
from server.search.remarks import remarks
from server.search.select import search as compile_search
from server.store.transaction import Transaction
from server.translation import _, in_sentence, lazy_gettext

Result = TypeVar("Result")
Condition = Callable[[Transaction, int], None]  # called with the id before a change, 0 for a new record; raises to veto
MAX_PAGE = 10**9
LABEL = "_label"  # requested by name, since some types show it only then
ID_PAGE = 100  # records that are read at once for their ids
MAX_NAMED_WORDS = 6  # words of a text that records are searched by
NOT_INDEXED = (
    "the database accepts no writes, so the newest texts are not in the index yet, and this "
    "search does not find them; free up disk space"
)
UPSERT_STEPS = 1_000_000  # SQLite steps for the search of an upsert, about 0.1 s, while other writes wait


@dataclass(frozen=True)
class SearchRequest:
    """The parameters of a search. `limit` and `page` inside `q` win over these.

    cursor: of an earlier page; results start after it; wins over `page`. has_next_cursor: whether the result
    includes `next`, the cursor of the following page, "" on the last one. seconds: its time limit, None for the usual
    one."""

    q: str = ""
    limit: int = 10
    page: int = 1
    expand: str = ""
    subtotals: tuple[str, ...] = ()
    show_results: bool = True
    cursor: str = ""
    has_next_cursor: bool = False
    seconds: float | None = None


def reading(ctx: Context, work: Callable[[Transaction], Result]) -> Result:
    """Runs `work` in one snapshot, within the step budget of the event loop if the context has one."""
    return ctx.service.store.read(work, ctx.steps)


def require_thread(ctx: Context) -> None:
    """Call before slow work. Raises OutOfSteps on the event loop, so that the work starts again on a thread."""
    reading(ctx, lambda tx: tx.store.require_thread())


def retrieve(ctx: Context, uri: str, id: int, expand: str = "") -> dict[str, Any]:
    """Returns the dictionary of one record. Raises NotFound, Forbidden, NotOffered."""
    record_type = _offering(ctx, uri, "retrieve")
    return reading(ctx, lambda tx: shown(ctx, tx, record_type, id, expand, opens=True))


def shown(
    ctx: Context, tx: Transaction, record_type: RecordType, id: int, expand: str = "", *, opens: bool = False
) -> dict[str, Any]:
    """Returns a record as `retrieve` does, inside a snapshot or a write. opens: whether the caller requested this
    record itself."""
    row = tx.get(record_type.table, id)
    if row is None:
        raise NotFound(
            lazy_gettext("there is no {type} {id}", type=record_type.uri, id=id), type=record_type.uri, id=id
        )
    dictionaries = Dictionaries(ctx, tx)
    if not dictionaries.rules.may_read(tx, record_type, id):
        raise Forbidden(lazy_gettext("you may not read {type} {id}", type=record_type.uri, id=id))
    record = record_type.record(row)
    if opens:
        record_type.opened(record, dictionaries)
    return dictionaries.show(record_type, [record], paths(expand))[0]


def opens_nothing(ctx: Context, uri: str, expand: str) -> list[str]:
    """Returns an error for each wrong path of an `expand` parameter."""
    record_type = ctx.service.registry.type(uri)
    return reading(ctx, lambda tx: dictionary.opens_nothing(ctx.service.registry, record_type, expand, tx))


def create(ctx: Context, uri: str, fields: dict[str, Any], expand: str = "") -> dict[str, Any]:
    """Creates a record; returns its dictionary. Raises Forbidden, Invalid, Conflict."""
    record_type = _offering(ctx, uri, "create")
    if not fields:
        raise Required("fields is required: send fields[<name>]=<value>", field="fields")
    fields = record_type.before(fields)

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        id = writing.create_sent(record_type, fields)
        return shown(ctx, tx, record_type, id, expand) | writing.shown_once

    return ctx.service.store.write(write)


def update(
    ctx: Context, uri: str, id: int, fields: dict[str, Any], expand: str = "", condition: Condition | None = None
) -> dict[str, Any]:
    """Updates a record; returns its new dictionary. Raises NotFound, Forbidden, Invalid, Conflict."""
    record_type = _offering(ctx, uri, "update")
    fields = record_type.before(fields)

    def write(tx: Transaction) -> dict[str, Any]:
        if condition is not None:
            condition(tx, id)
        writing = RecordWriter(ctx, tx)
        writing.update_sent(record_type, id, fields)
        return shown(ctx, tx, record_type, id, expand) | writing.shown_once

    return ctx.service.store.write(write)


def require_fields(ctx: Context, uri: str, id: int, fields: dict[str, Any], how: str) -> None:
    """Raises Required with the message `how` for an update without fields; before that NotFound, Forbidden, NotOffered.

    Otherwise an update with a misspelled parameter would seem to succeed."""
    if fields:
        return
    record_type = _offering(ctx, uri, "update")

    def require_access(tx: Transaction) -> None:
        reader = RecordReader(ctx, tx)
        reader.require("read", record_type.uri, id)
        reader.require("update", record_type.uri, id)

    reading(ctx, require_access)
    raise Required(how, field="fields")


def upsert(
    ctx: Context, uri: str, query: str, fields: dict[str, Any], expand: str = "", condition: Condition | None = None
) -> dict[str, Any]:
    """Updates the one record that `query` finds among those the caller may read, or creates it.

    The search and the write share one transaction. Raises AmbiguousUpsert for two or more matches, BadQuery for an
    invalid query, Required for a missing one, TimedOut if it takes more than UPSERT_STEPS, Forbidden for a type
    without create."""
    record_type = _offering(ctx, uri, "create")
    if "nobody" in record_type.access.create:  # even if the query would match: upsert requires create
        Rules(ctx.service.registry, ctx.actor).require_create(record_type)
    if not query.strip():
        raise Required("query is required: a search that finds the record to update", field="query")
    if not fields:
        raise Required("fields is required: send fields[<name>]=<value>", field="fields")
    fields = record_type.before(fields)
    parsed = parse(query)

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        matches = compile_search(record_type, parsed, _zoned(writing.scope(), parsed))
        ids = tx.store.bounded(UPSERT_STEPS, lambda: matches.ids(2))
        if len(ids) > 1:
            count = tx.store.bounded(UPSERT_STEPS, matches.total)
            raise AmbiguousUpsert(f"query finds {count} records; it must find one or none", query=query, count=count)
        if condition is not None:
            condition(tx, ids[0] if ids else 0)
        if ids:
            if not record_type.operations["update"]:
                raise _not_offered(record_type, "update")
            id = ids[0]
            writing.update_sent(record_type, id, fields)
        else:
            id = writing.create_sent(record_type, fields)
        return shown(ctx, tx, record_type, id, expand) | writing.shown_once

    return ctx.service.store.write(write)


def delete(ctx: Context, uri: str, id: int, *, is_confirmed: bool = False, condition: Condition | None = None) -> None:
    """Deletes a record; a ticket only gets the status deleted. is_confirmed: delete even if other records use it.

    Raises NotFound, Forbidden, Conflict."""
    record_type = _offering(ctx, uri, "delete")

    def write(tx: Transaction) -> None:
        if condition is not None:
            condition(tx, id)
        RecordWriter(ctx, tx).delete_sent(record_type, id, is_confirmed=is_confirmed)

    ctx.service.store.write(write)


def search(ctx: Context, uri: str, request: SearchRequest) -> dict[str, Any]:
    """Returns results, count, total, page, limit and requested subtotals. Counts cover records that the caller may
    read.

    Raises BadQuery with a position, NotOffered for a type without search, TimedOut."""
    return search_parsed(ctx, uri, parse(request.q), request)


def count(ctx: Context, uri: str, q: str) -> int:
    """Counts the records that a search finds for the caller. Raises BadQuery, NotOffered."""
    return int(search(ctx, uri, SearchRequest(q, show_results=False))["total"])


def readable_ids(ctx: Context, uri: str, ids: Iterable[int]) -> set[int]:
    """Returns the ids whose records the caller may read."""
    return ctx.service.store.read(lambda tx: Dictionaries(ctx, tx).readable_ids(uri, ids))


def search_names(ctx: Context, uri: str, text: str, limit: int, q: str = "", parent: str = "") -> dict[str, Any]:
    """Returns the records whose names contain every word of a text; the first records if the text is blank. q: an
    additional query. parent: the link to a record whose name counts as well, and whose label the results have."""
    words = [word for word in text.replace('"', " ").split() if word.strip("*?")][:MAX_NAMED_WORDS]
    # Types that search for whole words find them by their beginnings, other types find any part of a name.
    own = 'text:"*{word}*" OR text:"{word}*"'
    either = f"({own} OR {parent}:({own}))" if parent else f"({own})"
    q = " ".join([q, *(either.format(word=word) for word in words)])
    try:
        return search(ctx, uri, SearchRequest(q, limit, expand=f"{LABEL},{parent}_" if parent else LABEL))
    except BadQuery:
        return {"results": [], "total": 0, "page": 1}


def first_ids(ctx: Context, uri: str, q: str, most: int) -> tuple[list[int], int]:
    """Returns the ids of the first records that a search finds, and the number of all. Raises BadQuery."""
    ids: dict[int, None] = {}
    total = 0
    for page in range(1, -(-most // ID_PAGE) + 1):
        found = search(ctx, uri, SearchRequest(q, ID_PAGE, page))
        total = max(total, found["total"])
        ids |= {each["id"]: None for each in found["results"]}
    return list(ids)[:most], total


def search_parsed(ctx: Context, uri: str, parsed: Query, request: SearchRequest) -> dict[str, Any]:
    """Searches as `search` does, with a parsed tree in place of the `q` of the request."""
    record_type = ctx.service.registry.type(uri)
    if not record_type.offers("search"):
        raise _not_offered(record_type, "search")
    limit = parsed.limit or request.limit
    page = parsed.page or min(max(request.page, 1), MAX_PAGE)
    key = search_cursors.signing_key(ctx) if request.cursor or request.has_next_cursor else b""

    def read(tx: Transaction) -> tuple[dict[str, Any], bool]:
        scope = search_scope(ctx, tx, parsed)
        compiled = compile_search(record_type, parsed, scope)
        page_body: dict[str, Any] = {}
        # Counted first: a slow count on the event loop aborts the read, which starts again on a thread.
        counted = {name: subtotals(compiled, name, Dictionaries(ctx, tx)) for name in request.subtotals}
        if request.show_results:
            if request.cursor:
                behind = compiled.after(search_cursors.position(key, compiled, request.cursor))
                rows, total = behind.rows(limit + 1), compiled.total()
                has_more, rows = len(rows) > limit, rows[:limit]
            else:
                rows, total = compiled.page(limit, (page - 1) * limit)
                has_more = (page - 1) * limit + len(rows) < total
            records = [record_type.record(row) for row in rows]
            results = Dictionaries(ctx, tx).show(record_type, records, paths(request.expand))
            page_body = {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}
            if request.cursor:
                del page_body["page"]
            if request.has_next_cursor:
                is_last = not has_more or not records
                page_body["next"] = "" if is_last else search_cursors.cursor(key, compiled, rows[-1])
        else:
            page_body = {"total": compiled.total()}
        if request.subtotals:
            page_body["subtotals"] = counted
        return page_body, tx.lacks_texts

    result, lacks_texts = ctx.service.store.read(read, ctx.steps, request.seconds)
    notes = index_backfill.notes(ctx.service.store, ctx.service.registry, record_type)
    if lacks_texts:
        notes = [*notes, NOT_INDEXED]
    if not result["total"]:
        notes = [*notes, *remarks(parsed)]
    if notes:
        result["notes"] = notes
    asked_by = {"record_type": record_type.uri, "worker_id": ctx.actor.worker_id}
    metrics.record(ctx.service, RECORD_SEARCH, 1, asked_by, ctx.now)
    return result


def search_scope(ctx: Context, tx: Transaction, query: Query) -> SearchScope:
    """The scope in which the caller's searches are compiled, in the time zone that the query names. Raises BadQuery for
    an unknown zone."""
    rules = Rules(ctx.service.registry, ctx.actor)
    scope = SearchScope(
        ctx.service.registry,
        tx,
        ctx.actor.worker_id,
        ctx.now,
        ctx.tz,
        rules.readable,
        covers=covers_search(ctx.limit),
        language=ctx.actor.language,
    )
    return _zoned(scope, query)


def _zoned(scope: SearchScope, query: Query) -> SearchScope:
    if query.timezone is None:
        return scope
    try:
        return scope.in_zone(times.zone(query.timezone.value))
    except Invalid as error:
        raise BadQuery(error.message, position=query.timezone.position) from error


def _offering(ctx: Context, uri: str, operation: str) -> RecordType:
    """Returns the type if it offers the operation, or if access rules forbid it to everyone: then the rules raise the
    better error."""
    record_type = ctx.service.registry.type(uri)
    if not record_type.operations[operation] and "nobody" not in getattr(record_type.access, operation, ()):
        raise _not_offered(record_type, operation)
    return record_type


def _not_offered(record_type: RecordType, operation: str) -> NotOffered:
    verbs = {
        "retrieve": "retrieved one by one",
        "create": "created",
        "update": "changed",
        "delete": "deleted",
        "search": "searched",
    }
    names = record_type.label_names[1].lower()
    return NotOffered(f"{names} cannot be {verbs[operation]} through the API")


def meta(ctx: Context, uri: str) -> dict[str, Any]:
    """Returns {labels: {key: label}, types: {key: code}} of a type with its custom fields and two levels of links."""
    labels: dict[str, str] = {}
    types: dict[str, str] = {}
    registry = ctx.service.registry

    def add(tx: Transaction, record_type: RecordType, prefix: str, name: str, depth: int) -> None:
        for key in describe(record_type)["keys"]:
            if key["type"] != "record":
                labels[prefix + key["key"]] = f"{name} {key['key'].strip('_').replace('_', ' ')}".strip()
                types[prefix + key["key"]] = META_CODES.get(key["type"], "S")
        for field in definitions(tx).fields_of(record_type.context):
            labels[f"{prefix}custom_{field.id}"] = f"{name} {field.name}".strip()
            types[f"{prefix}custom_{field.id}"] = field.kind
        for nested in record_type.nested:
            target = registry.find(nested.target)
            if depth < 2 and target is not None:
                below = f"{name} {nested.prefix.replace('_', ' ')}".strip()
                add(tx, target, f"{prefix}{nested.prefix}_", below, depth + 1)

    reading(ctx, lambda tx: add(tx, registry.type(uri), "", "", 0))
    return {"labels": labels, "types": types}


META_CODES = {
    "text": "S", "number": "N", "float": "N", "timestamp": "E", "bit": "C", "boolean": "C", "url": "U", "id": "id",
    "context": "context", "bytes": "size_bytes", "seconds": "time_secs", "object": "T",
}  # fmt: skip


def stored(ctx: Context, uri: str, ids: Iterable[int]) -> list[Record]:
    """Returns the stored values of records, ordered by id, without deleted ones. Raises AdminOnly, since all values are
    included."""
    ctx.require_admin("see records as they are stored")
    record_type = ctx.service.registry.type(uri)
    rows = ctx.service.store.read(lambda tx: tx.get_many(record_type.table, list(ids)))
    return [record_type.record(row) for row in rows]


def stored_one(ctx: Context, uri: str, id: int) -> Record:
    """Returns the stored values of one record. Raises AdminOnly, NotFound."""
    rows = stored(ctx, uri, [id])
    if not rows:
        name = in_sentence(ctx.service.registry.type(uri).label_names[0])
        raise NotFound(_("{name} {id} no longer exists.", name=name, id=id))
    return rows[0]


def editable(ctx: Context, uri: str, id: int) -> Record:
    """Returns the stored values of a record for a form, without secrets and fields that are never returned. Adds
    `custom_<id>`, a value or a list of values, and `fieldsets`, the ids of its fieldsets. The caller must be allowed
    to change the record.

    Raises NotFound, Forbidden, NotOffered."""
    record_type = _offering(ctx, uri, "update")

    def read(tx: Transaction) -> Record:
        reader = RecordReader(ctx, tx)
        record = reader.retrieve(uri, id)
        reader.require("update", uri, id)
        fields, uses = definitions(tx).fields_of(record_type.context), {"context": record_type.context, "record_id": id}
        values = values_of(tx, fields, [record])[id]
        customs = {f"custom_{each.id}": shown_value(each, values.get(each.id, [])) for each in fields}
        return (
            _returned(ctx, tx, record_type, record)
            | customs
            | {"fieldsets": [row[2] for row in tx.find(FIELDSET_USE, **uses)]}
        )

    return reading(ctx, read)


def _returned(ctx: Context, tx: Transaction, record_type: RecordType, record: Record) -> Record:
    """The values that the dictionary contains in some form."""
    hidden = [name for name, field in record_type.fields.items() if isinstance(field, Text) and not field.shown]
    dictionary_keys = Dictionaries(ctx, tx).show(record_type, [record], paths(",".join(hidden)))[0]
    plain = (Bit, ContextName, Id, Number)  # these fields hold no secrets
    return {
        name: record[name]
        for name, field in record_type.fields.items()
        if field.stored and (field.shown or isinstance(field, plain) or (name in hidden and name in dictionary_keys))
    }


def require(ctx: Context, uri: str, operation: str, id: int = 0) -> None:
    """Raises Forbidden, NotFound, NotOffered unless the caller may create records of a type, or update or delete this
    one. Rules about values are not checked."""
    _offering(ctx, uri, operation)

    def read(tx: Transaction) -> None:
        reader = RecordReader(ctx, tx)
        if id:
            reader.require(operation, uri, id)
        else:
            reader.rules.require_create(reader.registry.type(uri))

    reading(ctx, read)


def may(ctx: Context, uri: str, operation: str, id: int = 0) -> bool:
    """Whether `require` allows the operation."""
    try:
        require(ctx, uri, operation, id)
    except (Forbidden, NotFound, NotOffered):
        return False
    return True


def may_read(ctx: Context, uri: str, id: int) -> bool:
    """Whether the caller may read a record."""
    return reading(ctx, lambda tx: RecordReader(ctx, tx).may_read(uri, id))


def id_of(ctx: Context, uri: str, **equals: Any) -> int:
    """The id of the record with these stored values, 0 if there is none. Raises AdminOnly."""
    ctx.require_admin("see records as they are stored")
    row = ctx.service.store.read(lambda tx: tx.first(ctx.service.registry.type(uri).table, **equals))
    return int(row[0]) if row is not None else 0
