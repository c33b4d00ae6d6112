"""The pages that people go to, as data: the rail, the keys, and the jump to anything are made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from server.access.actor import Actor

Who = Literal["worker", "admin", "manager"]


@dataclass(frozen=True)
class Place:
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
    Place("/", "Start", "", key="h", words="home"),
    Place("/automations", "Automations", "Automate", key="a", words="scripts"),
    Place("/automations/webhooks", "Webhooks", "Automate", "admin", "w", "calls deliveries"),
    Place("/automations/log", "Automation log", "Automate", "admin", "l", "errors automations"),
    Place("/automations/new", "New automation", "Automate", "admin", is_part=True),
    Place("/automations/webhooks/new", "New webhook", "Automate", "admin", is_part=True),
    Place("/admin/tokens", "Tokens", "Admin", "admin", "k", "api access bearer"),
    Place("/admin/apps", "OAuth apps", "Admin", "admin", words="clients scopes secret"),
    Place("/admin/apps/new", "New OAuth app", "Admin", "admin", is_part=True),
    Place("/admin/people", "People", "Admin", "admin", "p", "workers users"),
    Place("/admin/people/new", "New worker", "Admin", "admin", words="invite person", is_part=True),
    Place("/admin/people/groups", "Groups", "Admin", "admin", words="buckets teams", is_part=True),
    Place("/admin/people/rosters", "Rosters", "Admin", "admin", words="members managers", is_part=True),
    Place("/admin/people/roles", "Roles", "Admin", "admin", words="privileges permissions", is_part=True),
    Place("/admin/fields", "Custom fields", "Admin", "admin", words="fieldsets"),
    Place("/admin/packages", "Packages", "Admin", "admin", words="import"),
    Place("/admin/packages/export", "Export a package", "Admin", "admin", is_part=True),
    Place("/admin/mail", "Mail", "Admin", "admin", "m", "smtp imap mailboxes transports"),
    Place("/admin/mail/dns", "DNS of sender domains", "Admin", "admin", words="spf dkim dmarc mx", is_part=True),
    Place("/admin/mail/signing", "Signing of mail", "Admin", "admin", words="dkim keys domains", is_part=True),
    Place("/admin/mail/outbox", "Outbox", "Admin", "admin", words="mail queue", is_part=True),
    Place("/admin/mail/failed", "Failed mail", "Admin", "admin", words="dead letters", is_part=True),
    Place("/admin/mail/listener", "Mail from a mail server", "Admin", "admin", words="lmtp listener", is_part=True),
    Place("/admin/jobs", "Scheduler", "Admin", "admin", "j", "jobs"),
    Place("/admin/jobs/runs", "History of jobs", "Admin", "admin", words="runs scheduler", is_part=True),
    Place("/admin/jobs/scans", "From time to time", "Admin", "admin", words="scans periodic scheduler", is_part=True),
    Place("/admin/jobs/timers", "Timers", "Admin", "admin", words="automation recurring", is_part=True),
    Place("/admin/backups", "Backups", "Admin", "admin", words="restore"),
    Place("/admin/system", "System", "Admin", "admin", "s", "health version"),
    Place("/admin/system/checkup", "Check-up", "Admin", "admin", words="problems", is_part=True),
    Place("/admin/system/settings", "Settings", "Admin", "admin", words="configuration options", is_part=True),
    Place("/admin/system/log", "Log of the service", "Admin", "admin", words="warnings process", is_part=True),
    Place("/setup", "Set-up", "Admin", "admin", words="wizard address demo", is_part=True),
    Place("/admin/system/audit", "Audit log", "Admin", "admin", words="who did what", is_part=True),
    Place("/admin/people/rosters", "Rosters", "Groups", "manager", words="members"),
    Place("/api", "API", "Learn", key="e", words="explorer endpoints openapi"),
    Place("/api/errors", "Errors of the API", "Learn", is_part=True),
    Place("/help", "Help", "Learn", words="documentation manual"),
    Place("/account", "Account", "You", key="c", words="profile password time zone"),
    Place("/account#appearance", "Appearance and keys", "You", words="dark theme density", is_part=True),
    Place("/account#sessions", "Where you are signed in", "You", words="sessions devices", is_part=True),
    Place("/account/apps", "Apps that act in your name", "You", words="consent authorized", is_part=True),
    Place("/account/second-factor", "Second factor", "You", words="totp authenticator", is_part=True),
)


def open_to(actor: Actor) -> list[Place]:
    """The places that a worker may go to."""
    return [each for each in PLACES if _may(actor, each)]


def rail(actor: Actor) -> list[tuple[str, list[Place]]]:
    """What stands in the rail: (group, its places), in order."""
    groups: dict[str, list[Place]] = {}
    for each in open_to(actor):
        if not each.is_part:
            groups.setdefault(each.group, []).append(each)
    return list(groups.items())


def here(places: Sequence[Place], path: str) -> str:
    """The path of the place that a page belongs to: the longest one that its own begins with."""
    return max((each.path for each in places if _holds(each.path, path)), key=len, default="")


def _holds(place: str, path: str) -> bool:
    return path == place or (place != "/" and path.startswith(f"{place}/"))


def _may(actor: Actor, place: Place) -> bool:
    if place.who == "manager":
        return not actor.is_admin and bool(actor.manages)
    return actor.is_admin or place.who == "worker"
