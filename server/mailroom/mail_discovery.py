"""Finds the mail servers of an address: by its MX records, by what its domain or a public database publishes, by SRV
records, and by trying the usual names. All within one deadline; only the domain of the address leaves this machine.

Follows RFC 6186, RFC 8314, and the autoconfiguration of Thunderbird."""

import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import field, replace
from typing import TypeVar
from urllib.parse import quote

from server import outbound
from server.context import Service
from server.dataclass import dataclass
from server.errors import Invalid
from server.host_names import ascii_host
from server.mail.addresses import valid
from server.mail.autoconfig import MAX_CONFIG_BYTES, FoundServer, NotAutoconfig, parse_config, usable
from server.outbound import dns
from server.outbound.oauth_providers import GOOGLE, MICROSOFT
from server.translation import N_, Words, _

Result = TypeVar("Result")
SECONDS = 12.0  # limit of the whole search
FIRST_SECONDS = 6.0  # for lookups; then the usual names are tried
TRY_SECONDS = 4.0  # for each usual name
LOOKUPS = 12  # at once
WELL_KNOWN = "https://{domain}/.well-known/autoconfig/mail/config-v1.1.xml"
AUTOCONFIG = "https://autoconfig.{domain}/mail/config-v1.1.xml"
SRV = ("_imaps", "_imap", "_pop3s", "_submissions", "_submission")
# Ends of the names of mail exchangers, by provider.
EXCHANGES = {
    ".google.com": GOOGLE,
    ".googlemail.com": GOOGLE,
    ".mail.protection.outlook.com": MICROSOFT,
    ".mx.microsoft": MICROSOFT,
    ".olc.protection.outlook.com": MICROSOFT,
}
DOMAINS = {"gmail.com": GOOGLE, "googlemail.com": GOOGLE, "outlook.com": MICROSOFT, "hotmail.com": MICROSOFT}


@dataclass(frozen=True, slots=True)
class MailServers:
    """The servers of an address. provider: google, microsoft or "". source: where they were found, "" for nowhere."""

    incoming: FoundServer | None = None
    outgoing: FoundServer | None = None
    provider: str = ""
    source: Words = ""


def _servers_of_provider(imap: str, smtp: str, smtp_port: int, encryption: str) -> MailServers:
    return MailServers(FoundServer("imap-ssl", imap, 993, "tls", ""), FoundServer("", smtp, smtp_port, encryption, ""))


# https://developers.google.com/workspace/gmail/imap/imap-smtp,
# https://support.microsoft.com/office/pop-imap-and-smtp-settings-for-outlook-com-d088b986-291d-42b8-9564-9c414e2aa040
PROVIDERS = {
    GOOGLE: _servers_of_provider("imap.gmail.com", "smtp.gmail.com", 465, "tls"),
    MICROSOFT: _servers_of_provider("outlook.office365.com", "smtp.office365.com", 587, "starttls"),
}


@dataclass(frozen=True)
class Sources:
    """Where to look. records: of a name in DNS, by type. fetch: the content at an address, None for none. database: the
    address of the public database, "" for none. tries: whether a host with a valid certificate responds at a port."""

    records: Callable[[str, str], Sequence[dict[str, object]]]
    fetch: Callable[[str, float], bytes | None]
    database: str
    tries: Callable[[FoundServer, float], bool] = field(default=lambda server, seconds: _responds(server, seconds))


def sources(service: Service) -> Sources:
    """Returns the network, with the settings of the service."""
    bounds = outbound.limits(service.settings)

    def fetch(url: str, seconds: float) -> bytes | None:
        limits = replace(bounds, seconds=min(bounds.seconds, seconds), max_bytes=MAX_CONFIG_BYTES)
        response = outbound.send(outbound.request(url), limits)
        return response.body if response.status == 200 else None

    return Sources(dns.records, fetch, service.settings.mail_autoconfig_url)


def domain_of(email: str) -> str:
    """Returns the domain of an address in ASCII. Raises Invalid."""
    text = email.strip()
    if not valid(text):
        raise Invalid(_("enter an email address, such as support@desk.example"), field="address")
    try:
        return ascii_host(text.rpartition("@")[2].lower())
    except UnicodeError:
        raise Invalid(_("the domain of the address cannot be looked up"), field="address") from None


def find_servers(email: str, where: Sources) -> MailServers:
    """Returns the servers of an address, from the best source that has any. Takes at most SECONDS. Raises
    Invalid unless it is an address."""
    domain, email = domain_of(email), email.strip()
    if domain in DOMAINS:
        return _of_provider(DOMAINS[domain], email, N_("the domain itself"))
    ends_at = time.monotonic() + SECONDS
    pool = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="mail-lookup")
    try:
        return _found(domain, email, where, pool, ends_at)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _found(domain: str, email: str, where: Sources, pool: ThreadPoolExecutor, ends_at: float) -> MailServers:
    exchanges = pool.submit(_exchanges, domain, where)
    own = [pool.submit(_config, url.format(domain=domain), email, where) for url in (AUTOCONFIG, WELL_KNOWN)]
    public = pool.submit(_database, domain, email, where)
    services = {name: pool.submit(_service, f"{name}._tcp.{domain}", where) for name in SRV}
    until = ends_at - SECONDS + FIRST_SECONDS
    names = _result(exchanges, until) or []
    provider = next((each for name in names for end, each in EXCHANGES.items() if f".{name}".endswith(end)), "")
    if provider:
        return _of_provider(provider, email, N_("the mail exchangers of the domain"))
    host = pool.submit(_database_of_exchange, names, domain, email, where)
    for future, source in (
        (own[0], N_("published by the domain")),
        (own[1], N_("published by the domain")),
        (public, N_("the public database of mail servers")),
        (host, N_("the public database of mail servers")),
    ):
        servers = _result(future, until)
        if servers is not None:
            return replace(servers, source=source)
    entries = {name: _result(future, until) for name, future in services.items()}
    servers = _of_services(entries, email)
    return servers or _guess(domain, email, where, pool, ends_at)


def _of_provider(provider: str, email: str, source: Words) -> MailServers:
    servers = PROVIDERS[provider]
    assert servers.incoming is not None and servers.outgoing is not None
    incoming, outgoing = (replace(each, username=email) for each in (servers.incoming, servers.outgoing))
    return MailServers(incoming, outgoing, provider, source)


def _result(future: "Future[Result]", until: float) -> Result | None:
    """The result of a lookup, None if it failed or takes too long."""
    wait([future], max(0.0, until - time.monotonic()))
    return future.result() if future.done() and future.exception() is None else None


def _exchanges(domain: str, where: Sources) -> list[str]:
    entries = sorted(where.records(domain, "mx"), key=lambda each: int(str(each["pri"])))
    return [str(each["target"]).lower() for each in entries]


def _config(url: str, email: str, where: Sources) -> MailServers | None:
    content = where.fetch(url, FIRST_SECONDS)
    if content is None:
        return None
    try:
        incoming, outgoing = (usable(each) for each in parse_config(content, email))
    except NotAutoconfig:
        return None
    return MailServers(incoming, outgoing) if incoming is not None and outgoing is not None else None


def _database(domain: str, email: str, where: Sources) -> MailServers | None:
    if not where.database:
        return None
    return _config(where.database.rstrip("/") + "/" + quote(domain, safe=""), email, where)


def _database_of_exchange(names: Sequence[str], domain: str, email: str, where: Sources) -> MailServers | None:
    """Returns the entry for the domain of the mail exchanger, which often belongs to a hosting company."""
    hosts = {".".join(name.split(".")[-2:]) for name in names[:2]} - {domain, ""}
    return next((found for host in sorted(hosts) if (found := _database(host, email, where)) is not None), None)


def _service(name: str, where: Sources) -> tuple[str, int] | None:
    """The target and port of an SRV record; None for none, also for ".", which means that there is no service."""
    entries = sorted(where.records(name, "srv"), key=lambda each: (int(str(each["pri"])), -int(str(each["weight"]))))
    entries = [each for each in entries if str(each["target"]) and 0 < int(str(each["port"])) < 65_536]
    return (str(entries[0]["target"]).lower(), int(str(entries[0]["port"]))) if entries else None


def _of_services(entries: "dict[str, tuple[str, int] | None]", email: str) -> MailServers | None:
    """The servers of SRV records, those with TLS from the start first (RFC 8314, 5.1)."""
    incoming = outgoing = None
    for name, protocol in (("_imaps", "imap-ssl"), ("_imap", "imap-starttls"), ("_pop3s", "pop3-ssl")):
        entry = entries.get(name)
        if entry is not None and incoming is None:
            encryption = "tls" if protocol.endswith("ssl") else "starttls"
            incoming = FoundServer(protocol, entry[0], entry[1], encryption, email)
    for name, encryption in (("_submissions", "tls"), ("_submission", "starttls")):
        entry = entries.get(name)
        if entry is not None and outgoing is None:
            outgoing = FoundServer("", entry[0], entry[1], encryption, email)
    return MailServers(incoming, outgoing, source=N_("SRV records of the domain")) if incoming and outgoing else None


def _guess(domain: str, email: str, where: Sources, pool: ThreadPoolExecutor, ends_at: float) -> MailServers:
    """The first of the usual names that respond."""
    incoming = [FoundServer("imap-ssl", f"{each}{domain}", 993, "tls", email) for each in ("imap.", "mail.", "")]
    outgoing = [
        FoundServer("", f"{each}{domain}", port, encryption, email)
        for port, encryption in ((465, "tls"), (587, "starttls"))
        for each in ("smtp.", "mail.", "")
    ]
    seconds = min(TRY_SECONDS, max(0.5, ends_at - time.monotonic()))
    tried = {id(each): pool.submit(where.tries, each, seconds) for each in (*incoming, *outgoing)}
    best = [
        next((each for each in servers if _result(tried[id(each)], ends_at)), None) for servers in (incoming, outgoing)
    ]
    if not any(best):
        return MailServers()
    return MailServers(best[0], best[1], source=N_("tried: these names respond"))


def _responds(server: FoundServer, seconds: float) -> bool:
    """Whether a server with a valid certificate responds."""
    context = ssl.create_default_context()
    try:
        if server.encryption == "tls":
            with (
                socket.create_connection((server.host, server.port), seconds) as plain,
                context.wrap_socket(plain, server_hostname=server.host),
            ):
                return True
        with smtplib.SMTP(server.host, server.port, timeout=seconds) as client:
            client.starttls(context=context)
            return True
    except (OSError, smtplib.SMTPException, ValueError):
        return False
