"""Records that belong to another one: a message to its ticket, an event to its calendar, a tab to its page. They are
read and changed by those who may read and change that one. Data only; rules.py asks."""

from server.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Parent:
    """What another record decides. type: its uri. column: where the record names it. rule: of rules.py, what is asked
    of it before the record is changed; privileges on it are not. reason: told to whom the rule refuses."""

    type: str
    column: str
    rule: str
    reason: str


# By the name of the rule in Access.
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
