"""Mail servers of an address: published settings, and the order of the places where they are looked up."""

import pytest

from server.errors import Invalid, Unavailable
from server.mail.autoconfig import MAX_CONFIG_BYTES, NotAutoconfig, parse_config, usable
from server.mailroom import mail_discovery
from server.mailroom.mail_discovery import Sources, find_servers

EMAIL = "help@desk.example"


def server(kind, host, port, socket, username="%EMAILADDRESS%", ways=("password-cleartext",)):
    tag = "outgoingServer" if kind == "smtp" else "incomingServer"
    logins = "".join(f"<authentication>{way}</authentication>" for way in ways)
    return (
        f'<{tag} type="{kind}"><hostname>{host}</hostname><port>{port}</port><socketType>{socket}</socketType>'
        f"<username>{username}</username>{logins}</{tag}>"
    )


def config(*servers):
    return f'<?xml version="1.0"?><clientConfig version="1.1"><emailProvider id="x">{"".join(servers)}</emailProvider></clientConfig>'.encode()  # noqa: E501


GOOD = config(
    server("pop3", "pop.%EMAILDOMAIN%", 995, "SSL"),
    server("imap", "imap.desk.example", 143, "STARTTLS"),
    server("imap", "IMAP.desk.example", 993, "SSL", "%EMAILLOCALPART%"),
    server("smtp", "smtp.desk.example", 587, "STARTTLS"),
)


def test_published_settings_are_read() -> None:
    incoming, outgoing = parse_config(GOOD, EMAIL)
    assert [(each.protocol, each.host, each.username) for each in incoming] == [
        ("pop3-ssl", "pop.desk.example", EMAIL), ("imap-starttls", "imap.desk.example", EMAIL),
        ("imap-ssl", "imap.desk.example", "help"),
    ]  # fmt: skip
    best = usable(incoming)
    assert best is not None and (best.protocol, best.port) == ("imap-ssl", 993)
    assert [(each.host, each.port, each.encryption) for each in outgoing] == [("smtp.desk.example", 587, "starttls")]


@pytest.mark.parametrize(
    "unusable",
    [
        server("imap", "imap.desk.example", 143, "plain"),
        server("imap", "10.0.0.1", 993, "SSL"),
        server("imap", "[::1]", 993, "SSL"),
        server("imap", "localhost", 993, "SSL"),
        server("imap", "a b.example", 993, "SSL"),
        server("imap", "imap.desk.example", 99999, "SSL"),
        server("imap", "imap.desk.example", 993, "SSL", ways=("GSSAPI",)),
        server("exchange", "imap.desk.example", 993, "SSL"),
        '<incomingServer type="imap"/>',
    ],
)
def test_servers_that_cannot_be_used_are_left_out(unusable) -> None:
    assert parse_config(config(unusable), EMAIL) == ([], [])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html></html>",
        b"not xml",
        b"<clientConfig>" + b"<a>" * 30,
        b'<!DOCTYPE x [<!ENTITY a "b">]><clientConfig>&a;</clientConfig>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><clientConfig/>',
        config(*[server("imap", "imap.desk.example", 993, "SSL")] * 30),
        GOOD + b" " * MAX_CONFIG_BYTES,
        GOOD[:200],
    ],
)
def test_hostile_files_are_refused(content) -> None:
    with pytest.raises(NotAutoconfig):
        parse_config(content, EMAIL)


def mx(*names):
    return [{"pri": place, "target": name} for place, name in enumerate(names)]


def srv(target, port):
    return [{"pri": 0, "weight": 0, "target": target, "port": port}]


OWN, WELL_KNOWN = "https://autoconfig.desk.example/mail/config-v1.1.xml", "https://desk.example/.well-known/autoconfig"
DATABASE = "https://database.example/v1.1"
OF_SRV = {("_imaps._tcp.desk.example", "srv"): srv("mx.desk.example", 993),
          ("_submission._tcp.desk.example", "srv"): srv("mx.desk.example", 587)}  # fmt: skip


@pytest.mark.parametrize(
    ("dns", "files", "responding", "provider", "host", "source"),
    [
        ({("desk.example", "mx"): mx("aspmx.l.google.com")}, {OWN: GOOD}, (), "google", "imap.gmail.com", "exchangers"),
        ({("desk.example", "mx"): mx("desk-example.mail.protection.outlook.com")}, {}, (), "microsoft",
         "outlook.office365.com", "exchangers"),
        ({("desk.example", "mx"): mx("google.com.x.example")}, {OWN: GOOD}, (), "", "imap.desk.example", "published"),
        ({}, {WELL_KNOWN + "/mail/config-v1.1.xml": GOOD}, (), "", "imap.desk.example", "published"),
        (OF_SRV, {f"{DATABASE}/desk.example": GOOD}, (), "", "imap.desk.example", "database"),
        ({("desk.example", "mx"): mx("in1.hoster.example")}, {f"{DATABASE}/hoster.example": GOOD}, (), "",
         "imap.desk.example", "database"),
        (OF_SRV, {OWN: b"<html>", f"{DATABASE}/desk.example": b""}, (), "", "mx.desk.example", "SRV"),
        ({("_imaps._tcp.desk.example", "srv"): srv("", 0)}, {}, ("mail.desk.example", "smtp.desk.example"), "",
         "mail.desk.example", "tried"),
        ({}, {}, (), "", None, ""),
    ],
)  # fmt: skip
def test_the_best_place_decides(dns, files, responding, provider, host, source) -> None:
    asked = []

    def fetch(url, seconds):
        asked.append(url)
        return files.get(url)

    def records(name, type):
        return dns.get((name, type), [])

    found = find_servers(EMAIL, Sources(records, fetch, DATABASE, lambda server, seconds: server.host in responding))
    assert found.provider == provider and source in str(found.source)
    assert (found.incoming.host if found.incoming else None) == host
    assert not any("help" in url for url in asked), "only the domain leaves this machine"


def test_places_that_fail_or_hang_do_not_stop_the_others(monkeypatch) -> None:
    import threading

    ended = threading.Event()
    monkeypatch.setattr(mail_discovery, "FIRST_SECONDS", 0.2)

    def records(name, type):
        if type == "mx":
            raise Unavailable("no name server responded")
        return OF_SRV.get((name, type), [])

    def fetch(url, seconds):
        ended.wait(30)
        raise Invalid("x")

    found = find_servers(EMAIL, Sources(records, fetch, DATABASE, lambda server, seconds: False))
    ended.set()
    assert found.incoming is not None and found.incoming.host == "mx.desk.example"


@pytest.mark.parametrize("text", ["", "desk.example", "a@b@c", "x" * 300 + "@desk.example", "a@\x00"])
def test_what_is_no_address_is_refused(text) -> None:
    with pytest.raises(Invalid, match="enter an email address"):
        find_servers(text, Sources(lambda name, type: [], lambda url, seconds: None, ""))


def test_without_a_database_nothing_is_sent_to_one() -> None:
    asked = []

    def fetch(url, seconds):
        asked.append(url)

    find_servers(EMAIL, Sources(lambda name, type: [], fetch, "", lambda server, seconds: False))
    assert all("desk.example/" in url for url in asked) and len(asked) == 2
