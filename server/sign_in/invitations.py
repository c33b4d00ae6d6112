"""Invitations of people who do not work here yet: mail or show a one-time link, list, send again, withdraw, accept."""

from collections.abc import Iterable, Sequence
from typing import Any

from server.access import actor as actors
from server.access import sign_in_providers
from server.access.actor import lent
from server.access.logins import WORKER_LOGIN
from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, Mistakes, NotFound
from server.fields import languages
from server.jobs.scheduler import periodic
from server.mail import addresses
from server.people import identity, login_changes, nicknames, rosters
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records import catalogs
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.sign_in import invitation_links, late_links, password_change
from server.sign_in.invitation_links import ACCEPTED, OPEN, WITHDRAWN, Invitation
from server.sign_in.password_change import ServiceMail
from server.sign_in.sign_in import WORKER
from server.store.transaction import Transaction
from server.translation import N_, _

DOING = "invite workers"  # an action that requires an administrator
MAX_INVITED = 100  # addresses in one call
MAX_LISTED_TEXT = 40_000  # characters of a pasted list of addresses
MAX_REMARK_CHARS = 1000  # length of the personal line in the email
MAX_LISTED = 250  # invitations on one page
SUBJECT = N_("Your invitation to the helpdesk")
TEXT = N_("""\
{actor} invites you to work at the helpdesk, with the address {email}.

Open this address to accept. It works once, for {days} days:

{link}

If you do not know about this, ignore this email.
""")
TEXT_WITH_REMARK = N_("""\
{actor} invites you to work at the helpdesk, with the address {email}:

{remark}

Open this address to accept. It works once, for {days} days:

{link}

If you do not know about this, ignore this email.
""")
GONE = N_("this invitation was replaced by a newer one or is no longer stored; ask for a new one")
USED = N_("this invitation was accepted already; sign in with your email address and password")
ENDED = N_("this invitation was withdrawn; ask the person who invited you")
EXPIRED = N_("this invitation has expired; ask for a new one")
VOID = N_("the person who invited you is no longer an administrator; ask for a new invitation")


@dataclass(frozen=True, slots=True)
class InvitedPeople:
    """The people of one call, with their future groups and rights. remark: a personal line in the mail.
    may_be_contacts: whether addresses of contacts are invited, too."""

    emails: tuple[str, ...]
    language: str
    group_ids: tuple[int, ...] = ()
    is_admin: bool = False
    remark: str = ""
    may_be_contacts: bool = False


@dataclass(frozen=True, slots=True)
class AddressProblem:
    """Why an address cannot be invited. is_contact: it can, if the inviter agrees."""

    email: str
    reason: str
    is_contact: bool = False


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """A new invitation. link: "" if it is mailed."""

    id: int
    email: str
    link: str


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """An open invitation with the names of its groups. is_void: whether its inviter may no longer invite."""

    invitation: Invitation
    groups: tuple[str, ...]
    is_void: bool


def addresses_in(text: str) -> tuple[str, ...]:
    """Returns the addresses of a pasted list, in lower case and each once: separated by lines, commas, semicolons or
    white space, with or without names. Parts that are not addresses are returned as they are.

    >>> addresses_in("Ana <ana@x.example>, bo@x.example; bo@x.example\\ncy@x.example dee")
    ('ana@x.example', 'bo@x.example', 'cy@x.example', 'dee')
    """
    parts: list[str] = []
    for part in text[:MAX_LISTED_TEXT].replace(";", "\n").replace(",", "\n").splitlines():
        one = addresses.the_one(part)
        parts += [one] if one is not None else part.split()
    return tuple(dict.fromkeys(addresses.the_one(part) or part for part in parts))


def problems(ctx: Context, emails: Iterable[str]) -> list[AddressProblem]:
    """Returns the addresses that cannot be invited, each with the reason. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _problems(RecordReader(ctx, tx), emails))


def invite(ctx: Context, people: InvitedPeople, *, by_mail: bool) -> list[NewInvitation]:
    """Invites these people together. Raises AdminOnly, and Invalid with the field `emails`, `language`,
    `groups` or `remark`; for several addresses at once."""
    ctx.require_admin(DOING)
    _check(people)
    letter = _letter(ctx.service, people.language, people.remark)

    def write(tx: Transaction) -> list[NewInvitation]:
        writing = RecordWriter(ctx, tx)
        _require_groups(writing, people.group_ids)
        mistakes = Mistakes()
        for problem in _problems(writing, people.emails):
            if not (problem.is_contact and people.may_be_contacts):
                mistakes.add(Invalid(problem.reason, field="emails"))
        mistakes.require_none()
        return [_invite(writing, people, email, letter if by_mail else None) for email in people.emails]

    return ctx.service.store.write(write)


def open_invitations(ctx: Context, limit: int, page: int) -> tuple[list[OpenInvitation], int]:
    """Returns a page of the invitations that are neither accepted nor withdrawn, and the number of all. page: from 1.
    Raises AdminOnly."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> tuple[list[OpenInvitation], int]:
        reading = RecordReader(ctx, tx)
        invitations, total = invitation_links.open_ones(tx, limit, (page - 1) * limit)
        ids = {id for each in invitations for id in each.group_ids}
        groups = reading.registry.type("group")
        names = {row[0]: groups.record(row)["name"] for row in tx.get_many(groups.table, ids)}
        listed = [
            OpenInvitation(each, tuple(names[id] for id in each.group_ids if id in names), not _may_invite(tx, each))
            for each in invitations
        ]
        return listed, total

    return ctx.service.store.read(read)


def send_again(ctx: Context, id: int, *, by_mail: bool) -> NewInvitation:
    """Extends an open invitation and mails or returns a new link; the former link no longer works. The caller becomes
    the inviter. Raises AdminOnly, NotFound, Conflict."""
    ctx.require_admin(DOING)
    invitation = ctx.service.store.read(lambda tx: _open(tx, id))
    letter = _letter(ctx.service, invitation.language, invitation.remark)

    def write(tx: Transaction) -> NewInvitation:
        writing, invitation = RecordWriter(ctx, tx), _open(tx, id)
        invitation_links.change_inviter(tx, id, ctx.actor.worker_id, ctx.actor.name)
        if not by_mail:
            writing.log("worker.invitation.link", "", 0, {"target": invitation.email})
            return NewInvitation(id, invitation.email, _link(writing, id))
        writing.log("worker.invited.again", "", 0, {"target": invitation.email})
        invitation_links.renew(tx, id, ctx.now)
        _mail(writing, invitation, letter)
        return NewInvitation(id, invitation.email, "")

    return ctx.service.store.write(write)


def withdraw(ctx: Context, id: int) -> str:
    """Withdraws an open invitation; returns its address. Raises AdminOnly, NotFound, Conflict."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> str:
        invitation = _open(tx, id)
        invitation_links.end(tx, id, WITHDRAWN, ctx.now)
        RecordWriter(ctx, tx).log("worker.invitation.withdrawn", "", 0, {"target": invitation.email})
        return invitation.email

    return ctx.service.store.write(write)


def of_link(service: Service, code: str, now: int) -> Invitation:
    """Returns the invitation that a link accepts. Raises NotFound with the reason if the link does not work."""
    ctx = own_context(service, now)
    return service.store.read(lambda tx: _acceptable(RecordReader(ctx, tx), code))


def accept(service: Service, code: str, now: int, fields: dict[str, Any]) -> str:
    """Creates the worker of an invitation; returns the address that they sign in with. Takes as long as hashing a
    password. fields: first_name, last_name, timezone, password; the last is ignored where workers sign in with
    providers only.

    Raises NotFound if the link does not work, Invalid with the field of a mistake."""
    if service.store.read(sign_in_providers.is_only_way):
        fields = {**fields, "password": "", "is_password_disabled": "1"}
    elif not fields["password"]:
        raise Invalid(_("choose a password"), field="password")
    record_type = service.registry.type(WORKER)
    prepared = record_type.before(fields)
    ctx = own_context(service, now)

    def write(tx: Transaction) -> str:
        reading = RecordReader(ctx, tx)
        invitation = _acceptable(reading, code)
        inviter = actors.worker(tx, invitation.invited_by) if invitation.invited_by else None
        writing = RecordWriter(ctx.as_actor(lent(inviter or ctx.actor), ctx.tz), tx)
        known = {"language": invitation.language} | ({"is_superuser": "1"} if invitation.is_admin else {})
        worker = _worker_with(reading, invitation.email)
        if worker is None:
            nickname = nicknames.free(tx, fields["first_name"], fields["last_name"])
            values = {"email": invitation.email, "at_mention_name": nickname, **known, **prepared}
            worker_id = writing.create_sent(record_type, values)
        else:
            worker_id = worker["id"]
            writing.update_sent(record_type, worker_id, {**known, **prepared})
        _join(writing, worker_id, invitation.group_ids)
        invitation_links.end(tx, invitation.id, ACCEPTED, now)
        own = actors.worker(tx, worker_id) or ctx.actor
        details = {"inviter": invitation.inviter}
        RecordWriter(ctx.as_actor(own, ctx.tz), tx).log("worker.joined", WORKER, worker_id, details)
        return invitation.email

    return service.store.write(write)


@periodic(N_("invitations that are over"), N_("Removes them a month after they ended or expired."), deletes=True)
def forget_over(service: Service, now: int) -> None:
    """Removes old invitations."""
    if service.store.read(lambda tx: invitation_links.has_over(tx, now)):
        service.store.write(lambda tx: invitation_links.forget_over(tx, now))


def _check(people: InvitedPeople) -> None:
    """Raises Invalid for values that no record is needed to check."""
    if not people.emails:
        raise Invalid(_("enter at least one email address"), field="emails")
    if len(people.emails) > MAX_INVITED:
        raise Invalid(_("at most {count} addresses at once", count=MAX_INVITED), field="emails")
    if not languages.is_known(people.language):
        raise Invalid(
            _("'{value}' is not a known language, such as en_US or de", value=people.language[:50]), field="language"
        )
    if len(people.remark) > MAX_REMARK_CHARS:
        raise Invalid(_("at most {count} characters", count=MAX_REMARK_CHARS), field="remark")


def _require_groups(reading: RecordReader, ids: Sequence[int]) -> None:
    existing = {row[0] for row in reading.tx.get_many(reading.registry.type("group").table, set(ids))}
    if not existing.issuperset(ids):
        raise Invalid(_("there is no group {id}", id=min({*ids} - existing)), field="groups")


def _problems(reading: RecordReader, emails: Iterable[str]) -> list[AddressProblem]:
    return [problem for email in emails if (problem := _problem(reading, email)) is not None]


def _problem(reading: RecordReader, email: str) -> AddressProblem | None:
    """Returns why an address cannot be invited, None if it can."""
    if addresses.the_one(email) != email:
        return AddressProblem(email, _("'{email}' is not an email address", email=email[:80]))
    invitation = invitation_links.open_of(reading.tx, email)
    if invitation is not None:
        sentence = _(
            "{email} has been invited by {name} already; send that invitation again, or withdraw it",
            email=email,
            name=invitation.inviter,
        )
        return AddressProblem(email, sentence)
    address = reading.find("address", email=email)
    worker_id = login_changes.holder(reading.tx, email) or (address["worker_id"] if address is not None else 0)
    if worker_id:
        name = reading.label(WORKER, worker_id)
        return AddressProblem(
            email, _("{email} is an address of {name}, who works here already", email=email, name=name)
        )
    if address is not None and identity.is_sender(reading, address):
        return AddressProblem(email, _("{email} is an address that the helpdesk sends from", email=email))
    if reading.find("mailbox", username=email) is not None:
        return AddressProblem(email, _("{email} is a mailbox that the helpdesk fetches email from", email=email))
    if address is not None and address["contact_id"]:
        name = reading.label("contact", address["contact_id"])
        sentence = _(
            "{email} is the address of the contact {name}; their email would count as a worker's",
            email=email,
            name=name,
        )
        return AddressProblem(email, sentence, is_contact=True)
    return None


def _invite(writing: RecordWriter, people: InvitedPeople, email: str, letter: ServiceMail | None) -> NewInvitation:
    """Stores an invitation and mails it, or returns its link without a letter."""
    now, actor = writing.now, writing.actor
    invitation = invitation_links.add(
        writing.tx,
        Invitation(
            id=0,
            email=email,
            is_admin=people.is_admin,
            group_ids=tuple(dict.fromkeys(people.group_ids)),
            language=people.language,
            remark=people.remark,
            invited_by=actor.worker_id,
            inviter=actor.name,
            created_at=now,
            sent_at=now,
            expires_at=now + invitation_links.VALID_SECONDS,
            outcome=OPEN,
            ended_at=0,
        ),
    )
    if letter is None:
        writing.log("worker.invitation.link", "", 0, {"target": email})
        return NewInvitation(invitation.id, email, _link(writing, invitation.id))
    writing.log("worker.invited", "", 0, {"target": email})
    _mail(writing, invitation, letter)
    return NewInvitation(invitation.id, email, "")


def _letter(service: Service, language: str, remark: str) -> ServiceMail:
    """Returns the letter in a language. Call it before a write, since it may read a file."""
    return ServiceMail(SUBJECT, TEXT_WITH_REMARK if remark else TEXT, catalogs.languages(service).catalog_for(language))


def _mail(writing: RecordWriter, invitation: Invitation, letter: ServiceMail) -> None:
    values = {
        "actor": writing.actor.name,
        "email": invitation.email,
        "remark": invitation.remark,
        "days": invitation_links.VALID_SECONDS // 86400,
        "link": late_links.address(writing.ctx, late_links.INVITATION),
    }
    draft_id = password_change.send_to(writing.as_service(), invitation.email, letter, values)
    late_links.register_invitation(writing.tx, draft_id, invitation.id)


def _link(writing: RecordWriter, id: int) -> str:
    return f"{writing.ctx.service.base_url}/join/{invitation_links.new_code(writing.tx, id, writing.now)}"


def _open(tx: Transaction, id: int) -> Invitation:
    """Returns an open invitation. Raises NotFound, and Conflict if it has ended."""
    invitation = invitation_links.get(tx, id)
    if invitation is None:
        raise NotFound(_("there is no invitation {id}", id=id))
    if invitation.outcome == ACCEPTED:
        raise Conflict(_("{email} has accepted the invitation", email=invitation.email))
    if invitation.outcome == WITHDRAWN:
        raise Conflict(_("the invitation of {email} was withdrawn", email=invitation.email))
    return invitation


def _acceptable(reading: RecordReader, code: str) -> Invitation:
    """Returns the invitation of a link that works. Raises NotFound with the reason."""
    invitation = invitation_links.of_code(reading.tx, code)
    if invitation is None:
        raise NotFound(GONE)
    if invitation.outcome == ACCEPTED:
        raise NotFound(USED)
    if invitation.outcome == WITHDRAWN:
        raise NotFound(ENDED)
    if invitation.has_expired(reading.now):
        raise NotFound(EXPIRED)
    if not _may_invite(reading.tx, invitation):
        raise NotFound(VOID)
    worker = _worker_with(reading, invitation.email)
    if worker is not None and _has_begun(reading.tx, worker):
        raise NotFound(USED)
    return invitation


def _may_invite(tx: Transaction, invitation: Invitation) -> bool:
    """Returns whether the inviter is still an administrator; a former one can bring nobody in."""
    if not invitation.invited_by:
        return True
    inviter = actors.worker(tx, invitation.invited_by)
    return inviter is not None and inviter.is_admin


def _worker_with(reading: RecordReader, email: str) -> Record | None:
    """Returns the worker who was created with this main address since the invitation."""
    address = reading.find("address", email=email)
    return reading.find(WORKER, email_id=address["id"]) if address is not None else None


def _has_begun(tx: Transaction, worker: Record) -> bool:
    """Whether a worker may no longer be changed by an invitation: they have a password, or were disabled."""
    is_closed = worker["is_disabled"] or worker["is_password_disabled"]
    return bool(is_closed) or tx.first(WORKER_LOGIN, worker_id=worker["id"]) is not None


def _join(writing: RecordWriter, worker_id: int, group_ids: Iterable[int]) -> None:
    """Makes a worker a member of those groups that still exist and that they do not belong to."""
    existing = {row[0] for row in writing.tx.get_many(writing.registry.type("group").table, set(group_ids))}
    own = {row[GROUP_MEMBER.position["group_id"]] for row in writing.tx.find(GROUP_MEMBER, worker_id=worker_id)}
    rosters.change_rosters(writing, {id: {worker_id: rosters.MEMBER} for id in sorted(existing - own)})
