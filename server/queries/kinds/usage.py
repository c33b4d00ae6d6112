"""`usage.snippets` and `usage.behaviors`: how often snippets and behaviors are used."""

import json
from typing import Any

import peewee

from server import contexts
from server.counting.measures import plain
from server.digits import id_in
from server.errors import BadDataQuery
from server.queries.data_query import DataQuery
from server.queries.query_type import QueryResult, QueryType
from server.queries.usage_counts import MAX_ITEMS, MAX_USES, Uses, months, table
from server.record_types.metrics.metric_samples import DAY, METRIC_SAMPLE
from server.record_types.shared.behavior_events import event_name
from server.record_types.shared.relation_tables import SNIPPET_USE
from server.records.metrics.builtin import BEHAVIOR_DURATION, BEHAVIOR_INVOCATIONS
from server.search.conditions import ALWAYS, NEVER, slots_from
from server.store.statements import in_list, slot
from server.store.tables import table_named

NUMBER = {"type": "number"}


class UsageSnippets(QueryType):
    """The readable snippets by number of uses."""

    name = "usage.snippets"
    description = "How often snippets are used."
    formats = ("table", "timeseries")

    def run(self, query: DataQuery) -> QueryResult:
        if query.format == "timeseries":
            return _snippets_by_month(query)
        rows = [
            {"snippet_id": id, "snippet_title": title, "snippet_uses": uses} for id, title, uses in _snippets(query)
        ]
        shown_by = {"context": contexts.SNIPPET, "context_id_key": "snippet_id"}
        return table(
            {
                "snippet_title": {"label": "Snippet", "type": "context", "type_options": shown_by},
                "snippet_uses": {"label": "Uses", **NUMBER},
            },
            rows,
        )


def _snippets(query: DataQuery) -> list[tuple[int, str, int]]:
    """Returns [(id, title, uses)] of the most used snippets."""
    snippet = query.ctx.service.registry.type("snippet")
    condition, t = query.scope.readable(snippet), snippet.table.sql
    if condition is NEVER:
        return []

    def build() -> Any:
        query = t.select(t.id, t.title, t.total_uses).where(t.total_uses > 0)
        if condition is not ALWAYS:
            query = query.where(condition.build(slots_from(0)))
        return query.order_by(t.total_uses.desc(), t.title, t.id).limit(MAX_ITEMS)

    return [(row[0], row[1], row[2]) for row in query.tx.rows(build, condition.values)]


def _snippets_by_month(query: DataQuery) -> QueryResult:
    """Returns the uses by month, from counts per worker and hour."""
    last, most_used = months(query), _snippets(query)
    use: Any = SNIPPET_USE.sql
    rows = query.tx.rows(
        lambda: (
            use.select(use.snippet_id, use.hour, peewee.fn.SUM(use.uses))
            .where(in_list(use.snippet_id, slot(0)), use.hour >= slot(1))
            .group_by(use.snippet_id, use.hour)
            .limit(MAX_USES + 1)
        ),
        (json.dumps([id for id, _, _ in most_used]), last.since),
    )
    _require_few(query, rows)
    return last.chart([(row[0], row[1], row[2]) for row in rows], {id: title for id, title, _ in most_used})


class UsageBehaviors(QueryType):
    """The readable behaviors by number of runs, with their duration."""

    name = "usage.behaviors"
    description = "How often behaviors run, and how long it takes."
    formats = ("table", "timeseries")

    def run(self, query: DataQuery) -> QueryResult:
        runs = _by_day(query, BEHAVIOR_INVOCATIONS)
        behaviors = _behaviors(query, {each[0] for each in runs})
        if query.format == "timeseries":
            last = months(query)
            recent = [each for each in runs if each[1] >= last.since]
            return last.chart(recent, {id: each["_label"] for id, each in behaviors.items()})
        return _behavior_table(behaviors, _sums(runs), _sums(_by_day(query, BEHAVIOR_DURATION)))


def _behavior_table(
    behaviors: dict[int, dict[str, Any]], uses: dict[int, float], elapsed: dict[int, float]
) -> QueryResult:
    most = sorted(behaviors, key=lambda id: (-uses[id], behaviors[id]["_label"].casefold(), id))[:MAX_ITEMS]
    rows = [
        {
            "bot_id": behaviors[id]["bot_id"],
            "bot_name": behaviors[id].get("bot_name", ""),
            "behavior_id": id,
            "behavior_name": behaviors[id]["name"],
            "event": event_name(behaviors[id]["event_point"]),
            "uses": plain(uses[id]),
            "elapsed_ms": plain(elapsed.get(id, 0)),
            "avg_elapsed_ms": plain(elapsed.get(id, 0) / uses[id]) if uses[id] else 0,
        }
        for id in most
    ]
    bot = {"context": contexts.BOT, "context_id_key": "bot_id"}
    behavior = {"context": contexts.BEHAVIOR, "context_id_key": "behavior_id"}
    return table(
        {
            "bot_name": {"label": "Bot", "type": "context", "type_options": bot},
            "behavior_name": {"label": "Behavior", "type": "context", "type_options": behavior},
            "event": {"label": "Event", "type": "text"},
            "uses": {"label": "Uses", **NUMBER},
            "elapsed_ms": {"label": "Elapsed ms", **NUMBER},
            "avg_elapsed_ms": {"label": "Average ms", **NUMBER},
        },
        rows,
    )


def _behaviors(query: DataQuery, ids: set[int]) -> dict[int, dict[str, Any]]:
    builder = query.dictionaries()
    records = builder.records("behavior", ids)
    return {each["id"]: each for each in builder.dictionaries("behavior", records, "bot_")}


def _by_day(query: DataQuery, name: str) -> Uses:
    """Returns [(behavior, middle of a day, number)] of a metric, from the daily bins, which are never deleted."""
    metric, t = table_named("metric"), METRIC_SAMPLE.sql
    rows = query.tx.rows(
        lambda: (
            t.select(t.dimensions, peewee.Column(t, "bin"), peewee.Column(t, "sum"))
            .where(t.metric_id.in_(metric.select(metric.c.id).where(metric.c.name == slot(0))), t.seconds == slot(1))
            .limit(MAX_USES + 1)
        ),
        (name, DAY),
    )
    _require_few(query, rows)
    runs = []
    for text, start, number in rows:
        id = str(json.loads(text).get("behavior_id", ""))
        if (behavior_id := id_in(id)) is not None:
            runs.append((behavior_id, start + DAY // 2, number))
    return runs


def _require_few(query: DataQuery, rows: list[Any]) -> None:
    if len(rows) > MAX_USES:
        raise BadDataQuery(
            f"there are more than {MAX_USES} uses by item and time; use format:table",
            position=query.values.at("format"),
            field="format",
        )


def _sums(uses: Uses) -> dict[int, float]:
    sums: dict[int, float] = {}
    for item, _, number in uses:
        sums[item] = sums.get(item, 0) + number
    return sums
