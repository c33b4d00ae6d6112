"""The pages that people go to, as data: the rail, the keys, and the jump to anything are made from it."""

from collections.abc import Sequence
from typing import Literal

from server.access.actor import Actor
from server.dataclass import dataclass
from server.records.base import RecordType
from server.translation import Words

Who = Literal["worker", "admin", "manager"]


@dataclass(frozen=True)
class NavigationItem:
    """group: of the rail, "" for the start alone. who: whom it is for; `manager`, workers who manage groups and are no
    administrators. key: the letter after `g` that leads to it. words: what else it is looked for by. is_part: whether
    it is a part of another page, and so stands in no rail. icon: of icons.py. is_first: whether it stands in the bar of
    a phone, which has room for four."""

    path: str
    label: Words
    group: Words
    who: Who = "worker"
    key: str = ""
    words: Words = ""
    is_part: bool = False
    icon: str = ""
    is_first: bool = False


RECORDS = "Records"  # the group of the lists of records
MAX_CUSTOM = 8  # record types of administrators that stand in the rail; the others are on the page of all
PLACES = (
    NavigationItem("/inbox", "Inbox", "", key="i", words="tickets queue", icon="inbox", is_first=True),
    NavigationItem("/compose", "New ticket", "", key="n", words="compose write email", icon="mail", is_first=True),
    NavigationItem("/", "Start", "", key="h", words="home overview", icon="home", is_first=True),
    NavigationItem("/search/org", "Organizations", "Records", key="o", words="companies accounts", icon="building"),
    NavigationItem("/search/contact", "Contacts", "Records", key="u", words="customers requesters", icon="user"),
    NavigationItem("/search/task", "Tasks", "Records", key="t", words="to do due", icon="task"),
    NavigationItem(
        "/search/snippet", "Snippets", "Records", words="canned replies canned responses text blocks", icon="clip"
    ),
    NavigationItem(
        "/records", "All records", "Records", key="r", words="types snippets knowledge base assets", icon="records"
    ),
    NavigationItem("/automations", "Automations", "Automation", key="a", words="scripts", icon="bolt"),
    NavigationItem(
        "/automations/events", "Events", "Automation", "admin", words="bindings order triggers", icon="bolt"
    ),
    NavigationItem("/automations/webhooks", "Webhooks", "Automation", "admin", "w", "calls deliveries", icon="hook"),
    NavigationItem(
        "/automations/outgoing",
        "Outgoing webhooks",
        "Automation",
        "admin",
        words="notify subscribe events send",
        icon="hook",
    ),
    NavigationItem("/automations/log", "Automation log", "Automation", "admin", "l", "errors automations", icon="list"),
    NavigationItem("/automations/new", "New automation", "Automation", "admin", is_part=True),
    NavigationItem(
        "/automations/recipes", "Recipes", "Automation", "admin", words="cookbook examples templates", is_part=True
    ),
    NavigationItem("/automations/webhooks/new", "New webhook", "Automation", "admin", is_part=True),
    NavigationItem("/automations/outgoing/new", "New outgoing webhook", "Automation", "admin", is_part=True),
    NavigationItem("/admin/tokens", "Tokens", "Administration", "admin", "k", "api access bearer", icon="key"),
    NavigationItem("/admin/tokens/new", "New token", "Administration", "admin", is_part=True),
    NavigationItem("/admin/apps", "OAuth apps", "Administration", "admin", words="clients scopes secret", icon="apps"),
    NavigationItem("/admin/apps/new", "New OAuth app", "Administration", "admin", is_part=True),
    NavigationItem("/admin/people", "People", "Administration", "admin", "p", "workers users", icon="people"),
    NavigationItem("/admin/people/new", "New worker", "Administration", "admin", words="invite person", is_part=True),
    NavigationItem("/admin/people/groups", "Groups", "Administration", "admin", words="buckets teams", is_part=True),
    NavigationItem(
        "/admin/people/rosters", "Rosters", "Administration", "admin", words="members managers", is_part=True
    ),
    NavigationItem(
        "/admin/targets", "Service targets", "Administration", "admin", words="sla response resolution", is_part=True
    ),
    NavigationItem(
        "/search/calendar", "Calendars", "Administration", "admin", words="opening hours holidays", is_part=True
    ),
    NavigationItem(
        "/admin/people/roles", "Roles", "Administration", "admin", words="privileges permissions", is_part=True
    ),
    NavigationItem("/admin/fields", "Custom fields", "Administration", "admin", words="fieldsets tags", icon="fields"),
    NavigationItem("/admin/packages", "Packages", "Administration", "admin", words="import", icon="box"),
    NavigationItem("/admin/packages/export", "Export a package", "Administration", "admin", is_part=True),
    NavigationItem(
        "/admin/mail",
        "Mail",
        "Administration",
        "admin",
        "m",
        "smtp imap mailboxes transports",
        icon="mail",
        is_first=True,
    ),
    NavigationItem("/admin/mail/dns", "Sender DNS", "Administration", "admin", words="spf dkim dmarc mx", is_part=True),
    NavigationItem(
        "/admin/mail/signing", "Mail signing", "Administration", "admin", words="dkim keys domains", is_part=True
    ),
    NavigationItem(
        "/search/email_signature", "Signatures", "Administration", "admin", words="email footer", is_part=True
    ),
    NavigationItem(
        "/search/html_template", "Mail templates", "Administration", "admin", words="html layout design", is_part=True
    ),
    NavigationItem("/admin/mail/outbox", "Outbox", "Administration", "admin", words="mail queue", is_part=True),
    NavigationItem("/admin/mail/failed", "Failed mail", "Administration", "admin", words="dead letters", is_part=True),
    NavigationItem(
        "/admin/mail/listener",
        "Mail from a mail server",
        "Administration",
        "admin",
        words="lmtp listener",
        is_part=True,
    ),
    NavigationItem("/admin/jobs", "Scheduler", "Administration", "admin", "j", "jobs", icon="clock"),
    NavigationItem("/admin/jobs/runs", "Job history", "Administration", "admin", words="runs scheduler", is_part=True),
    NavigationItem(
        "/admin/jobs/scans",
        "Maintenance tasks",
        "Administration",
        "admin",
        words="scans periodic scheduler",
        is_part=True,
    ),
    NavigationItem(
        "/admin/jobs/timers", "Timers", "Administration", "admin", words="automation recurring", is_part=True
    ),
    NavigationItem("/admin/backups", "Backups", "Administration", "admin", words="restore", icon="archive"),
    NavigationItem(
        "/admin/system", "System", "Administration", "admin", "s", "health version", icon="pulse", is_first=True
    ),
    NavigationItem("/admin/system/checkup", "Check-up", "Administration", "admin", words="problems", is_part=True),
    NavigationItem(
        "/admin/system/settings", "Settings", "Administration", "admin", words="configuration options", is_part=True
    ),
    NavigationItem(
        "/admin/system/log", "Service log", "Administration", "admin", words="warnings process", is_part=True
    ),
    NavigationItem("/setup", "Set-up", "Administration", "admin", words="wizard address demo", is_part=True),
    NavigationItem("/admin/system/audit", "Audit log", "Administration", "admin", words="who did what", is_part=True),
    NavigationItem("/admin/people/rosters", "Rosters", "Groups", "manager", words="members", icon="group"),
    NavigationItem("/api", "API", "Help and API", key="e", words="explorer endpoints openapi", icon="api"),
    NavigationItem("/api/errors", "API errors", "Help and API", is_part=True),
    NavigationItem("/help", "Help", "Help and API", words="documentation manual", icon="help", is_first=True),
    NavigationItem("/notifications", "Notifications", "You", words="bell unread mentions", is_part=True),
    NavigationItem("/reminders", "Reminders", "You", words="remind me snooze follow up", is_part=True),
    NavigationItem("/account", "Account", "You", key="c", words="profile password time zone", is_part=True),
    NavigationItem("/account#appearance", "Appearance and keys", "You", words="dark theme density", is_part=True),
    NavigationItem("/account#absence", "Absence", "You", words="vacation holiday stand-in out of office", is_part=True),
    NavigationItem(
        "/account#notifications",
        "Notifications by mail",
        "You",
        words="mail browser notification choose",
        is_part=True,
    ),
    NavigationItem("/account#sessions", "Active sessions", "You", words="sessions devices", is_part=True),
    NavigationItem("/account/apps", "Authorized apps", "You", words="consent authorized", is_part=True),
    NavigationItem(
        "/account/second-factor",
        "Second factor",
        "You",
        words="totp authenticator 2fa two-factor",
        is_part=True,
    ),
)


def open_to(actor: Actor) -> list[NavigationItem]:
    """The places that a worker may go to."""
    return [each for each in PLACES if _may(actor, each)]


def rail(actor: Actor, custom: Sequence[RecordType] = ()) -> list[tuple[str, list[NavigationItem]]]:
    """What stands in the rail: (group, its places), in order. custom: the record types that administrators made, the
    first of which stand among the records."""
    groups: dict[str, list[NavigationItem]] = {}
    for each in open_to(actor):
        if not each.is_part:
            groups.setdefault(each.group, []).append(each)
    listed = [each for each in custom if each.offers("search")][:MAX_CUSTOM]
    groups[RECORDS][-1:-1] = [
        NavigationItem(f"/search/{each.uri}", each.label_names[1], RECORDS, icon="box") for each in listed
    ]
    return list(groups.items())


def bar(actor: Actor) -> list[NavigationItem]:
    """What stands in the bar of a phone, beside the way to all of the rail."""
    return [each for each in open_to(actor) if each.is_first][:4]


def here(places: Sequence[NavigationItem], path: str) -> str:
    """The path of the place that a page belongs to: the longest one that its own begins with."""
    return max((each.path for each in places if _holds(each.path, path)), key=len, default="")


def _holds(place: str, path: str) -> bool:
    return path == place or (place != "/" and path.startswith(f"{place}/"))


def _may(actor: Actor, place: NavigationItem) -> bool:
    if place.who == "manager":
        return not actor.is_admin and bool(actor.manages)
    return actor.is_admin or place.who == "worker"
