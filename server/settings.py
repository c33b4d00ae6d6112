"""The settings of a process: their table and the sources of their values.

Flags override HELPDESK_* variables, which override helpdesk.toml, which overrides values from the console, which
override the defaults. Only live settings can be changed in the console; records/live_settings.py stores them.
Settings of the service itself, such as mail servers and branding, are in the database."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from server.dataclass import dataclass
from server.errors import Invalid, nearest

VERSION = "0.1.0"  # __version in every answer; setup.py reads this line
BUILD = 2026112001  # __build: year, month, day, and a count within the day

FILE_NAME = "helpdesk.toml"
PREFIX = "HELPDESK_"
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))  # hosts that only this machine reaches
CONSOLE = "console"  # the source of values from the console
ADDRESSES = ("postgresql://", "postgres://")  # prefixes of PostgreSQL addresses
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^@/?#\s,:\[\]]*)(?::[0-9]{1,5})?"
ADDRESS = re.compile(
    rf"postgres(?:ql)?://(?:[^@/?#\s]*@)?{_HOST}(?:,{_HOST})*(?:/[^@/?#\s]*)?(?:\?[^=&#\s]+=[^&#\s]*(?:&[^=&#\s]+=[^&#\s]*)*)?"
)
WEB, WORKER, ALL = "web", "worker", "all"  # roles of a process
ADDRESS_VARIABLE, TOKEN_VARIABLE = "HELPDESK_URL", "HELPDESK_TOKEN"  # variables of clients; not settings of a server

KiB = 1024
MiB = 1024 * KiB

Kind = Literal["whole", "yes/no", "text", "list", "lines", "folder"]
Value = int | bool | str | tuple[str, ...] | Path


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting. `unit` is what a number counts; `least`, `most` and `choices` bound its values. `is_live`: it can be
    changed in the console while the service runs.

    Kinds: whole (number), yes/no, text, list (commas or line breaks between items), lines (line breaks only),
    folder."""

    name: str
    default: Value
    help: str
    unit: str = ""
    type: Kind = "whole"
    least: int = 0
    most: int = 2**53
    choices: tuple[str, ...] = ()
    is_live: bool = False

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


SETTINGS: tuple[Setting, ...] = (
    # Where the service is
    Setting("host", "127.0.0.1", "Address that the server listens on; :: for all, IPv6 and IPv4.", type="text"),
    Setting("port", 8200, "TCP port of the server; 0 uses any free port.", "port", most=65535),
    Setting(
        "http_socket",
        "",
        "Path of a Unix socket that the server also listens on, for a proxy on this machine; empty: none.",
        type="text",
    ),
    Setting("data", Path("helpdesk-data"), "Folder of the database file; created if missing.", type="folder"),
    Setting(
        "database",
        "",
        "PostgreSQL database to use instead of a file in the data folder, such as "
        "postgresql://helpdesk@db.example/helpdesk; several processes can share it. Empty: the file.",
        type="text",
    ),
    Setting(
        "base_url",
        "",
        "Address in links and emails, as others reach it; empty: from host and port.",
        type="text",
        is_live=True,
    ),
    Setting(
        "webhook_base_url",
        "",
        "Address of webhooks under another host name, where nothing else responds and webhook pages "
        "may run scripts of their own; empty: base_url, where they may not.",
        type="text",
    ),
    Setting(
        "portal_base_url",
        "",
        "Address of the help center under another host name, where nothing else responds; empty: /help-center of "
        "base_url, for a trial.",
        type="text",
    ),
    Setting("open_browser", True, "Open the setup link on the first start, if there is a desktop.", type="yes/no"),
    Setting(
        "starter_package",
        True,
        "Fill a new database with snippets, searches, a workspace and other basics.",
        type="yes/no",
    ),
    Setting(
        "admin_email",
        "",
        "Email address of the administrator that a first start creates without the setup link.",
        type="text",
    ),
    Setting("admin_password_file", "", "File whose first line is the password of that administrator.", type="text"),
    Setting("trusted_proxies", (), "Addresses or networks whose X-Forwarded-For is trusted.", type="list"),
    Setting("trusted_hosts", (), "More names accepted in the Host header.", type="list"),
    Setting(
        "role",
        ALL,
        "What this process does, if several serve one database: web serves requests; worker runs "
        "jobs, sends due email and receives email; all does both.",
        type="text",
        choices=(ALL, WEB, WORKER),
    ),
    # Log
    Setting(
        "log_level",
        "info",
        "Lowest level of events to log.",
        type="text",
        choices=("debug", "info", "warning", "error"),
    ),
    Setting(
        "log_format", "text", "One event per line, as key=value or as JSON.", type="text", choices=("text", "json")
    ),
    Setting(
        "strict_requests",
        False,
        "Refuse API requests with unknown parameters, as with Prefer: handling=strict.",
        type="yes/no",
    ),
    Setting("request_log", True, "Log one line for each request.", type="yes/no"),
    # Threads and queues
    Setting("worker_threads", 8, "Threads that serve requests.", "threads", least=1, most=256),
    Setting(
        "script_threads",
        4,
        "Threads for automations and jobs, which may wait for networks.",
        "threads",
        least=1,
        most=256,
    ),
    Setting(
        "webhook_threads",
        256,
        "Threads for webhooks, so the number of automations that can wait for other servers at the same time.",
        "threads",
        least=1,
        most=1024,
    ),
    Setting("request_queue", 512, "Requests that may wait for a thread; further ones get 503.", "requests", least=1),
    Setting(
        "max_streams",
        1000,
        "Event streams open at the same time, at most half of the connections; further ones get 503.",
        "streams",
        most=100_000,
    ),
    Setting(
        "max_worker_streams", 50, "Of these, streams of a single worker; further ones get 429.", "streams", most=100_000
    ),
    Setting("write_queue", 1024, "Writes that may wait for the writer; further ones get 503.", "writes", least=1),
    Setting("write_batch", 64, "Most writes that share one commit.", "writes", least=1, most=1024),
    Setting(
        "inline_steps",
        20000,
        "SQLite steps that a read may take on the event loop before it moves to a thread; 0: always on a thread.",
        "steps",
    ),
    Setting(
        "sqlite_cache_kib",
        2048,
        "Page cache of each connection that reads the database, of which there are about 16; the "
        "connection that writes has four times as much.",
        "KiB",
        least=64,
        most=MiB,
    ),
    Setting(
        "max_database_pages",
        0,
        "Largest database file; writes beyond it get 507. 0: no limit.",
        "pages of 4 KiB",
    ),
    # Time limits
    Setting("read_seconds", 5, "Time a read may take before it is interrupted.", "seconds", least=1, most=3600),
    Setting("body_timeout_seconds", 120, "Time a client has to send the body of a request.", "seconds", least=1),
    Setting(
        "idle_timeout_seconds",
        30,
        "Time that an idle connection stays open, and that a client has to send the head of a request.",
        "seconds",
        least=1,
    ),
    Setting(
        "stop_grace_seconds",
        0,
        "Time in which requests are still served after the server was told to stop, while /health "
        "reports that it is not ready: as long as a load balancer needs to notice.",
        "seconds",
        most=600,
    ),
    Setting("stop_seconds", 10, "Time running requests have to finish when the server stops.", "seconds", most=600),
    # Sizes
    Setting(
        "max_body_bytes",
        8 * MiB,
        "Largest request body; email, uploads and webhooks have their own limits.",
        "bytes",
        least=KiB,
    ),
    Setting("max_webhook_bytes", 8 * MiB, "Largest request body to a webhook.", "bytes", least=KiB),
    Setting("max_mail_bytes", 64 * MiB, "Largest raw email, through the parser or an import.", "bytes", least=KiB),
    Setting(
        "max_attachment_bytes",
        25 * MiB,
        "Largest uploaded file, and all files of one outgoing email.",
        "bytes",
        least=KiB,
    ),
    Setting(
        "mail_file_bytes",
        50 * MiB,
        "Largest file saved from incoming email; a larger one is listed in red on its message.",
        "bytes",
        least=KiB,
    ),
    # API
    Setting(
        "rest_errors_as_200",
        False,
        "Return errors with status 200, except 401, for clients that expect it.",
        type="yes/no",
    ),
    Setting(
        "search_limit_default",
        10,
        "Records on a page of search results unless requested otherwise.",
        "records",
        least=1,
        most=500,
    ),
    Setting("search_limit_max", 500, "Most records on a page of search results.", "records", least=1, most=500),
    Setting("rate_limit_per_minute", 0, "Requests per minute for each token; 0: no limit.", "requests"),
    Setting(
        "mcp",
        False,
        "Offer tools for assistants (MCP) at /mcp, to apps and tokens whose scopes allow them.",
        type="yes/no",
        is_live=True,
    ),
    Setting(
        "mcp_rate_limit_per_minute",
        300,
        "Requests to /mcp per minute for each token; 0: no limit.",
        "requests",
        is_live=True,
    ),
    Setting(
        "visitor_rate_per_minute",
        600,
        "Requests per minute from one address to the help center; 0: no limit.",
        "requests",
    ),
    Setting(
        "contact_forms_per_hour",
        20,
        "Contact forms per hour from one address; 0: no limit.",
        "forms",
    ),
    Setting(
        "contact_form_seconds",
        2,
        "A contact form that arrives sooner after its page was opened is shown again, since programs fill forms in "
        "at once.",
        "seconds",
        most=60,
    ),
    # Tokens, sessions, passwords
    Setting(
        "session_idle_hours",
        12,
        "Time without requests after which somebody is signed out of the console, unless they chose to stay signed in.",
        "hours",
        least=1,
        most=8760,
    ),
    Setting(
        "session_days", 30, "Longest time that somebody stays signed in to the console.", "days", least=1, most=365
    ),
    Setting(
        "oauth_access_seconds",
        3600,
        "Lifetime of an access token that an app got through a sign-in.",
        "seconds",
        least=60,
        most=86400,
    ),
    Setting(
        "oauth_refresh_days",
        30,
        "Time an app has to renew its tokens before the worker must sign in again.",
        "days",
        least=1,
        most=365,
    ),
    Setting(
        "oauth_remember_consent",
        False,
        "Ask a worker for consent only once for each app; no: at every sign-in of the app.",
        type="yes/no",
        is_live=True,
    ),
    # Mail
    Setting(
        "mail_mask_pattern",
        "LLL-NNNNN-NNN",
        "Format of ticket masks: L letter, N digit, C either, Y M D date, {text} as written.",
        type="text",
        is_live=True,
    ),
    Setting(
        "mail_authserv_ids",
        (),
        "Your mail servers whose Authentication-Results are trusted, by the name in them: email from "
        "a worker's address that fails DMARC there is treated as a stranger's.",
        type="list",
    ),
    Setting(
        "automatic_answers_per_hour",
        200,
        "Most automatic replies (is_autoreply) sent in an hour; each address gets one.",
        "emails",
        is_live=True,
    ),
    Setting(
        "mail_repeat_days",
        30,
        "Days in which an email without a Message-Id that arrives again, byte for byte, counts as the same; 0: never.",
        "days",
        most=3660,
    ),
    Setting("mail_add_recipients", False, "Make the recipients of a new ticket's email requesters.", type="yes/no"),
    Setting(
        "mail_exclude_patterns",
        (),
        "Addresses that never become requesters, one per line: * wildcard or /regex/.",
        type="lines",
    ),
    Setting("subject_mask", False, "Put the mask into the subject of outgoing email.", type="yes/no", is_live=True),
    Setting(
        "subject_prefix",
        "",
        "Word before the mask in the subject, as in [Desk #ABC-12345-678].",
        type="text",
        is_live=True,
    ),
    Setting("mail_max_recipients", 100, "Most recipients of one outgoing email.", "addresses", least=1, most=10_000),
    Setting(
        "mail_retry_seconds",
        300,
        "Wait before a temporarily refused email is retried; it doubles with each attempt.",
        "seconds",
        least=1,
    ),
    Setting(
        "mail_retry_max_seconds", 14_400, "Longest wait between two attempts to send an email.", "seconds", least=1
    ),
    Setting(
        "mail_give_up_seconds",
        5 * 86_400,
        "Time after the first refusal during which an email is retried before it is given up.",
        "seconds",
    ),
    Setting(
        "mail_attempts",
        0,
        "Attempts after which an email is given up before mail_give_up_seconds have passed; 0: no limit.",
        "attempts",
        most=1000,
    ),
    Setting(
        "undo_send_seconds",
        10,
        "Time in which sending an email from the console can be cancelled; 0: none.",
        "seconds",
        most=120,
        is_live=True,
    ),
    Setting(
        "notification_mail",
        ("assigned", "mentioned", "failed"),
        "Notifications that workers also get by email until they choose for themselves.",
        type="list",
        choices=("assigned", "mentioned", "message", "note", "reopened", "failed", "due", "other"),
        is_live=True,
    ),
    Setting(
        "notification_mail_seconds",
        60,
        "Time that a worker has to read a notification before it is emailed.",
        "seconds",
        most=86400,
        is_live=True,
    ),
    Setting(
        "answer_by_mail",
        True,
        "Accept a worker's reply to an email about a ticket as their reply or note on it.",
        type="yes/no",
        is_live=True,
    ),
    Setting(
        "answer_address",
        "",
        "Address for replies to such emails, with {token} where it is signed, such as "
        "help+{token}@desk.example; empty: replies go to the sender, signed only in the Message-Id.",
        type="text",
        is_live=True,
    ),
    Setting(
        "push",
        True,
        "Let workers have their notifications shown on their devices, through the push services of the browsers.",
        type="yes/no",
        is_live=True,
    ),
    Setting(
        "ratings",
        "off",
        "Whom to ask for a rating after a ticket was closed: nobody (off), customers of groups that are set to it "
        "(groups), or all customers (all).",
        type="text",
        choices=("off", "groups", "all"),
        is_live=True,
    ),
    Setting(
        "rating_delay_hours",
        24,
        "Time between closing a ticket and asking for a rating; a ticket that was opened meanwhile is not asked about.",
        "hours",
        most=720,
        is_live=True,
    ),
    Setting(
        "rating_interval_days",
        30,
        "Time in which a customer is asked at most once; 0: after each closed ticket.",
        "days",
        most=365,
        is_live=True,
    ),
    Setting("mail_timeout_seconds", 30, "Time that a mail server has for each response.", "seconds", least=1, most=600),
    Setting(
        "mailbox_poll_seconds",
        60,
        "Wait between two checks of a mailbox.",
        "seconds",
        least=1,
        most=86400,
        is_live=True,
    ),
    Setting(
        "mail_autoconfig_url",
        "https://autoconfig.thunderbird.net/v1.1/",
        "Public database that Mail, Connect looks up the servers of a domain in; only the domain is sent; empty: none.",
        type="text",
        is_live=True,
    ),
    Setting("lmtp_host", "", "Address on which mail servers hand over email; empty: none.", type="text", is_live=True),
    Setting("lmtp_port", 8225, "TCP port for that; 0 uses any free port.", "port", most=65535, is_live=True),
    Setting(
        "lmtp_socket", "", "Path of a Unix socket on which mail servers hand over email; empty: none.", type="text"
    ),
    Setting(
        "lmtp_protocol",
        "lmtp",
        "Protocol that mail servers use there.",
        type="text",
        choices=("lmtp", "smtp"),
        is_live=True,
    ),
    Setting("lmtp_domains", (), "Domains whose email is accepted there; empty: any.", type="list", is_live=True),
    Setting(
        "lmtp_connections",
        16,
        "Mail servers that may be connected there at the same time.",
        "connections",
        least=1,
        most=1024,
    ),
    Setting(
        "lmtp_certificate",
        "",
        "PEM file of the certificate and its chain, to offer STARTTLS there; empty: it is not offered.",
        type="text",
    ),
    Setting(
        "lmtp_key", "", "PEM file of its private key; empty: the key is in the file of the certificate.", type="text"
    ),
    Setting("lmtp_requires_tls", False, "Accept email there only after STARTTLS.", type="yes/no"),
    # Requests to other programs
    Setting(
        "outbound_allow",
        (),
        "Addresses, networks and hosts that automations may reach although they are not on the "
        "public internet, such as 10.0.0.0/8 or erp.example.",
        type="list",
    ),
    Setting(
        "outbound_seconds",
        20,
        "Time that a request to another program may take, unless the request sets its own limit.",
        "seconds",
        least=1,
        most=60,
    ),
    Setting(
        "outbound_max_bytes",
        16 * MiB,
        "Largest response of another program, unpacked.",
        "bytes",
        least=KiB,
        most=256 * MiB,
    ),
    Setting(
        "script_dns",
        False,
        "Let scripts look up names in DNS, which reveals to name servers what they look up.",
        type="yes/no",
    ),
    # The writing assistant
    Setting(
        "writing_assistant_seconds",
        60,
        "Time that the provider of the writing assistant has for one text.",
        "seconds",
        least=5,
        most=600,
        is_live=True,
    ),
    Setting(
        "writing_assistant_parallel",
        8,
        "Texts that the writing assistant works on at once, for all workers; two of them for one worker.",
        "texts",
        least=1,
        most=64,
        is_live=True,
    ),
    Setting(
        "writing_assistant_per_minute",
        20,
        "Texts that a worker may request from the writing assistant in a minute; 0: no limit.",
        "texts",
        is_live=True,
    ),
    Setting(
        "writing_assistant_chars",
        24_000,
        "Most characters of a ticket and of sources that are sent to the language model at once, the newest messages "
        "first.",
        "characters",
        least=2000,
        most=400_000,
        is_live=True,
    ),
    Setting(
        "writing_assistant_tokens",
        2048,
        "Most tokens that the language model may use for a reply, its thoughts included.",
        "tokens",
        least=64,
        most=65_536,
        is_live=True,
    ),
    Setting(
        "writing_assistant_log_days",
        30,
        "Time for which the exact text that was sent to the language model is stored, with its results; 0: only sizes "
        "and names are logged.",
        "days",
        most=365,
        is_live=True,
    ),
    # Console
    Setting(
        "component_page",
        False,
        "Show all components of the console at /-/ui, for people who work on it.",
        type="yes/no",
    ),
    # Backups
    Setting(
        "backup_folder",
        "",
        "Folder for scheduled backups, best on another disk; empty: no backups. When set in the "
        "console, it is inside the data folder.",
        type="text",
        is_live=True,
    ),
    Setting(
        "backup_hours",
        24,
        "Time between two backups, counted from backup_at.",
        "hours",
        least=1,
        most=168,
        is_live=True,
    ),
    Setting(
        "backup_at",
        "02:30",
        "Time of day, in UTC, of the backup, or of the first one of a day.",
        type="text",
        is_live=True,
    ),
    Setting(
        "backup_keep_last",
        3,
        "Newest backups to keep, regardless of the other rules.",
        "backups",
        least=1,
        most=1000,
        is_live=True,
    ),
    Setting("backup_keep_days", 7, "Number of days whose last backup is kept.", "days", most=3660, is_live=True),
    Setting("backup_keep_weeks", 4, "Number of weeks whose last backup is kept.", "weeks", most=520, is_live=True),
    Setting("backup_keep_months", 12, "Number of months whose last backup is kept.", "months", most=1200, is_live=True),
    # Looking after the service
    Setting(
        "metrics_allow",
        ("127.0.0.0/8", "::1"),
        "Addresses or networks that may read /metrics, and the numbers of /health.",
        type="list",
    ),
    Setting(
        "disk_free_mib",
        200,
        "Free space on the disk of the data folder below which /health reports a problem.",
        "MiB",
        most=MiB,
    ),
    # Upkeep
    Setting("purge_deleted_days", 30, "Days to keep a deleted ticket; 0: forever.", "days", most=36500),
    Setting(
        "change_log_days",
        7,
        "Days to keep a change in the change log, which programs follow.",
        "days",
        least=1,
        most=3660,
        is_live=True,
    ),
    Setting(
        "automation_log_days",
        14,
        "Days to keep an entry of the automation log.",
        "days",
        least=1,
        most=3660,
        is_live=True,
    ),
)

# Accepted like the others but not listed: not needed to run the service.
HIDDEN: tuple[Setting, ...] = (
    Setting(
        "clock_offset_seconds",
        0,
        "Seconds by which this process's clock is ahead; for tests.",
        "seconds",
        least=-100 * 366 * 86400,
        most=100 * 366 * 86400,
    ),
)

BY_NAME = {setting.name: setting for setting in (*SETTINGS, *HIDDEN)}
LIVE = tuple(setting.name for setting in SETTINGS if setting.is_live)
WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


class Settings:
    """The values as attributes, such as `settings.port`. `replace` returns a changed copy. Frozen, except for values
    from the console."""

    given: tuple[tuple[str, Value], ...]  # the values before base_url is built
    sources: Mapping[str, str]  # sources of values other than defaults: the command line, a variable, a file

    def __init__(self, values: Mapping[str, Value], sources: Mapping[str, str] | None = None) -> None:
        """values: of every setting, already checked. An empty `base_url` is built from host and port. Raises Invalid if
        webhooks or the help center would share the host name of the console."""
        url = values["base_url"] or _local_url(str(values["host"]), values["port"])
        _require_apart({**values, "base_url": url})
        self.__dict__.update({**values, "base_url": url}, given=tuple(values.items()), sources=dict(sources or {}))

    @property
    def local_url(self) -> str:
        """Returns the address by host and port, ignoring base_url."""
        return _local_url(str(self.host), self.port)

    @property
    def webhook_host(self) -> str:
        """Returns the host name for webhooks only, "" if they have none."""
        return _host_of(str(self.webhook_base_url))

    @property
    def portal_host(self) -> str:
        """Returns the host name for the help center only, "" if it has none."""
        return _host_of(str(self.portal_base_url))

    def is_given(self, name: str) -> bool:
        """Returns whether a flag, a variable or the file sets the value, so that the console cannot."""
        return self.sources.get(name, CONSOLE) != CONSOLE

    def lay_over(self, values: Mapping[str, Value]) -> None:
        """Replaces all values from the console; they apply at once in place of the defaults."""
        mine = {name: each for name, each in values.items() if name in LIVE and not self.is_given(name)}
        plain = {name: BY_NAME[name].default for name in LIVE if not self.is_given(name)}
        others = {name: source for name, source in self.sources.items() if source != CONSOLE}
        new = Settings({**dict(self.given), **plain, **mine}, {**others, **dict.fromkeys(mine, CONSOLE)})
        self.__dict__.update(new.__dict__)

    def replace(self, **changes: Value) -> "Settings":
        """Returns a copy with changed values, such as the port that was free. Raises Invalid for an unknown name or a
        value out of range."""
        checked = {name: _typed(_known(name, name), value, name) for name, value in changes.items()}
        return Settings({**dict(self.given), **checked}, self.sources)

    def __getattr__(self, name: str) -> Any:  # only called for missing attributes
        raise AttributeError(f"there is no setting '{name}'{nearest(name, BY_NAME)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen: '{name}' cannot be set; use replace()")

    def __repr__(self) -> str:
        values = ((name, without_password(value) if name == "database" else value) for name, value in self.given)  # type: ignore[arg-type]
        changed = (f"{name}={value!r}" for name, value in values if value != BY_NAME[name].default)
        return f"Settings({', '.join(changed)})"


def load(flags: Mapping[str, str | None], environ: Mapping[str, str], data_folder: Path | None = None) -> Settings:
    """Loads the settings from all four sources.

    flags: {name: text, or None if the flag was not used}; the extra name `config` names another file than
    helpdesk.toml. environ: usually os.environ; only HELPDESK_* are read. data_folder: overrides every other `data`;
    None reads it like the rest. Raises Invalid for an unknown name (with the nearest one), a wrong type, a value out of
    range, or an unreadable file."""
    variables, flagged = _from_environ(environ), _from_flags(flags)
    said = variables | flagged
    config = said.pop("config", None)
    if data_folder is not None:
        said["data"] = data_folder
    defaults = defaults_by_name()
    if config is None:
        from_file = _from_file(Path(str(said.get("data", defaults["data"]))) / FILE_NAME, optional=True)
        if "data" in from_file:
            raise Invalid(
                f"'data' cannot be set in {FILE_NAME}, which lies in that folder; use --data, "
                f"{PREFIX}DATA, or a file named by --config",
                field="data",
            )
    else:
        from_file = _from_file(Path(str(config)), optional=False)
    sources = dict.fromkeys(from_file, FILE_NAME if config is None else str(config))
    sources |= {name: PREFIX + name.upper() for name in variables} | dict.fromkeys(flagged, "command line")
    return Settings(defaults | from_file | said, sources)


def value_of(name: str, text: str) -> Value:
    """Parses the value of a setting from text. Raises Invalid."""
    return _from_text(name, text, name)


def defaults_by_name() -> dict[str, Value]:
    """Returns {name: default} of every setting."""
    return {setting.name: setting.default for setting in BY_NAME.values()}


def help_rows() -> list[dict[str, str]]:
    """Returns a map of texts per setting: name, variable, default, unit, help; without hidden ones. For --help and the
    reference pages."""
    return [
        {
            "name": setting.name,
            "variable": setting.variable,
            "default": display_value(setting.default),
            "unit": setting.unit or " or ".join(setting.choices) or setting.type,
            "help": setting.help,
        }
        for setting in SETTINGS
    ]


def _from_flags(flags: Mapping[str, str | None]) -> dict[str, Value]:
    texts = {name.replace("-", "_"): text for name, text in flags.items() if text is not None}
    return {name: _from_text(name, text, "--" + name.replace("_", "-")) for name, text in texts.items()}


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Returns a warning about HELPDESK_* variables without a setting; a typo would otherwise be ignored silently."""
    names = _variables(environ)
    return [_no_setting(variable, name) for name, variable in names.items() if name not in (*BY_NAME, "config")]


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns {name of a setting: variable}, including unknown settings."""
    ours = (each for each in environ if each.startswith(PREFIX) and each not in (ADDRESS_VARIABLE, TOKEN_VARIABLE))
    return {each.removeprefix(PREFIX).lower(): each for each in ours}


def _from_environ(environ: Mapping[str, str]) -> dict[str, Value]:
    return {name: _from_text(name, environ[variable], variable) for name, variable in _variables(environ).items()}


def _from_file(path: Path, *, optional: bool) -> dict[str, Value]:
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if optional:
            return {}
        raise Invalid(f"there is no settings file '{path}'", field="config") from None
    except OSError as error:
        raise Invalid(f"the settings file '{path}' cannot be read: {error.strerror}", field="config") from None
    except ValueError as error:  # bad TOML, or bytes that are not UTF-8
        raise Invalid(f"the settings file '{path}' is not TOML: {error}", field="config") from None
    return {
        name: _typed(_known(name, f"{path.name}: {name}"), value, f"{path.name}: {name}")
        for name, value in read.items()
    }


def _from_text(name: str, text: str, shown_as: str) -> Value:
    if name == "config":
        return text
    setting = _known(name, shown_as)
    if setting.type == "whole" and re.fullmatch(r"-?[0-9]{1,18}", text.strip()):
        return _typed(setting, int(text), shown_as)
    if setting.type == "yes/no" and text.strip().lower() in WORDS:
        return WORDS[text.strip().lower()]
    if setting.type in ("list", "lines"):
        return _items(text, setting.type)
    return _typed(setting, text, shown_as)


def _known(name: str, shown_as: str) -> Setting:
    if name not in BY_NAME:
        raise Invalid(_no_setting(shown_as, name), field=name)
    return BY_NAME[name]


def _no_setting(shown_as: str, name: str) -> str:
    file, colon, last_part = shown_as.rpartition(": ")
    return f"{file}{colon}there is no setting '{last_part}'{nearest(name, BY_NAME)}"


def _typed(setting: Setting, value: object, shown_as: str) -> Value:
    """Converts `value` to the kind of the setting. Raises Invalid."""
    match setting.type, value:
        case "whole", int() if not isinstance(value, bool):
            if setting.least <= value <= setting.most:
                return value
            raise Invalid(
                f"{shown_as} is {value}; it must be from {setting.least} to {setting.most}"
                f"{' ' + setting.unit if setting.unit else ''}",
                field=setting.name,
            )
        case "yes/no", bool():
            return value
        case "text", str():
            return _checked_text(setting, value, shown_as)
        case "folder", str() | Path() if str(value):
            return Path(value)
        case (("list" | "lines"), str()):
            return tuple(_checked_text(setting, each, shown_as) for each in _items(value, setting.type))
        case (("list" | "lines"), list() | tuple()) if all(isinstance(item, str) for item in value):
            return tuple(_checked_text(setting, each, shown_as) for each in value)
    kinds = {"whole": "a whole number", "yes/no": "yes or no", "text": "a text", "folder": "the path of a folder"}
    raise Invalid(
        f"{shown_as} is {without_password(repr(value))}; it must be {kinds.get(setting.type, 'a list of texts')}",
        field=setting.name,
    )


def _checked_text(setting: Setting, text: str, shown_as: str) -> str:
    if setting.choices and text not in setting.choices:
        raise Invalid(
            f"{shown_as} is '{text}'; it must be one of {', '.join(setting.choices)}{nearest(text, setting.choices)}",
            field=setting.name,
        )
    if setting.name in ("base_url", "webhook_base_url", "portal_base_url") and text:
        return _checked_url(setting.name, text, shown_as)
    if setting.name == "database" and text:
        return _checked_address(text, shown_as)
    if setting.name == "backup_at" and not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", text):
        raise Invalid(f"{shown_as} is '{text}'; it must be a time of the day from 00:00 to 23:59", field="backup_at")
    if setting.name == "answer_address" and text and not re.fullmatch(r"[^\s@,;<>{}]*\{token\}@[^\s@,;<>{}]+", text):
        raise Invalid(f"{shown_as} is '{text}'; it must be like help+{{token}}@desk.example", field="answer_address")
    return text


def is_address(database: str) -> bool:
    """Returns whether a text is meant as the address of a PostgreSQL database."""
    return database.startswith(ADDRESSES)


def _checked_address(text: str, shown_as: str) -> str:
    """Checks an address. Errors show it without its password, and nothing of one that cannot be parsed, since any part
    may be the password."""
    if not ADDRESS.fullmatch(text):
        raise Invalid(
            f"{shown_as} must be like postgresql://user:password@db.example:5432/helpdesk; in a password %40 stands "
            "for @, %2F for /, %3A for :, %23 for #, %3F for ?, %25 for %",
            field="database",
        )
    return text


def without_password(database: str) -> str:
    """Returns the address without secrets, for people and logs.

    >>> without_password("postgresql://desk:s3cret@db.example/desk?sslmode=require&password=s3cret")
    'postgresql://desk:***@db.example/desk?sslmode=require&password=***'
    """
    address = re.sub(r"(?<=://)([^/?#@]*?):[^/?#]*@", r"\1:***@", database)
    return re.sub(r"([?&](?:password|sslpassword)=)[^&]*", r"\1***", address)


def _checked_url(name: str, text: str, shown_as: str) -> str:
    """Returns the address without a slash at its end, so that paths can be appended."""
    if not _is_web_address(text):
        raise Invalid(f"{shown_as} is '{text}'; it must be like https://desk.example", field=name)
    path = urlsplit(text).path.rstrip("/")
    if path and name != "webhook_base_url":
        part = "service" if name == "base_url" else "help center"
        raise Invalid(
            f"{shown_as} is '{text}'; the {part} cannot be served below a path such as {path}. Give it a host name of "
            "its own, such as https://desk.example, and let the proxy pass on all of it",
            field=name,
        )
    return text.rstrip("/")


def _is_web_address(text: str) -> bool:
    parts = urlsplit(text)
    try:
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = not parts.query and not parts.fragment and parts.username is None
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port and is_plain


def _require_apart(values: Mapping[str, Value]) -> None:
    """Raises Invalid if two of the addresses have one host name; another port does not help, since cookies ignore
    ports."""
    hosts = {name: _host_of(str(values[name])) for name in ("base_url", "webhook_base_url", "portal_base_url")}
    _require_other_host("webhook_base_url", "webhooks", hosts, "base_url")
    _require_other_host("portal_base_url", "the help center", hosts, "base_url")
    _require_other_host("portal_base_url", "the help center", hosts, "webhook_base_url")


def _require_other_host(name: str, part: str, hosts: Mapping[str, str], other: str) -> None:
    host = hosts[name]
    if host and host == hosts[other]:
        raise Invalid(
            f"{name} has the host name of {other}, {host}; give {part} another host name, or leave it empty", field=name
        )


def _host_of(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".")


def _local_url(host: str, port: object) -> str:
    reachable = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{reachable}]' if ':' in reachable else reachable}:{port}"


def _items(text: str, kind: Kind) -> tuple[str, ...]:
    separators = r"[\r\n]+" if kind == "lines" else r"[,\r\n]+"
    return tuple(item.strip() for item in re.split(separators, text) if item.strip())


def shown_value(name: str, value: Value) -> str:
    """Returns the value of a setting for people, without secrets."""
    text = display_value(value)
    return without_password(text) if name == "database" else text


def display_value(value: Value) -> str:
    """Formats a value for people; one line for each item of a list."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "\n".join(value)
    return str(value)
