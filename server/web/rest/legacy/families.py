"""The record types that have endpoints of their own, and their common endpoints. Data only."""

from collections.abc import Callable
from typing import Any, Literal

from server.dataclass import dataclass
from server.search.ast import Node, SearchValue, Sort, Term
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes

Operation = Literal["retrieve", "update", "create", "delete", "search", "list"]


@dataclass(frozen=True)
class Family:
    """The endpoints below one path, for one type. only: conditions of all its searches; order: the default order of its
    searches. twins: {key: key} of keys that its records have under a second name."""

    path: str
    uri: str
    operations: tuple[Operation, ...]
    only: tuple[Node, ...] = ()
    order: tuple[Sort, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The type in words."""
        return self.uri.replace("_", " ")

    @property
    def shape(self) -> shapes.Schema:
        """The schema of a record in the format of these endpoints."""
        shown = shapes.record(self.uri)
        return shapes.with_keys(shown, **{twin: shapes.ANY for twin, _ in self.twins}) if self.twins else shown

    def named(self, function: Callable[[EndpointCall], Any]) -> Callable[[EndpointCall], Any]:
        """Returns a function for this family with a name that is unique below the controller."""
        function.__name__ = "_".join([*self.path.split("/")[1:], function.__name__])
        return function


EVERYTHING: tuple[Operation, ...] = ("retrieve", "update", "create", "delete", "search")
KEPT: tuple[Operation, ...] = ("retrieve", "update", "create", "search")
OWN_GROUPS = Term("inGroupsOf", SearchValue("me", False, 0), False, 0)

FAMILIES = (
    Family("activity_log", "activity_log", ("search",)),
    Family("addresses", "address", KEPT),
    Family("attachments", "attachment", ("retrieve", "search"), twins=(("file_id", "id"),)),
    Family("bots", "bot", ("retrieve", "search", "list")),
    Family("calendars", "calendar", ("retrieve", "search", "list")),
    Family("comments", "comment", ("retrieve", "search")),
    Family("contacts", "contact", EVERYTHING),
    Family("groups", "group", ("retrieve", "create", "search")),  # update: ../groups.py
    Family("mail_html_templates", "html_template", EVERYTHING),
    Family("messages", "message", ("retrieve", "search")),
    Family("notifications", "notification", KEPT),
    Family("orgs", "org", EVERYTHING),
    Family("saved_searches", "saved_search", EVERYTHING),
    Family("snippets", "snippet", EVERYTHING),
    Family("tasks", "task", EVERYTHING),
    Family("tickets", "ticket", ("retrieve", "update", "delete", "search"), (OWN_GROUPS,), (Sort("updated", True, 0),)),
    Family("workers", "worker", KEPT),
    Family("workspaces/pages", "workspace_page", ("retrieve", "list")),
    Family("workspaces/tabs", "workspace_tab", ("retrieve",)),
    Family("workspaces/widgets", "workspace_widget", ("retrieve",)),
    Family("workspaces/worklists", "workspace_list", ("retrieve",)),
)
