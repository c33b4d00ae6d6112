"""The main pages as data: the rail, the keyboard shortcuts and the jump dialog are built from it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from server.access.actor import Actor
from server.dataclass import dataclass
from server.record_types.record_type import RecordType
from server.translation import N_, Words

Who = Literal["worker", "admin", "manager"]


@dataclass(frozen=True)
class NavigationItem:
    """A main page.

    words: further search terms. icon: a name in icons.py; a page without one belongs to another page and is not in the
    rail. key: the letter after `g` that opens it. is_first: whether it is in the bar of a phone, which has room for
    four. group: its heading in the rail, "" for the first entries. who: the workers who see it; `manager` stands for
    those who manage groups without being administrators."""

    path: str
    label: Words
    words: Words = ""
    icon: str = ""
    key: str = ""
    is_first: bool = False
    group: Words = ""
    who: Who = "worker"


def _group(heading: Words, who: Who, *items: NavigationItem) -> list[NavigationItem]:
    """The main pages of a group that the same workers see."""
    return [replace(each, group=heading, who=who) for each in items]


# Headings of the rail.
RECORDS, AUTOMATION, ADMINISTRATION = N_("Records"), N_("Automation"), N_("Administration")
HELP, YOU = N_("Help and API"), N_("You")
MAX_CUSTOM = 8  # custom record types in the rail; the others are on the page of all records
PLACES = (
    *_group(
        "",
        "worker",
        NavigationItem("/inbox", N_("Inbox"), N_("tickets queue"), icon="inbox", key="i", is_first=True),
        NavigationItem("/compose", N_("New ticket"), N_("compose write email"), icon="mail", key="n", is_first=True),
        NavigationItem("/", N_("Start"), N_("home overview"), icon="home", key="h", is_first=True),
    ),
    *_group(
        RECORDS,
        "worker",
        NavigationItem("/search/org", N_("Organizations"), N_("companies accounts"), icon="building", key="o"),
        NavigationItem("/search/contact", N_("Contacts"), N_("customers requesters"), icon="user", key="u"),
        NavigationItem("/search/task", N_("Tasks"), N_("to do due"), icon="task", key="t"),
        NavigationItem(
            "/search/snippet", N_("Snippets"), N_("canned replies canned responses text blocks"), icon="clip"
        ),
        NavigationItem(
            "/records", N_("All records"), N_("types snippets knowledge base assets"), icon="records", key="r"
        ),
    ),
    *_group(
        AUTOMATION,
        "worker",
        NavigationItem("/automations", N_("Automations"), N_("scripts"), icon="bolt", key="a"),
    ),
    *_group(
        AUTOMATION,
        "admin",
        NavigationItem("/automations/events", N_("Events"), N_("bindings order triggers"), icon="bolt"),
        NavigationItem("/automations/webhooks", N_("Webhooks"), N_("calls deliveries"), icon="hook", key="w"),
        NavigationItem(
            "/automations/outgoing", N_("Outgoing webhooks"), N_("notify subscribe events send"), icon="hook"
        ),
        NavigationItem("/automations/log", N_("Automation log"), N_("errors automations"), icon="list", key="l"),
        NavigationItem("/automations/new", N_("New automation")),
        NavigationItem("/automations/recipes", N_("Recipes"), N_("cookbook examples templates")),
        NavigationItem("/automations/webhooks/new", N_("New webhook")),
        NavigationItem("/automations/outgoing/new", N_("New outgoing webhook")),
    ),
    *_group(
        ADMINISTRATION,
        "admin",
        NavigationItem("/admin/tokens", N_("Tokens"), N_("api access bearer"), icon="key", key="k"),
        NavigationItem("/admin/tokens/new", N_("New token")),
        NavigationItem("/admin/apps", N_("OAuth apps"), N_("clients scopes secret"), icon="apps"),
        NavigationItem("/admin/apps/new", N_("New OAuth app")),
        NavigationItem("/admin/people", N_("People"), N_("workers users"), icon="people", key="p"),
        NavigationItem("/admin/people/new", N_("New worker"), N_("invite person")),
        NavigationItem("/admin/people/groups", N_("Groups"), N_("buckets teams")),
        NavigationItem("/admin/people/rosters", N_("Rosters"), N_("members managers")),
        NavigationItem("/admin/targets", N_("Service targets"), N_("sla response resolution")),
        NavigationItem("/search/calendar", N_("Calendars"), N_("opening hours holidays")),
        NavigationItem("/admin/people/roles", N_("Roles"), N_("privileges permissions")),
        NavigationItem("/admin/fields", N_("Custom fields"), N_("fieldsets tags"), icon="fields"),
        NavigationItem("/admin/packages", N_("Packages"), N_("import"), icon="box"),
        NavigationItem("/admin/packages/export", N_("Export a package")),
        NavigationItem(
            "/admin/mail", N_("Mail"), N_("smtp imap mailboxes transports"), icon="mail", key="m", is_first=True
        ),
        NavigationItem("/admin/mail/dns", N_("Sender DNS"), N_("spf dkim dmarc mx")),
        NavigationItem("/admin/mail/signing", N_("Mail signing"), N_("dkim keys domains")),
        NavigationItem("/search/email_signature", N_("Signatures"), N_("email footer")),
        NavigationItem("/search/html_template", N_("Mail templates"), N_("html layout design")),
        NavigationItem("/admin/mail/outbox", N_("Outbox"), N_("mail queue")),
        NavigationItem("/admin/mail/failed", N_("Failed mail"), N_("dead letters")),
        NavigationItem("/admin/mail/listener", N_("Mail from a mail server"), N_("lmtp listener")),
        NavigationItem("/admin/jobs", N_("Scheduler"), N_("jobs"), icon="clock", key="j"),
        NavigationItem("/admin/jobs/runs", N_("Job history"), N_("runs scheduler")),
        NavigationItem("/admin/jobs/scans", N_("Maintenance tasks"), N_("scans periodic scheduler")),
        NavigationItem("/admin/jobs/timers", N_("Timers"), N_("automation recurring")),
        NavigationItem("/admin/backups", N_("Backups"), N_("restore"), icon="archive"),
        NavigationItem("/admin/system", N_("System"), N_("health version"), icon="pulse", key="s", is_first=True),
        NavigationItem("/admin/system/checkup", N_("Check-up"), N_("problems")),
        NavigationItem("/admin/system/settings", N_("Settings"), N_("configuration options")),
        NavigationItem("/admin/system/log", N_("Service log"), N_("warnings process")),
        NavigationItem("/setup", N_("Setup"), N_("wizard address demo")),
        NavigationItem("/admin/system/audit", N_("Audit log"), N_("who did what")),
    ),
    *_group(
        N_("Groups"),
        "manager",
        NavigationItem("/admin/people/rosters", N_("Rosters"), N_("members"), icon="group"),
    ),
    *_group(
        HELP,
        "worker",
        NavigationItem("/api", N_("API"), N_("explorer endpoints openapi"), icon="api", key="e"),
        NavigationItem("/api/errors", N_("API errors")),
        NavigationItem("/help", N_("Help"), N_("documentation manual"), icon="help", is_first=True),
    ),
    *_group(
        YOU,
        "worker",
        NavigationItem("/notifications", N_("Notifications"), N_("bell unread mentions")),
        NavigationItem("/reminders", N_("Reminders"), N_("remind me snooze follow up")),
        NavigationItem("/account", N_("Account"), N_("profile password time zone"), key="c"),
        NavigationItem("/account#tickets", N_("After closing or sending"), N_("next ticket list stay advance")),
        NavigationItem("/account#appearance", N_("Appearance and keys"), N_("dark theme density")),
        NavigationItem("/account#absence", N_("Absence"), N_("vacation holiday stand-in out of office")),
        NavigationItem("/account#notifications", N_("Email notifications"), N_("mail browser notification choose")),
        NavigationItem("/account#sessions", N_("Active sessions"), N_("sessions devices")),
        NavigationItem("/account/apps", N_("Authorized apps"), N_("consent authorized")),
        NavigationItem("/account/second-factor", N_("Second factor"), N_("totp authenticator 2fa two-factor")),
    ),
)


def open_to(actor: Actor) -> list[NavigationItem]:
    """The pages that a worker may open."""
    return [each for each in PLACES if _may(actor, each)]


def rail(actor: Actor, custom: Sequence[RecordType] = ()) -> list[tuple[str, list[NavigationItem]]]:
    """The rail: pairs of a heading and its entries. custom: custom record types, the first of which are listed among
    the records."""
    groups: dict[str, list[NavigationItem]] = {}
    for each in open_to(actor):
        if each.icon:
            groups.setdefault(each.group, []).append(each)
    searchable = [each for each in custom if each.offers("search")][:MAX_CUSTOM]
    groups[RECORDS][-1:-1] = [
        NavigationItem(f"/search/{each.uri}", each.label_names[1], icon="box") for each in searchable
    ]
    return list(groups.items())


def bar(actor: Actor) -> list[NavigationItem]:
    """The entries in the bar of a phone, beside the button that opens the rail."""
    return [each for each in open_to(actor) if each.is_first][:4]


def here(places: Sequence[NavigationItem], path: str) -> str:
    """The path of the entry that a page belongs to: the longest prefix of its own path."""
    return max((each.path for each in places if _holds(each.path, path)), key=len, default="")


def _holds(place: str, path: str) -> bool:
    return path == place or (place != "/" and path.startswith(f"{place}/"))


def _may(actor: Actor, place: NavigationItem) -> bool:
    if place.who == "manager":
        return not actor.is_admin and bool(actor.manages)
    return actor.is_admin or place.who == "worker"
