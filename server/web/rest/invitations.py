"""Invitations of new workers, for administrators."""

from typing import Any

from server.records.records import MAX_PAGE
from server.sign_in import invitations
from server.sign_in.invitation_links import OPEN
from server.sign_in.invitations import InvitedPeople, NewInvitation, OpenInvitation
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

LIMIT = 25
OPEN_INVITATION = shapes.keys(
    id=shapes.ID,
    email=shapes.TEXT,
    is_superuser=shapes.FLAG,
    groups=shapes.list_of(shapes.ID),
    language=shapes.TEXT,
    remark=shapes.TEXT,
    inviter_id=shapes.ID,
    inviter=shapes.TEXT,
    created_at=shapes.TIME,
    sent_at=shapes.TIME,
    expires_at=shapes.TIME,
    is_valid=shapes.FLAG,
)
NEW = shapes.keys(id=shapes.ID, email=shapes.TEXT, link=shapes.TEXT)
WAY = Parameter("link", "boolean", "1: return the link instead of sending an email. It is returned only once.")


@endpoint(
    "GET",
    "invitations/search",
    "Open invitations, newest first. For administrators.",
    "read",
    Parameter("limit", "integer", f"Results on a page, 1 to {invitations.MAX_LISTED}; {LIMIT} when absent."),
    Parameter("page", "integer", "The page, counted from 1."),
    response=shapes.page(OPEN_INVITATION),
)
def search(call: EndpointCall) -> dict[str, Any]:
    limit = call.params.integer("limit", LIMIT, 1, invitations.MAX_LISTED)
    page = call.params.integer("page", 1, 1, MAX_PAGE)
    listed, total = invitations.open_invitations(call.ctx, limit, page)
    results = [_shown(each, call.ctx.now) for each in listed]
    return {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}


@endpoint(
    "POST",
    "invitations/create",
    "Invite people to become workers: all of them, or, if an address cannot be invited, nobody. For administrators.",
    "write",
    Parameter(
        "emails",
        "string",
        f"One or many addresses, separated by commas or line ends; at most {invitations.MAX_INVITED}.",
        required=True,
    ),
    Parameter("language", "string", "Locale of the email and of the accounts, such as de_DE; en_US when absent."),
    Parameter("groups[]", "array", "Groups that they join as members."),
    Parameter("is_superuser", "boolean", "1: they become administrators."),
    Parameter("remark", "string", f"A personal line in the email; at most {invitations.MAX_REMARK_CHARS} characters."),
    Parameter("contacts", "boolean", "1: also invite addresses that belong to contacts."),
    WAY,
    response=shapes.keys(results=shapes.list_of(NEW)),
)
def create(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    people = InvitedPeople(
        invitations.addresses_in(params.text("emails", required=True)),
        params.text("language", "") or "en_US",
        tuple(params.id_list("groups")),
        params.flag("is_superuser"),
        params.text("remark", "").strip(),
        params.flag("contacts"),
    )
    created = invitations.invite(call.ctx, people, by_mail=not params.flag("link"))
    return {"results": [_new(each) for each in created]}


@endpoint(
    "POST",
    "invitations/{id}/resend",
    "Send an open invitation again, for the full time; the former link no longer works. For administrators.",
    "write",
    WAY,
    response=NEW,
)
def resend(call: EndpointCall) -> dict[str, Any]:
    return _new(invitations.send_again(call.ctx, call.id, by_mail=not call.params.flag("link")))


@endpoint(
    "DELETE",
    "invitations/{id}",
    "Withdraw an open invitation: its link no longer works. For administrators.",
    "write",
    response=shapes.NOTHING,
)
def withdraw(call: EndpointCall) -> dict[str, Any]:
    invitations.withdraw(call.ctx, call.id)
    return {}


def _new(invitation: NewInvitation) -> dict[str, Any]:
    return {"id": invitation.id, "email": invitation.email, "link": invitation.link}


def _shown(listed: OpenInvitation, now: int) -> dict[str, Any]:
    each = listed.invitation
    is_valid = each.outcome == OPEN and not each.has_expired(now) and not listed.is_void
    return {
        "id": each.id,
        "email": each.email,
        "is_superuser": int(each.is_admin),
        "groups": list(each.group_ids),
        "language": each.language,
        "remark": each.remark,
        "inviter_id": each.invited_by,
        "inviter": each.inviter,
        "created_at": each.created_at,
        "sent_at": each.sent_at,
        "expires_at": each.expires_at,
        "is_valid": int(is_valid),
    }
