"""The extension points of this program and their parts.

Nothing is installed at run time except record types; the lists reflect the code."""

from collections.abc import Callable, Iterable
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.mail.transports import GRAPH, TRANSPORTS
from server.queries import query_run
from server.record_types.record_type import CORE
from server.record_types.registry import field_kinds
from server.record_types.shared.custom import KINDS
from server.record_types.shared.points import POINTS
from server.record_types.shared.triggers import PREFIX, TRIGGERS


@dataclass(frozen=True)
class Extension:
    """One part. plugin_id: the plugin it belongs to. params: further details."""

    id: str
    name: str
    params: dict[str, Any]
    plugin_id: str = CORE


@dataclass(frozen=True)
class ExtensionPoint:
    """A kind of parts. parts: lists them at the time of the call."""

    id: str
    name: str
    parts: Callable[[Context], Iterable[Extension]]


def _record_types(ctx: Context) -> Iterable[Extension]:
    for each in ctx.service.registry:
        yield Extension(each.context, each.label_names[0], {"uri": each.uri}, each.plugin)


def _custom_fields(ctx: Context) -> Iterable[Extension]:
    return [Extension(kind, name, {}) for kind, name in KINDS.items()]


def _fields(ctx: Context) -> Iterable[Extension]:
    return [Extension(kind, _words(kind), {}) for kind in field_kinds()]


def _transports(ctx: Context) -> Iterable[Extension]:
    return [Extension(id, "Microsoft Graph" if id == GRAPH else id.rpartition(".")[2].upper(), {}) for id in TRANSPORTS]


def _triggers(ctx: Context) -> Iterable[Extension]:
    return [Extension(id, _words(id.removeprefix(PREFIX)), {}) for id in TRIGGERS]


def _activity(ctx: Context) -> Iterable[Extension]:
    return [Extension(each.id, each.name, {"pattern": each.pattern}) for each in POINTS.values()]


def _queries(ctx: Context) -> Iterable[Extension]:
    return [
        Extension(name, each.description, {"formats": list(each.formats)})
        for name, each in query_run.query_types().items()
    ]


def _words(id: str) -> str:
    """Converts an id to words.

    >>> _words("mail.reply.validate")
    'Mail reply validate'
    """
    text = id.replace(".", " ").replace("_", " ")
    return text[:1].upper() + text[1:]


EXTENSION_POINTS = {
    each.id: each
    for each in (
        ExtensionPoint("svc.activity.point", "Activity points", _activity),
        ExtensionPoint("svc.automation.trigger", "Automation triggers", _triggers),
        ExtensionPoint("svc.context", "Record types", _record_types),
        ExtensionPoint("svc.custom_field", "Kinds of custom field", _custom_fields),
        ExtensionPoint("svc.data.query.type", "Types of data query", _queries),
        ExtensionPoint("svc.mail.transport", "Mail transports", _transports),
        ExtensionPoint("svc.record.field", "Kinds of record field", _fields),
    )
}
