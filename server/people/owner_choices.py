"""The owners that a worker may choose for snippets, macros and saved searches: themselves, the groups that they manage,
and for administrators everybody."""

from collections.abc import Sequence

from server.context import Context
from server.contexts import APP, GROUP, WORKER
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.translation import _

MAX_GROUPS = 60


def owner_choices(ctx: Context) -> Sequence[tuple[str, str]]:
    """Returns the owners as CONTEXT:ID with their labels."""
    actor = ctx.actor
    choices = [(own(ctx), _("Only me"))]
    if actor.is_admin:
        choices.append((f"{APP}:0", _("Everybody")))
    if actor.is_admin or actor.manages:
        query = "" if actor.is_admin else f"id:[{','.join(map(str, sorted(actor.manages)))}]"
        groups = records.search(ctx, "group", SearchRequest(query, MAX_GROUPS, expand=LABEL))["results"]
        choices += [(f"{GROUP}:{each['id']}", _("Group {name}", name=each[LABEL])) for each in groups]
    return choices


def own(ctx: Context) -> str:
    """Returns the worker as an owner."""
    return f"{WORKER}:{ctx.actor.worker_id}"


def owner_label(ctx: Context, context: str, id: int, label: str) -> str:
    """Returns an owner in words. label: the name of the record."""
    if context == APP:
        return _("Everybody")
    if (context, id) == (WORKER, ctx.actor.worker_id):
        return _("Only me")
    return _("Group {name}", name=label) if context == GROUP else label
