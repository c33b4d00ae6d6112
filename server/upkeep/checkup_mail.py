"""Mail in the check-up: senders, whether mail servers respond, whether mailboxes can be read, and whether mail was
processed."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime

from server.access.service_actor import own_context
from server.context import Service
from server.errors import HelpdeskError
from server.mailroom import mail_listening
from server.mailroom.mailboxes import dead_letters
from server.outbox.holds import TransportHold, list_holds
from server.outbox.rows import OUTGOING
from server.outbox.sender import TransportChoice, default_sender, open_transport, way_of
from server.record_types.base import Record
from server.settings import LOOPBACK
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext
from server.upkeep.finding import Ask, Finding, at_once

MOST_TRANSPORTS, MOST_NAMED = 100, 10  # checked, and listed by name


def of_mail(service: Service, now: int, ask: Ask = at_once) -> Iterator[Finding]:
    """Who mail comes from, whether each mail server answers, and whether mailboxes could be read."""
    transports, boxes, nameless = service.store.read(lambda tx: _mail(service, tx))
    if not transports:
        yield Finding(
            N_("mail"),
            "warning",
            N_("no mail transport is configured: mail is waiting"),
            N_("create one in the console, under Mail; the first becomes the default"),
        )
    for each in transports[:MOST_TRANSPORTS]:
        yield from _reached(service, each, now, ask)
    yield from _held(service, {each["id"]: str(each["name"]) for each in transports})
    if nameless:
        yield Finding(
            N_("mail"),
            "warning",
            lazy_gettext("no sender address is set for {MOST_NAMED}", MOST_NAMED=", ".join(nameless[:MOST_NAMED])),
            N_("set the reply address of each group, or the default sender of the service"),
        )
    yield from _senders(service, has_transports=bool(transports))
    listener = mail_listening.state(service)
    if listener.error:
        yield Finding(
            N_("mail"),
            "problem",
            lazy_gettext("the listener for mail is closed: {error}", error=listener.error),
            N_("correct it in the console"),
        )
    if dead_letters.exist(service.settings):
        yield Finding(
            N_("mail"),
            "warning",
            N_("some mail could not be processed, and is kept"),
            N_("open Mail, Failed mail in the console"),
        )
    for each in boxes:
        name = f"mailbox {each['id']} ({each['name']})"
        if each["last_error"] and not each["num_fails"]:
            yield Finding(
                N_("mail"),
                "warning",
                lazy_gettext("{name}: {last_error}", name=name, last_error=each["last_error"]),
                N_("read those emails on their server, and move or delete them there"),
            )
        elif each["last_error"]:
            times = lazy_gettext("{count} times", count=each["num_fails"])
            often = N_("once") if each["num_fails"] == 1 else times
            yield Finding(
                N_("mail"),
                "problem",
                lazy_gettext(
                    "{name} could not be read, {often}: {last_error}",
                    name=name,
                    often=often,
                    last_error=each["last_error"],
                ),
                N_("correct the mailbox, or start that server"),
            )
        else:
            yield Finding(N_("mail"), "ok", lazy_gettext("{name} had no trouble when it was looked at last", name=name))


def _mail(service: Service, tx: Transaction) -> tuple[list[Record], list[Record], list[str]]:
    """The mail transports, the mailboxes in use, and the groups without a sender."""
    transports, boxes, groups = (
        [kind.record(row) for row in tx.find(kind.table)]
        for kind in map(service.registry.type, ("mail_transport", "mailbox", "group"))
    )
    nameless = [] if default_sender(tx) else [str(each["name"]) for each in groups if not each["reply_address_id"]]
    return transports, [each for each in boxes if each["is_enabled"]], nameless


def _senders(service: Service, *, has_transports: bool) -> Iterator[Finding]:
    """The groups and buckets whose mail cannot be replied to, or cannot leave."""

    def read(tx: Transaction) -> tuple[list[str], list[str]]:
        places = [
            kind.record(row) for kind in map(service.registry.type, ("group", "bucket")) for row in tx.find(kind.table)
        ]
        default, addresses = default_sender(tx), service.registry.type("address")
        local: list[str] = []
        unsent: list[str] = []
        for place in places:
            is_group = "reply_to" in place
            address_id = place["reply_address_id"] or (default if is_group else 0)
            row = tx.get(addresses.table, address_id) if address_id else None
            if row is None:
                continue
            email = addresses.record(row)["email"]
            if is_local(email):
                local.append(f"{place['name']} ({email})")
            if way_of(tx, service.registry, address_id) is None:
                unsent.append(f"{place['name']} ({email})")
        return local, unsent

    local, unsent = service.store.read(read)
    if local:
        yield Finding(
            N_("mail"),
            "warning",
            lazy_gettext("nobody else can reply to what is sent from {names}", names=", ".join(local[:MOST_NAMED])),
            N_("set the default sender in the console, under Mail, or the reply address of the group"),
        )
    if unsent and has_transports:
        yield Finding(
            N_("mail"),
            "warning",
            lazy_gettext("no mail transport takes what is sent from {names}", names=", ".join(unsent[:MOST_NAMED])),
            N_("choose a default mail transport in the console, under Mail, or one for the address"),
        )


def is_local(email: str) -> bool:
    """Whether only this machine, or this network, knows the host of an address (RFC 6761, 6.3).

    >>> is_local("support@localhost"), is_local("help@desk.lan.localhost"), is_local("help@desk.example")
    (True, True, False)
    """
    host = email.rpartition("@")[2].rstrip(".").lower()
    return host in LOOPBACK or "." not in host or host.endswith((".localhost", ".localdomain"))


def _reached(service: Service, found: Record, now: int, ask: Ask) -> Iterator[Finding]:
    """Nothing while that is not known."""
    name = f"mail transport {found['id']} ({found['name']})"
    way = TransportChoice(found["id"], found["extension_id"], found["params"])
    wrong = ask(("transport", _digest(way)), lambda: _probed(service, way, now))
    if wrong:
        yield Finding(N_("mail"), "problem", f"{name}: {wrong}", N_("correct the transport, or start that server"))
    elif wrong is not None:
        yield Finding(N_("mail"), "ok", lazy_gettext("{name} can be reached", name=name))


def _held(service: Service, names: dict[int, str]) -> Iterator[Finding]:
    """The transports that let no mail through at present, and how much waits for them."""

    def read(tx: Transaction) -> list[tuple[TransportHold, int]]:
        return [(hold, len(tx.find(OUTGOING, held_by=hold.transport_id))) for hold in list_holds(tx)]

    for hold, count in service.store.read(read):
        yield Finding(
            N_("mail"),
            "problem",
            lazy_gettext(
                "{name} lets no mail through since {since} UTC, and {count} of it waits: {error}",
                name=f"mail transport {hold.transport_id} ({names.get(hold.transport_id, '')})",
                since=datetime.fromtimestamp(hold.since, UTC).strftime("%Y-%m-%d %H:%M"),
                count=f"{count:,}",
                error=hold.error,
            ),
            N_("correct the transport, or start that server; the mail is sent as soon as one gets through"),
        )


def _digest(way: TransportChoice) -> str:
    """A digest of a server's settings, so that a result from before a change does not count. The password is not stored
    for that."""
    return hashlib.sha256(repr(way).encode("utf-8", "replace")).hexdigest()


def _probed(service: Service, way: TransportChoice, now: int) -> str:
    try:
        chosen, settings = open_transport(own_context(service, now), way)
        chosen.probe(settings)
    except HelpdeskError as error:
        return error.message
    return ""
