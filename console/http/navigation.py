"""The main pages as data: the rail, the keyboard shortcuts and the jump dialog are built from it."""

from collections.abc import Sequence
from typing import Literal

from server.access.actor import Actor
from server.dataclass import dataclass
from server.record_types.record_type import RecordType
from server.translation import N_, Words

Who = Literal["worker", "admin", "manager"]


@dataclass(frozen=True)
class NavigationItem:
    """A main page.

    group: its heading in the rail, "" for the first entries. who: the workers who see it; `manager` stands for those
    who manage groups without being administrators. key: the letter after `g` that opens it. words: further search
    terms. is_part: whether it belongs to another page and is not in the rail. icon: a name in icons.py. is_first:
    whether it is in the bar of a phone, which has room for four."""

    path: str
    label: Words
    group: Words
    who: Who = "worker"
    key: str = ""
    words: Words = ""
    is_part: bool = False
    icon: str = ""
    is_first: bool = False


# Headings of the rail.
RECORDS, AUTOMATION, ADMINISTRATION = N_("Records"), N_("Automation"), N_("Administration")
HELP, YOU = N_("Help and API"), N_("You")
MAX_CUSTOM = 8  # custom record types in the rail; the others are on the page of all records
PLACES = (
    NavigationItem("/inbox", N_("Inbox"), "", key="i", words=N_("tickets queue"), icon="inbox", is_first=True),
    NavigationItem(
        "/compose", N_("New ticket"), "", key="n", words=N_("compose write email"), icon="mail", is_first=True
    ),
    NavigationItem("/", N_("Start"), "", key="h", words=N_("home overview"), icon="home", is_first=True),
    NavigationItem(
        "/search/org", N_("Organizations"), RECORDS, key="o", words=N_("companies accounts"), icon="building"
    ),
    NavigationItem("/search/contact", N_("Contacts"), RECORDS, key="u", words=N_("customers requesters"), icon="user"),
    NavigationItem("/search/task", N_("Tasks"), RECORDS, key="t", words=N_("to do due"), icon="task"),
    NavigationItem(
        "/search/snippet", N_("Snippets"), RECORDS, words=N_("canned replies canned responses text blocks"), icon="clip"
    ),
    NavigationItem(
        "/records",
        N_("All records"),
        RECORDS,
        key="r",
        words=N_("types snippets knowledge base assets"),
        icon="records",
    ),
    NavigationItem("/automations", N_("Automations"), AUTOMATION, key="a", words=N_("scripts"), icon="bolt"),
    NavigationItem(
        "/automations/events", N_("Events"), AUTOMATION, "admin", words=N_("bindings order triggers"), icon="bolt"
    ),
    NavigationItem(
        "/automations/webhooks", N_("Webhooks"), AUTOMATION, "admin", "w", N_("calls deliveries"), icon="hook"
    ),
    NavigationItem(
        "/automations/outgoing",
        N_("Outgoing webhooks"),
        AUTOMATION,
        "admin",
        words=N_("notify subscribe events send"),
        icon="hook",
    ),
    NavigationItem(
        "/automations/log", N_("Automation log"), AUTOMATION, "admin", "l", N_("errors automations"), icon="list"
    ),
    NavigationItem("/automations/new", N_("New automation"), AUTOMATION, "admin", is_part=True),
    NavigationItem(
        "/automations/recipes",
        N_("Recipes"),
        AUTOMATION,
        "admin",
        words=N_("cookbook examples templates"),
        is_part=True,
    ),
    NavigationItem("/automations/webhooks/new", N_("New webhook"), AUTOMATION, "admin", is_part=True),
    NavigationItem("/automations/outgoing/new", N_("New outgoing webhook"), AUTOMATION, "admin", is_part=True),
    NavigationItem("/admin/tokens", N_("Tokens"), ADMINISTRATION, "admin", "k", N_("api access bearer"), icon="key"),
    NavigationItem("/admin/tokens/new", N_("New token"), ADMINISTRATION, "admin", is_part=True),
    NavigationItem(
        "/admin/apps", N_("OAuth apps"), ADMINISTRATION, "admin", words=N_("clients scopes secret"), icon="apps"
    ),
    NavigationItem("/admin/apps/new", N_("New OAuth app"), ADMINISTRATION, "admin", is_part=True),
    NavigationItem("/admin/people", N_("People"), ADMINISTRATION, "admin", "p", N_("workers users"), icon="people"),
    NavigationItem(
        "/admin/people/new", N_("New worker"), ADMINISTRATION, "admin", words=N_("invite person"), is_part=True
    ),
    NavigationItem(
        "/admin/people/groups", N_("Groups"), ADMINISTRATION, "admin", words=N_("buckets teams"), is_part=True
    ),
    NavigationItem(
        "/admin/people/rosters", N_("Rosters"), ADMINISTRATION, "admin", words=N_("members managers"), is_part=True
    ),
    NavigationItem(
        "/admin/targets",
        N_("Service targets"),
        ADMINISTRATION,
        "admin",
        words=N_("sla response resolution"),
        is_part=True,
    ),
    NavigationItem(
        "/search/calendar", N_("Calendars"), ADMINISTRATION, "admin", words=N_("opening hours holidays"), is_part=True
    ),
    NavigationItem(
        "/admin/people/roles", N_("Roles"), ADMINISTRATION, "admin", words=N_("privileges permissions"), is_part=True
    ),
    NavigationItem(
        "/admin/fields", N_("Custom fields"), ADMINISTRATION, "admin", words=N_("fieldsets tags"), icon="fields"
    ),
    NavigationItem("/admin/packages", N_("Packages"), ADMINISTRATION, "admin", words=N_("import"), icon="box"),
    NavigationItem("/admin/packages/export", N_("Export a package"), ADMINISTRATION, "admin", is_part=True),
    NavigationItem(
        "/admin/mail",
        N_("Mail"),
        ADMINISTRATION,
        "admin",
        "m",
        N_("smtp imap mailboxes transports"),
        icon="mail",
        is_first=True,
    ),
    NavigationItem(
        "/admin/mail/dns", N_("Sender DNS"), ADMINISTRATION, "admin", words=N_("spf dkim dmarc mx"), is_part=True
    ),
    NavigationItem(
        "/admin/mail/signing", N_("Mail signing"), ADMINISTRATION, "admin", words=N_("dkim keys domains"), is_part=True
    ),
    NavigationItem(
        "/search/email_signature", N_("Signatures"), ADMINISTRATION, "admin", words=N_("email footer"), is_part=True
    ),
    NavigationItem(
        "/search/html_template",
        N_("Mail templates"),
        ADMINISTRATION,
        "admin",
        words=N_("html layout design"),
        is_part=True,
    ),
    NavigationItem("/admin/mail/outbox", N_("Outbox"), ADMINISTRATION, "admin", words=N_("mail queue"), is_part=True),
    NavigationItem(
        "/admin/mail/failed", N_("Failed mail"), ADMINISTRATION, "admin", words=N_("dead letters"), is_part=True
    ),
    NavigationItem(
        "/admin/mail/listener",
        N_("Mail from a mail server"),
        ADMINISTRATION,
        "admin",
        words=N_("lmtp listener"),
        is_part=True,
    ),
    NavigationItem("/admin/jobs", N_("Scheduler"), ADMINISTRATION, "admin", "j", N_("jobs"), icon="clock"),
    NavigationItem(
        "/admin/jobs/runs", N_("Job history"), ADMINISTRATION, "admin", words=N_("runs scheduler"), is_part=True
    ),
    NavigationItem(
        "/admin/jobs/scans",
        N_("Maintenance tasks"),
        ADMINISTRATION,
        "admin",
        words=N_("scans periodic scheduler"),
        is_part=True,
    ),
    NavigationItem(
        "/admin/jobs/timers", N_("Timers"), ADMINISTRATION, "admin", words=N_("automation recurring"), is_part=True
    ),
    NavigationItem("/admin/backups", N_("Backups"), ADMINISTRATION, "admin", words=N_("restore"), icon="archive"),
    NavigationItem(
        "/admin/system", N_("System"), ADMINISTRATION, "admin", "s", N_("health version"), icon="pulse", is_first=True
    ),
    NavigationItem(
        "/admin/system/checkup", N_("Check-up"), ADMINISTRATION, "admin", words=N_("problems"), is_part=True
    ),
    NavigationItem(
        "/admin/system/settings",
        N_("Settings"),
        ADMINISTRATION,
        "admin",
        words=N_("configuration options"),
        is_part=True,
    ),
    NavigationItem(
        "/admin/system/log", N_("Service log"), ADMINISTRATION, "admin", words=N_("warnings process"), is_part=True
    ),
    NavigationItem("/setup", N_("Setup"), ADMINISTRATION, "admin", words=N_("wizard address demo"), is_part=True),
    NavigationItem(
        "/admin/system/audit", N_("Audit log"), ADMINISTRATION, "admin", words=N_("who did what"), is_part=True
    ),
    NavigationItem("/admin/people/rosters", N_("Rosters"), N_("Groups"), "manager", words=N_("members"), icon="group"),
    NavigationItem("/api", N_("API"), HELP, key="e", words=N_("explorer endpoints openapi"), icon="api"),
    NavigationItem("/api/errors", N_("API errors"), HELP, is_part=True),
    NavigationItem("/help", N_("Help"), HELP, words=N_("documentation manual"), icon="help", is_first=True),
    NavigationItem("/notifications", N_("Notifications"), YOU, words=N_("bell unread mentions"), is_part=True),
    NavigationItem("/reminders", N_("Reminders"), YOU, words=N_("remind me snooze follow up"), is_part=True),
    NavigationItem("/account", N_("Account"), YOU, key="c", words=N_("profile password time zone"), is_part=True),
    NavigationItem("/account#appearance", N_("Appearance and keys"), YOU, words=N_("dark theme density"), is_part=True),
    NavigationItem(
        "/account#absence", N_("Absence"), YOU, words=N_("vacation holiday stand-in out of office"), is_part=True
    ),
    NavigationItem(
        "/account#notifications",
        N_("Email notifications"),
        YOU,
        words=N_("mail browser notification choose"),
        is_part=True,
    ),
    NavigationItem("/account#sessions", N_("Active sessions"), YOU, words=N_("sessions devices"), is_part=True),
    NavigationItem("/account/apps", N_("Authorized apps"), YOU, words=N_("consent authorized"), is_part=True),
    NavigationItem(
        "/account/second-factor", N_("Second factor"), YOU, words=N_("totp authenticator 2fa two-factor"), is_part=True
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
        if not each.is_part:
            groups.setdefault(each.group, []).append(each)
    searchable = [each for each in custom if each.offers("search")][:MAX_CUSTOM]
    groups[RECORDS][-1:-1] = [
        NavigationItem(f"/search/{each.uri}", each.label_names[1], RECORDS, icon="box") for each in searchable
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
