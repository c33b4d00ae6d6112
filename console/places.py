"""The pages that people go to, as data: the rail, the keys, and the jump to anything are made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from server.access.actor import Actor

Who = Literal["worker", "admin", "manager"]


@dataclass(frozen=True)
class NavigationItem:
    """group: of the rail, "" for the start alone. who: whom it is for; `manager`, workers who manage groups and are no
    administrators. key: the letter after `g` that leads to it. words: what else it is looked for by. is_part: whether
    it is a part of another page, and so stands in no rail."""

    path: str
    label: str
    group: str
    who: Who = "worker"
    key: str = ""
    words: str = ""
    is_part: bool = False


PLACES = (
    NavigationItem("/", "Start", "", key="h", words="home"),
    NavigationItem("/automations", "Automations", "Automate", key="a", words="scripts"),
    NavigationItem("/automations/webhooks", "Webhooks", "Automate", "admin", "w", "calls deliveries"),
    NavigationItem("/automations/log", "Automation log", "Automate", "admin", "l", "errors automations"),
    NavigationItem("/automations/new", "New automation", "Automate", "admin", is_part=True),
    NavigationItem("/automations/webhooks/new", "New webhook", "Automate", "admin", is_part=True),
    NavigationItem("/admin/tokens", "Tokens", "Admin", "admin", "k", "api access bearer"),
    NavigationItem("/admin/apps", "OAuth apps", "Admin", "admin", words="clients scopes secret"),
    NavigationItem("/admin/apps/new", "New OAuth app", "Admin", "admin", is_part=True),
    NavigationItem("/admin/people", "People", "Admin", "admin", "p", "workers users"),
    NavigationItem("/admin/people/new", "New worker", "Admin", "admin", words="invite person", is_part=True),
    NavigationItem("/admin/people/groups", "Groups", "Admin", "admin", words="buckets teams", is_part=True),
    NavigationItem("/admin/people/rosters", "Rosters", "Admin", "admin", words="members managers", is_part=True),
    NavigationItem("/admin/people/roles", "Roles", "Admin", "admin", words="privileges permissions", is_part=True),
    NavigationItem("/admin/fields", "Custom fields", "Admin", "admin", words="fieldsets"),
    NavigationItem("/admin/packages", "Packages", "Admin", "admin", words="import"),
    NavigationItem("/admin/packages/export", "Export a package", "Admin", "admin", is_part=True),
    NavigationItem("/admin/mail", "Mail", "Admin", "admin", "m", "smtp imap mailboxes transports"),
    NavigationItem(
        "/admin/mail/dns", "DNS of sender domains", "Admin", "admin", words="spf dkim dmarc mx", is_part=True
    ),
    NavigationItem("/admin/mail/signing", "Signing of mail", "Admin", "admin", words="dkim keys domains", is_part=True),
    NavigationItem("/admin/mail/outbox", "Outbox", "Admin", "admin", words="mail queue", is_part=True),
    NavigationItem("/admin/mail/failed", "Failed mail", "Admin", "admin", words="dead letters", is_part=True),
    NavigationItem(
        "/admin/mail/listener", "Mail from a mail server", "Admin", "admin", words="lmtp listener", is_part=True
    ),
    NavigationItem("/admin/jobs", "Scheduler", "Admin", "admin", "j", "jobs"),
    NavigationItem("/admin/jobs/runs", "History of jobs", "Admin", "admin", words="runs scheduler", is_part=True),
    NavigationItem(
        "/admin/jobs/scans", "From time to time", "Admin", "admin", words="scans periodic scheduler", is_part=True
    ),
    NavigationItem("/admin/jobs/timers", "Timers", "Admin", "admin", words="automation recurring", is_part=True),
    NavigationItem("/admin/backups", "Backups", "Admin", "admin", words="restore"),
    NavigationItem("/admin/system", "System", "Admin", "admin", "s", "health version"),
    NavigationItem("/admin/system/checkup", "Check-up", "Admin", "admin", words="problems", is_part=True),
    NavigationItem("/admin/system/settings", "Settings", "Admin", "admin", words="configuration options", is_part=True),
    NavigationItem("/admin/system/log", "Log of the service", "Admin", "admin", words="warnings process", is_part=True),
    NavigationItem("/setup", "Set-up", "Admin", "admin", words="wizard address demo", is_part=True),
    NavigationItem("/admin/system/audit", "Audit log", "Admin", "admin", words="who did what", is_part=True),
    NavigationItem("/admin/people/rosters", "Rosters", "Groups", "manager", words="members"),
    NavigationItem("/api", "API", "Learn", key="e", words="explorer endpoints openapi"),
    NavigationItem("/api/errors", "Errors of the API", "Learn", is_part=True),
    NavigationItem("/help", "Help", "Learn", words="documentation manual"),
    NavigationItem("/account", "Account", "You", key="c", words="profile password time zone"),
    NavigationItem("/account#appearance", "Appearance and keys", "You", words="dark theme density", is_part=True),
    NavigationItem("/account#sessions", "Where you are signed in", "You", words="sessions devices", is_part=True),
    NavigationItem("/account/apps", "Apps that act in your name", "You", words="consent authorized", is_part=True),
    NavigationItem("/account/second-factor", "Second factor", "You", words="totp authenticator", is_part=True),
)


def open_to(actor: Actor) -> list[NavigationItem]:
    """The places that a worker may go to."""
    return [each for each in PLACES if _may(actor, each)]


def rail(actor: Actor) -> list[tuple[str, list[NavigationItem]]]:
    """What stands in the rail: (group, its places), in order."""
    groups: dict[str, list[NavigationItem]] = {}
    for each in open_to(actor):
        if not each.is_part:
            groups.setdefault(each.group, []).append(each)
    return list(groups.items())


def here(places: Sequence[NavigationItem], path: str) -> str:
    """The path of the place that a page belongs to: the longest one that its own begins with."""
    return max((each.path for each in places if _holds(each.path, path)), key=len, default="")


def _holds(place: str, path: str) -> bool:
    return path == place or (place != "/" and path.startswith(f"{place}/"))


def _may(actor: Actor, place: NavigationItem) -> bool:
    if place.who == "manager":
        return not actor.is_admin and bool(actor.manages)
    return actor.is_admin or place.who == "worker"
