"""The pages of the console as data: the rail, the settings, the keyboard shortcuts and the jump dialog are built from
it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from server.access.actor import Actor
from server.dataclass import dataclass
from server.record_types.record_type import RecordType
from server.translation import N_, Words

Who = Literal["worker", "admin", "manager", "lead"]


@dataclass(frozen=True)
class NavigationItem:
    """A page.

    words: further search terms. icon: a name in icons.py. key: the letter after `g` that opens it. group: its group in
    the settings, "" for a page outside of them. about: what it is for; a page of the settings without it belongs to
    another one and is not listed there. new: path and label of the form of a new record, blank for none. who: the
    workers who see it; `manager` stands for those who manage groups without being administrators, `lead` for both.
    for_leads: whether the rail of leads has it."""

    path: str
    label: Words
    words: Words = ""
    icon: str = ""
    key: str = ""
    group: Words = ""
    about: Words = ""
    new: tuple[str, Words] = ("", "")
    who: Who = "worker"
    for_leads: bool = False


SETTINGS = NavigationItem(
    "/settings", N_("Settings"), N_("administration configuration options"), icon="fields", key=","
)
DRAFTS = NavigationItem("/drafts", N_("Drafts"), N_("unsent scheduled email"), icon="pencil", key="d")
INBOX = NavigationItem("/inbox", N_("Inbox"), N_("tickets queue"), icon="inbox", key="i")
COMPOSE = NavigationItem("/compose", N_("New ticket"), N_("compose write email"), icon="mail", key="n")
START = NavigationItem("/", N_("Start"), N_("home overview"), icon="home", key="h")
PEOPLE = NavigationItem("/search/contact", N_("People"), N_("contacts customers requesters"), icon="user", key="u")
ORGANIZATIONS = NavigationItem("/search/org", N_("Organizations"), N_("companies accounts"), icon="building", key="o")
REPORTS = NavigationItem(
    "/reports",
    N_("Reports"),
    N_("statistics figures charts performance"),
    icon="chart",
    key="v",
    who="lead",
    for_leads=True,
)
TASKS = NavigationItem("/search/task", N_("Tasks"), N_("to do due"), icon="task", key="t")
ARTICLES = NavigationItem("/articles", N_("Help articles"), N_("knowledge base help center categories"), icon="help")
NOTIFICATIONS = NavigationItem("/notifications", N_("Notifications"), N_("bell unread mentions"), icon="bell")
SEARCH = NavigationItem("/jump", N_("Search"), icon="search")
BAR = (INBOX, SEARCH, COMPOSE, NOTIFICATIONS)  # the bottom bar of a phone, which also has a button for the rail
MAX_CUSTOM = 8  # custom record types in the rail; the others are on the page of all records

TEAM, CHANNELS, PRODUCTIVITY = N_("Team"), N_("Channels"), N_("Productivity")
CUSTOMERS_DATA, DEVELOPERS, SYSTEM, YOU = N_("Customers' data"), N_("Developers"), N_("System"), N_("You")


def _group(heading: Words, who: Who, *items: NavigationItem) -> list[NavigationItem]:
    """The pages of a group of the settings that the same workers see."""
    return [replace(each, group=heading, who=who) for each in items]


PLACES = (
    INBOX,
    COMPOSE,
    START,
    DRAFTS,
    PEOPLE,
    ORGANIZATIONS,
    TASKS,
    ARTICLES,
    REPORTS,
    NavigationItem(
        "/reports/help-center/missed", N_("What visitors did not find"), N_("help center searches"), who="lead"
    ),
    NOTIFICATIONS,
    NavigationItem("/reminders", N_("Reminders"), N_("remind me snooze follow up")),
    NavigationItem("/help", N_("Help"), N_("documentation manual")),
    SETTINGS,
    *_group(
        TEAM,
        "admin",
        NavigationItem(
            "/admin/people", N_("Workers"), N_("people users"), icon="people", key="p", for_leads=True,
            about=N_("Invite and deactivate colleagues, and reset their sign-in"),
        ),
        NavigationItem("/admin/people/new", N_("New worker"), N_("account person")),
        NavigationItem("/admin/people/invite", N_("Invite workers"), N_("new person colleague email")),
        NavigationItem(
            "/admin/people/provisioning", N_("Provisioning"), N_("scim entra okta authentik sync"), icon="key",
            about=N_("Let an identity provider create and deactivate workers, and fill groups"),
        ),
        NavigationItem("/admin/people/invitations", N_("Invitations"), N_("invited pending resend")),
        NavigationItem(
            "/admin/people/groups", N_("Groups"), N_("buckets teams"), icon="group",
            about=N_("Teams with their buckets, reply addresses and acknowledgements"),
        ),
        NavigationItem(
            "/admin/people/rosters", N_("Rosters"), N_("members managers"), icon="check",
            about=N_("Who is a member or a manager of which group"),
        ),
        NavigationItem(
            "/admin/people/roles", N_("Roles"), N_("privileges permissions"), icon="key",
            about=N_("What workers may do, with a permission check"),
        ),
        NavigationItem(
            "/admin/people/sign-in", N_("Sign-in"), N_("sso single sign-on openid oidc google microsoft provider"),
            icon="key", about=N_("Sign in with Google, Microsoft or another provider"),
        ),
        NavigationItem(
            "/admin/people/second-factor", N_("Require a second factor"), N_("2fa mfa two-factor passkeys policy"),
            icon="key", about=N_("Who must have one, until when, and who has none yet"),
        ),
    ),
    *_group(
        TEAM,
        "manager",
        NavigationItem(
            "/admin/people/rosters", N_("Rosters"), N_("members"), icon="check", for_leads=True,
            about=N_("Who is a member of the groups that you manage"),
        ),
    ),
    *_group(
        PRODUCTIVITY,
        "worker",
        NavigationItem(
            "/snippets", N_("Snippets"), N_("canned replies canned responses text blocks"), icon="clip", for_leads=True,
            about=N_("Texts to insert into replies"),
        ),
        NavigationItem(
            "/macros", N_("Macros"), N_("canned actions shortcuts one click"), icon="bolt", for_leads=True,
            about=N_("Several steps on a ticket with one click"),
        ),
        NavigationItem(
            "/search/saved_search", N_("Saved searches"), N_("views filters"), icon="search",
            about=N_("Lists of the rail: your own, those of groups and those of everyone"),
        ),
        NavigationItem(
            "/workspaces", N_("Pages"), N_("dashboards workspaces widgets boards"), icon="chart",
            about=N_("Numbers, charts and lists on pages of your own, of groups and of everyone"),
        ),
        NavigationItem(
            "/boards", N_("Boards"), N_("kanban columns cards project"), icon="columns",
            about=N_("Tickets, tasks and other records as cards in columns"), new=("/boards/new", N_("New board")),
        ),
    ),
    *_group(
        PRODUCTIVITY,
        "admin",
        NavigationItem(
            "/admin/rules", N_("Rules"), N_("triggers when then automation workflow"), icon="check", for_leads=True,
            about=N_("What happens to tickets by itself: assign, reply, remind, close"),
            new=("/admin/rules/new", N_("New rule")),
        ),
        NavigationItem(
            "/admin/targets", N_("Service targets"), N_("sla response resolution"), icon="pulse", for_leads=True,
            about=N_("How soon to answer and to close tickets"),
        ),
        NavigationItem(
            "/search/calendar", N_("Calendars"), N_("opening hours holidays"), icon="task",
            about=N_("Opening hours and holidays for service targets and acknowledgements"),
        ),
        NavigationItem(
            "/admin/statuses", N_("Ticket statuses"), N_("names states waiting pending"), icon="check",
            about=N_("Names below open, waiting, closed and deleted, with their order and color"),
        ),
        NavigationItem(
            "/admin/tags", N_("Tags"), N_("labels categories"), icon="tag",
            about=N_("Rename, color, merge and delete the tags of tickets"),
        ),
        NavigationItem(
            "/admin/writing-assistant", N_("Writing assistant"),
            N_("ai llm gpt openai ollama language model summarize summarise draft translate copilot"), icon="pencil",
            about=N_("A language model of your choice that summarizes, drafts, rewrites and translates"),
        ),
    ),
    *_group(
        CHANNELS,
        "admin",
        NavigationItem(
            "/admin/mail", N_("Mail"), N_("smtp imap mailboxes transports"), icon="mail", key="m",
            about=N_("Mailboxes that receive, mail transports that send, sender addresses"),
        ),
        NavigationItem(
            "/admin/mail/connect", N_("Connect a mailbox"), N_("google gmail microsoft 365 outlook imap oauth"),
            icon="inbox", about=N_("Receive and send email with an address: its servers are found and tested"),
        ),
        NavigationItem(
            "/admin/mail/dns", N_("Sender DNS"), N_("spf dkim dmarc mx"), icon="check",
            about=N_("Check SPF, DKIM and DMARC of your domains"),
        ),
        NavigationItem(
            "/admin/mail/signing", N_("Mail signing"), N_("dkim keys domains"), icon="key",
            about=N_("DKIM keys for the email that you send"),
        ),
        NavigationItem(
            "/search/email_signature", N_("Signatures"), N_("email footer"), icon="pencil",
            about=N_("The text below the replies of a group"),
        ),
        NavigationItem(
            "/search/html_template", N_("Mail templates"), N_("html layout design"), icon="apps",
            about=N_("The layout around replies"),
        ),
        NavigationItem(
            "/admin/ratings", N_("Ratings"), N_("satisfaction csat survey feedback score"), icon="check",
            about=N_("Ask customers after closing whether they were satisfied"),
        ),
        NavigationItem(
            "/admin/mail/outbox", N_("Outbox"), N_("mail queue"), icon="upload",
            about=N_("Email of everybody that is not sent yet, and why"),
        ),
        NavigationItem(
            "/admin/mail/failed", N_("Failed mail"), N_("dead letters"), icon="close",
            about=N_("Received email that could not be read"),
        ),
        NavigationItem(
            "/admin/help-center", N_("Help center"),
            N_("portal knowledge base brands logo public articles faq votes contact form"),
            icon="help", about=N_("Pages with your articles for everybody: brands, languages, what is public"),
            new=("/admin/help-center/new", N_("New brand")),
        ),
        NavigationItem(
            "/admin/mail/listener", N_("Mail from a mail server"), N_("lmtp listener"), icon="inbox",
            about=N_("Accept email from your own mail server by LMTP"),
        ),
    ),
    *_group(
        CUSTOMERS_DATA,
        "worker",
        NavigationItem(
            "/records", N_("All records"), N_("types snippets knowledge base assets"), icon="records", key="r",
            about=N_("Every type of record, with its list and its form"),
        ),
    ),
    *_group(
        CUSTOMERS_DATA,
        "admin",
        NavigationItem(
            "/admin/fields", N_("Custom fields"), N_("fieldsets tags"), icon="fields",
            about=N_("Fields of your own for tickets, people, organizations and all other records"),
        ),
        NavigationItem(
            "/records/contact/import", N_("Import people"), N_("csv upload contacts customers"), icon="upload",
            about=N_("Create or update people from a CSV file"),
        ),
        NavigationItem(
            "/records/org/import", N_("Import organizations"), N_("csv upload companies"), icon="upload",
            about=N_("Create or update organizations from a CSV file"),
        ),
    ),
    *_group(
        YOU,
        "worker",
        NavigationItem(
            "/account", N_("Account"), N_("profile password time zone"), icon="user", key="c",
            about=N_("Your name, picture, password, language and time zone"),
        ),
        NavigationItem(
            "/account#tickets", N_("After closing or sending"), N_("next ticket list stay advance"), icon="ticket",
            about=N_("The next ticket, the list, or the ticket itself"),
        ),
        NavigationItem(
            "/account#appearance", N_("Appearance and keys"), N_("dark theme density"), icon="keyboard",
            about=N_("Theme, density and single-key shortcuts"),
        ),
        NavigationItem(
            "/account#absence", N_("Absence"), N_("vacation holiday stand-in out of office"), icon="clock",
            about=N_("When you are away, and who stands in for you"),
        ),
        NavigationItem(
            "/account#notifications", N_("Email notifications"), N_("mail browser notification choose"), icon="bell",
            about=N_("Which news also reach you by email or in the browser"),
        ),
        NavigationItem(
            "/account#sessions", N_("Active sessions"), N_("sessions devices"), icon="list",
            about=N_("Where you are signed in"),
        ),
        NavigationItem(
            "/account/apps", N_("Authorized apps"), N_("consent authorized"), icon="apps",
            about=N_("Programs that act for you"),
        ),
        NavigationItem(
            "/account/second-factor", N_("Second factor"), N_("totp authenticator 2fa two-factor"), icon="key",
            about=N_("Protect your account with codes from your phone"),
        ),
        NavigationItem(
            "/account#passkeys", N_("Passkeys"), N_("webauthn fido passwordless finger face"), icon="key",
            about=N_("Sign in with a finger, a face or a PIN"),
        ),
    ),
    *_group(
        DEVELOPERS,
        "worker",
        NavigationItem(
            "/automations", N_("Automations"), N_("scripts"), icon="bolt", key="a",
            about=N_("Scripts that do recurring work"),
        ),
        NavigationItem(
            "/api", N_("API"), N_("explorer endpoints openapi"), icon="api", key="e",
            about=N_("Every request with its parameters, to try with your rights"),
        ),
        NavigationItem("/api/errors", N_("API errors"), icon="list", about=N_("Error codes and what to do about them")),
    ),
    *_group(
        DEVELOPERS,
        "admin",
        NavigationItem("/automations/new", N_("New automation")),
        NavigationItem(
            "/automations/recipes", N_("Recipes"), N_("cookbook examples templates"), icon="records",
            about=N_("Automations that are ready to use"),
        ),
        NavigationItem(
            "/automations/events", N_("Events"), N_("bindings order triggers"), icon="bolt",
            about=N_("Which automations run when something happens, and in which order"),
        ),
        NavigationItem(
            "/admin/jobs/timers", N_("Timers"), N_("automation recurring"), icon="clock",
            about=N_("Automations that run at certain times"),
        ),
        NavigationItem(
            "/admin/tokens", N_("Tokens"), N_("api access bearer"), icon="key", key="k",
            about=N_("API keys for scripts and integrations"),
        ),
        NavigationItem("/admin/tokens/new", N_("New token")),
        NavigationItem(
            "/admin/apps", N_("OAuth apps"), N_("clients scopes secret"), icon="apps",
            about=N_("Programs that act for workers, with scopes"),
        ),
        NavigationItem("/admin/apps/new", N_("New OAuth app")),
        NavigationItem(
            "/admin/assistants", N_("Assistants"), N_("mcp ai tools model context protocol"), icon="apps",
            about=N_("Let assistants of others connect to the helpdesk, with the rights of a worker"),
        ),
        NavigationItem(
            "/admin/connections", N_("Connections"), N_("connected services accounts oauth google microsoft"),
            icon="apps", about=N_("Accounts at other programs, such as Google and Microsoft 365"),
        ),
        NavigationItem(
            "/automations/webhooks", N_("Webhooks"), N_("calls deliveries"), icon="hook", key="w",
            about=N_("Addresses that other programs call"),
        ),
        NavigationItem("/automations/webhooks/new", N_("New webhook")),
        NavigationItem(
            "/automations/outgoing", N_("Chat and webhooks"),
            N_("outgoing webhooks notify slack teams discord mattermost rocket.chat matrix ntfy"), icon="hook",
            about=N_("Messages to chat programs, and notifications of other programs"),
        ),
        NavigationItem("/automations/outgoing/chats/new", N_("New webhook to another program")),
        NavigationItem(
            "/automations/log", N_("Automation log"), N_("errors automations"), icon="list", key="l",
            about=N_("What automations logged, and their errors"),
        ),
        NavigationItem(
            "/admin/packages", N_("Packages"), N_("import"), icon="box",
            about=N_("Import automations, fields and searches from others"),
        ),
        NavigationItem(
            "/admin/packages/export", N_("Export a package"), icon="upload",
            about=N_("Move your configuration to another helpdesk"),
        ),
    ),
    *_group(
        SYSTEM,
        "admin",
        NavigationItem(
            "/admin/system", N_("System"), N_("health version"), icon="pulse", key="s",
            about=N_("Health, version, database and what is waiting"),
        ),
        NavigationItem(
            "/admin/system/checkup", N_("Check-up"), N_("problems"), icon="check",
            about=N_("Check all parts now, including the mail servers"),
        ),
        NavigationItem(
            "/admin/system/settings", N_("Service settings"), N_("configuration options"), icon="fields",
            about=N_("Limits, addresses and defaults of the service"),
        ),
        NavigationItem(
            "/admin/backups", N_("Backups"), N_("restore"), icon="archive",
            about=N_("Create, download, upload and restore backups"),
        ),
        NavigationItem(
            "/admin/system/audit", N_("Audit log"), N_("who did what"), icon="list",
            about=N_("Who changed what, and who signed in"),
        ),
        NavigationItem(
            "/admin/system/log", N_("Service log"), N_("warnings process"), icon="list",
            about=N_("The newest lines of the service's log"),
        ),
        NavigationItem(
            "/admin/jobs", N_("Scheduler"), N_("jobs"), icon="clock", key="j",
            about=N_("Background jobs that are due, running or failed"),
        ),
        NavigationItem("/admin/jobs/runs", N_("Job history"), N_("runs scheduler")),
        NavigationItem("/admin/jobs/scans", N_("Maintenance tasks"), N_("scans periodic scheduler")),
        NavigationItem(
            "/setup", N_("Setup"), N_("wizard address demo"), icon="bolt",
            about=N_("The first steps again: address, email, demo data"),
        ),
    ),
)  # fmt: skip
_BY_PATH = {each.path: each for each in PLACES}
_ALONE = ("/records",)  # a record's pages belong to the list of its type
_RECORDS, _LISTS = "/records/", "/search/"


def open_to(actor: Actor) -> list[NavigationItem]:
    """The pages that a worker may open."""
    return [each for each in PLACES if may_open(actor, each)]


def is_lead(actor: Actor) -> bool:
    """Whether a worker leads others: an administrator, or a manager of a group."""
    return actor.is_admin or bool(actor.manages)


def led_by(actor: Actor) -> list[NavigationItem]:
    """The pages that only the rail of a lead has; none for other workers."""
    return [each for each in open_to(actor) if each.for_leads] if is_lead(actor) else []


def settings_of(actor: Actor) -> dict[str, list[NavigationItem]]:
    """Returns {group: pages of the settings} that a worker may open. Pages that belong to another page are left out."""
    groups: dict[str, list[NavigationItem]] = {}
    for each in open_to(actor):
        if each.about:
            groups.setdefault(each.group, []).append(each)
    return groups


def custom_types(custom: Sequence[RecordType]) -> list[NavigationItem]:
    """The first custom record types, for the rail."""
    searchable = [each for each in custom if each.offers("search")][:MAX_CUSTOM]
    return [NavigationItem(f"{_LISTS}{each.uri}", each.label_names[1], icon="box") for each in searchable]


def place_of(path: str, further: Sequence[NavigationItem] = ()) -> NavigationItem | None:
    """The entry that a page belongs to: the one with the longest beginning of its path. further: entries besides
    PLACES."""
    by_path = {each.path: each for each in further}
    list_path = _LISTS + path.removeprefix(_RECORDS).partition("/")[0] if path.startswith(_RECORDS) else ""
    beginning = path
    while beginning:
        place = _BY_PATH.get(beginning) or by_path.get(beginning)
        if place is not None and (beginning == path or beginning not in _ALONE):
            return place
        beginning = beginning.rpartition("/")[0]
    return place_of(list_path, further) if list_path else None


def may_open(actor: Actor, place: NavigationItem) -> bool:
    if place.who == "manager":
        return not actor.is_admin and bool(actor.manages)
    if place.who == "lead":
        return is_lead(actor)
    return actor.is_admin or place.who == "worker"
