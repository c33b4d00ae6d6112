"""Records that belong to a parent: a message to its ticket, an event to its calendar, a tab to its page. Workers who
may read or change the parent may read or change them. Data only; rules.py evaluates it."""

from server.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Parent:
    """A parent that decides about its records. type: its uri. column: the column that refers to it. rule: the rule in
    rules.py that a change must satisfy on the parent, whose privileges do not matter. reason: part of the error
    message."""

    type: str
    column: str
    rule: str
    reason: str


# Keys are names of rules in Access.
PARENTS = {
    "bot": Parent("bot", "bot_id", "owner", "only those who may act for the owner of its bot may"),
    "calendar": Parent("calendar", "calendar_id", "owner", "only those who may change its calendar may"),
    "fieldset": Parent(
        "custom_fieldset",
        "custom_fieldset_id",
        "owner",
        "only administrators, and those who may change its fieldset, may",
    ),
    "page": Parent("workspace_page", "page_id", "owner", "only those who may change its workspace page may"),
    "tab": Parent("workspace_tab", "tab_id", "page", "only those who may change its workspace tab may"),
    "ticket": Parent(
        "ticket", "ticket_id", "group members", "only members of its ticket's group and administrators may"
    ),
}
