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
from server.outbox.queue_rows import OUTGOING
from server.outbox.sender import TransportChoice, default_sender, open_transport, way_of
from server.record_types.record_type import Record
from server.settings import LOOPBACK
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext
from server.upkeep.finding import Ask, Finding, at_once

MOST_TRANSPORTS, MOST_NAMED = 100, 10  # checked transports, and names in a list


def of_mail(service: Service, now: int, ask: Ask = at_once) -> Iterator[Finding]:
    """Checks the senders of mail, whether each mail server responds, and whether mailboxes could be read."""
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
            lazy_gettext("the mail listener is closed: {error}", error=listener.error),
            N_("fix it in the console"),
        )
    if dead_letters.exist(service.settings):
        yield Finding(
            N_("mail"),
            "warning",
            N_("some email could not be processed and is stored"),
            N_("open Mail, Failed mail in the console"),
        )
    for each in boxes:
        name = f"mailbox {each['id']} ({each['name']})"
        if each["last_error"] and not each["num_fails"]:
            yield Finding(
                N_("mail"),
                "warning",
                lazy_gettext("{name}: {last_error}", name=name, last_error=each["last_error"]),
                N_("check these emails on their server, and move or delete them there"),
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
                N_("correct the mailbox, or start its server"),
            )
        else:
            yield Finding(N_("mail"), "ok", lazy_gettext("{name} had no errors at the last check", name=name))


def _mail(service: Service, tx: Transaction) -> tuple[list[Record], list[Record], list[str]]:
    """Returns the mail transports, the enabled mailboxes, and the groups without a sender."""
    transports, boxes, groups = (
        [kind.record(row) for row in tx.find(kind.table)]
        for kind in map(service.registry.type, ("mail_transport", "mailbox", "group"))
    )
    nameless = [] if default_sender(tx) else [str(each["name"]) for each in groups if not each["reply_address_id"]]
    return transports, [each for each in boxes if each["is_enabled"]], nameless


def _senders(service: Service, *, has_transports: bool) -> Iterator[Finding]:
    """Reports groups and buckets whose mail cannot be replied to, or cannot be sent."""

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
            lazy_gettext("nobody outside can reply to email from {names}", names=", ".join(local[:MOST_NAMED])),
            N_("set the default sender in the console, under Mail, or the reply address of the group"),
        )
    if unsent and has_transports:
        yield Finding(
            N_("mail"),
            "warning",
            lazy_gettext("no mail transport accepts email from {names}", names=", ".join(unsent[:MOST_NAMED])),
            N_("choose a default mail transport in the console, under Mail, or one for the address"),
        )


def is_local(email: str) -> bool:
    """Returns whether an address has a host that only this machine or network knows (RFC 6761, 6.3).

    >>> is_local("support@localhost"), is_local("help@desk.lan.localhost"), is_local("help@desk.example")
    (True, True, False)
    """
    host = email.rpartition("@")[2].rstrip(".").lower()
    return host in LOOPBACK or "." not in host or host.endswith((".localhost", ".localdomain"))


def _reached(service: Service, transport: Record, now: int, ask: Ask) -> Iterator[Finding]:
    """Reports whether a transport can be reached; yields nothing if that is not known."""
    name = f"mail transport {transport['id']} ({transport['name']})"
    choice = TransportChoice(transport["id"], transport["extension_id"], transport["params"])
    error = ask(("transport", _digest(choice)), lambda: _probed(service, choice, now))
    if error:
        yield Finding(N_("mail"), "problem", f"{name}: {error}", N_("correct the transport, or start its server"))
    elif error is not None:
        yield Finding(N_("mail"), "ok", lazy_gettext("{name} can be reached", name=name))


def _held(service: Service, names: dict[int, str]) -> Iterator[Finding]:
    """Reports the transports that cannot send at present, and the number of mails that wait for them."""

    def read(tx: Transaction) -> list[tuple[TransportHold, int]]:
        return [(hold, len(tx.find(OUTGOING, held_by=hold.transport_id))) for hold in list_holds(tx)]

    for hold, count in service.store.read(read):
        yield Finding(
            N_("mail"),
            "problem",
            lazy_gettext(
                "{name} has been failing since {since} UTC, and {count} of its emails are waiting: {error}",
                name=f"mail transport {hold.transport_id} ({names.get(hold.transport_id, '')})",
                since=datetime.fromtimestamp(hold.since, UTC).strftime("%Y-%m-%d %H:%M"),
                count=f"{count:,}",
                error=hold.error,
            ),
            N_("correct the transport, or start its server; waiting email is sent as soon as it works"),
        )


def _digest(choice: TransportChoice) -> str:
    """Returns a digest of a transport's settings, so that results from before a change do not apply. The password
    itself is not stored."""
    return hashlib.sha256(repr(choice).encode("utf-8", "replace")).hexdigest()


def _probed(service: Service, choice: TransportChoice, now: int) -> str:
    try:
        chosen, settings = open_transport(own_context(service, now), choice)
        chosen.probe(settings)
    except HelpdeskError as error:
        return error.message
    return ""
