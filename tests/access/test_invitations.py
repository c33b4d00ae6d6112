"""Invitations without pages: refused addresses, each moment of a link, and the created worker."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.access import sign_in_providers
from server.context import Context
from server.errors import AdminOnly, Conflict, HelpdeskError, Invalid, NotAuthenticated, NotFound
from server.mail.mail_bytes import OutgoingMail
from server.sign_in import invitations, late_links, sign_in
from server.sign_in.invitation_links import ENDED_SECONDS, VALID_SECONDS
from server.sign_in.invitations import InvitedPeople, NewInvitation
from tests.access.test_sign_in import PASSWORD, PEER
from tests.records.desk import NOW, Desk

NORA = 1  # id of the first worker of a desk
INES = "ines@desk.example"
FIELDS = {"first_name": "Ines", "last_name": "Moor", "timezone": "Europe/Zurich", "password": PASSWORD}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("invitations"))
    assert opened.worker("Nora", is_superuser=1) == NORA
    opened.create("group", name="Support")
    transport = opened.create("mail_transport", name="None", extension_id="core.mail.transport.null")["id"]
    sender = opened.create("address", email="shop@desk.example", mail_transport_id=transport)["id"]
    opened.create("group", name="Shop", reply_address_id=sender)
    opened.create("contact", first_name="Ana", email="ana@customer.example")
    opened.create(
        "mailbox", name="M", host="mail.example", username="fetch@desk.example", password="x", protocol="imap", port=143
    )
    yield opened
    opened.close()


@pytest.fixture
def desk(shared: Desk) -> Iterator[Desk]:
    """The desk; invitations that are still open, and the workers of a test, are removed afterwards."""
    yield shared
    for each in invitations.open_invitations(by(shared), 250, 1)[0]:
        invitations.withdraw(by(shared), each.invitation.id)
    for id in shared.found("worker", f"id:!={NORA}"):
        shared.delete("worker", id)


def by(desk: Desk, worker_id: int = NORA, seconds: int = 0) -> Context:
    ctx = desk.context(worker_id)
    return Context(ctx.service, ctx.actor, NOW + seconds, ctx.tz)


def invited(desk: Desk, email: str = INES, by_mail: bool = False, **more: Any) -> NewInvitation:
    people = InvitedPeople((email,), **{"language": "de_CH", **more})
    [invitation] = invitations.invite(by(desk), people, by_mail=by_mail)
    return invitation


def code(invitation: NewInvitation) -> str:
    return invitation.link.rpartition("/join/")[2]


def refusal(desk: Desk, code: str, seconds: int = 0) -> str:
    with pytest.raises(NotFound) as caught:
        invitations.of_link(desk.service, code, NOW + seconds)
    with pytest.raises(NotFound):
        invitations.accept(desk.service, code, NOW + seconds, FIELDS)
    return caught.value.message


def sent(desk: Desk) -> tuple[int, OutgoingMail]:
    """Returns the newest draft, and its mail with the link filled in."""
    drafts = desk.registry.type("draft")
    row = desk.read(lambda tx: tx.find(drafts.table))[-1]
    draft = drafts.record(row)
    letter = OutgoingMail(
        "a@b", NOW, "", "desk@desk.example", (("", draft["to"]),), draft["name"], draft["params"]["content"], "", ""
    )
    return draft["id"], letter


def mailed_code(desk: Desk, seconds: int = 0) -> str:
    id, letter = sent(desk)
    return late_links.fill_link(by(desk, seconds=seconds), id, letter).text.partition("/join/")[2].split()[0]


def test_accepting_creates_the_worker_with_groups_and_rights(desk: Desk) -> None:
    since = desk.log()[-1]["id"]
    [group] = desk.found("group", "name:Support")
    invitation = invited(desk, group_ids=(group, group), is_admin=True)
    assert not desk.found("worker", "email:(email:ines@desk.example)")
    assert invitations.accept(desk.service, code(invitation), NOW, FIELDS) == INES
    [id] = desk.found("worker", f"email:(email:{INES})")
    worker = desk.record("worker", id, expand="groups")
    assert (worker["first_name"], worker["timezone"], worker["language"]) == ("Ines", "Europe/Zurich", "de_CH")
    assert (worker["is_superuser"], worker["at_mention_name"], list(worker["groups"])) == (1, "ines", [str(group)])
    assert sign_in.by_password(by(desk), INES, PASSWORD, PEER)
    told = [each for each in desk.acts(since) if "Ines" in each or INES in each]
    assert told[0] == f"Nora created a link with which {INES} can accept an invitation"
    assert told[-1] == "Ines Moor accepted the invitation of Nora"
    assert "accepted already" in refusal(desk, code(invitation))


def test_where_only_providers_sign_in_an_invitation_is_accepted_without_a_password(desk: Desk) -> None:
    desk.store.write(lambda tx: sign_in_providers.set_only_way(tx, True))
    try:
        assert invitations.accept(desk.service, code(invited(desk)), NOW, {**FIELDS, "password": ""}) == INES
    finally:
        desk.store.write(lambda tx: sign_in_providers.set_only_way(tx, False))
    [id] = desk.found("worker", f"email:(email:{INES}) isPasswordDisabled:yes")
    assert desk.record("worker", id)["first_name"] == "Ines"
    with pytest.raises(NotAuthenticated):
        sign_in.by_password(by(desk), INES, PASSWORD, PEER)


def test_each_moment_of_a_link_has_its_sentence(desk: Desk) -> None:
    assert "replaced by a newer one" in refusal(desk, "x" * 43)
    invitation = invited(desk)
    assert invitations.of_link(desk.service, code(invitation), NOW + VALID_SECONDS - 1).email == INES
    assert "expired" in refusal(desk, code(invitation), VALID_SECONDS)
    again = invitations.send_again(by(desk, seconds=VALID_SECONDS), invitation.id, by_mail=False)
    assert "replaced" in refusal(desk, code(invitation))
    assert invitations.of_link(desk.service, code(again), NOW + VALID_SECONDS).email == INES
    assert invitations.withdraw(by(desk), invitation.id) == INES
    assert "withdrawn" in refusal(desk, code(again))
    for act in (invitations.withdraw, lambda ctx, id: invitations.send_again(ctx, id, by_mail=True)):
        with pytest.raises(Conflict, match="withdrawn"):
            act(by(desk), invitation.id)
    invitations.forget_over(desk.service, NOW + VALID_SECONDS * 2 + ENDED_SECONDS)
    assert "no longer stored" in refusal(desk, code(again))


def test_a_mailed_link_exists_only_in_the_mail(desk: Desk) -> None:
    first = invited(desk, by_mail=True, remark="We need you.")
    _, letter = sent(desk)
    assert first.link == "" and "one-time-code" in letter.text and "We need you." in letter.text
    shown = mailed_code(desk)
    assert invitations.of_link(desk.service, shown, NOW).email == INES
    invitations.send_again(by(desk), first.id, by_mail=True)
    assert "replaced" in refusal(desk, shown)
    shown = mailed_code(desk, VALID_SECONDS * 2)
    assert invitations.of_link(desk.service, shown, NOW + VALID_SECONDS * 3 - 1).email == INES
    id, letter = sent(desk)
    invitations.withdraw(by(desk), first.id)
    with pytest.raises(Invalid, match="drop the email"):
        late_links.fill_link(by(desk), id, letter)


def test_an_invitation_ends_with_the_rights_of_its_inviter(desk: Desk) -> None:
    milo = desk.worker("Milo", is_superuser=1)
    [invitation] = invitations.invite(by(desk, milo), InvitedPeople((INES,), "en_US"), by_mail=False)
    desk.update("worker", milo, is_superuser=0)
    assert "no longer an administrator" in refusal(desk, code(invitation))
    [listed] = invitations.open_invitations(by(desk), 25, 1)[0]
    assert listed.is_void
    again = invitations.send_again(by(desk), invitation.id, by_mail=False)
    assert invitations.of_link(desk.service, code(again), NOW).inviter == "Nora"


def test_a_worker_created_meanwhile_is_completed_and_never_taken_over(desk: Desk) -> None:
    invitation = invited(desk)
    ines = desk.worker("Somebody", email=INES, is_superuser=1)
    invitations.accept(desk.service, code(invitation), NOW, FIELDS)
    assert (desk.row("worker", ines)["first_name"], desk.row("worker", ines)["is_superuser"]) == ("Ines", 1)
    for changes in ({"password": PASSWORD}, {"is_disabled": 1}):
        other = invited(desk, "kai@desk.example")
        kai = desk.worker("Kai", **changes)
        assert "accepted already" in refusal(desk, code(other))
        invitations.withdraw(by(desk), other.id)
        desk.delete("worker", kai)


@pytest.mark.parametrize(("email", "reason"), [
    ("nora@desk.example", "is an address of Nora, who works here already"),
    ("shop@desk.example", "the helpdesk sends from"),
    ("fetch@desk.example", "a mailbox that the helpdesk fetches"),
    ("ana@customer.example", "the contact Ana"),
    ("twice@desk.example", "has been invited by Nora already"),
    ("nowhere", "'nowhere' is not an email address"),
])  # fmt: skip
def test_an_address_that_cannot_be_invited_has_its_reason(desk: Desk, email: str, reason: str) -> None:
    if email.startswith("twice"):
        invited(desk, email)
    people = InvitedPeople(("free@desk.example", email), "en_US")
    with pytest.raises(Invalid) as caught:
        invitations.invite(by(desk), people, by_mail=True)
    assert reason in str(caught.value.message) and caught.value.details["field"] == "emails"
    assert "free@desk.example" not in {
        each.invitation.email for each in invitations.open_invitations(by(desk), 250, 1)[0]
    }
    if email.startswith("ana"):
        agreed = InvitedPeople((email,), "en_US", may_be_contacts=True)
        assert len(invitations.invite(by(desk), agreed, by_mail=False)) == 1


@pytest.mark.parametrize(("field", "values"), [
    ("emails", {"emails": ()}), ("emails", {"emails": tuple(f"a{n}@x.example" for n in range(101))}),
    ("language", {"language": "Klingon"}), ("groups", {"group_ids": (999,)}), ("remark", {"remark": "x" * 1001}),
])  # fmt: skip
def test_wrong_values_invite_nobody(desk: Desk, field: str, values: dict[str, Any]) -> None:
    people = InvitedPeople(**{"emails": (INES,), "language": "en_US", **values})
    with pytest.raises(Invalid) as caught:
        invitations.invite(by(desk), people, by_mail=True)
    assert caught.value.details["field"] == field and invitations.open_invitations(by(desk), 1, 1)[1] == 0


def test_only_administrators_invite(desk: Desk) -> None:
    milo = desk.worker("Milo")
    id = invited(desk).id
    acts = (
        lambda ctx: invitations.invite(ctx, InvitedPeople(("a@x.example",), "en"), by_mail=False),
        lambda ctx: invitations.problems(ctx, ()),
        lambda ctx: invitations.open_invitations(ctx, 25, 1),
        lambda ctx: invitations.send_again(ctx, id, by_mail=False),
        lambda ctx: invitations.withdraw(ctx, id),
    )
    for act in acts:
        with pytest.raises(AdminOnly):
            act(by(desk, milo))


def test_two_tabs_accept_once(desk: Desk) -> None:
    invitation = invited(desk)
    results = []
    for _ in range(2):
        try:
            results.append(invitations.accept(desk.service, code(invitation), NOW, FIELDS))
        except HelpdeskError as error:
            results.append(error.message)
    assert results[0] == INES and "accepted already" in results[1]
    assert len(desk.found("worker", f"email:(email:{INES})")) == 1
