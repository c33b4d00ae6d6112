"""Mail transports, such as an SMTP server. The sending itself is in mail/transports/."""

from typing import Any

from server import contexts
from server.errors import Invalid
from server.fields import CreatedAt, Name, Structure, Text, UpdatedAt
from server.mail.transports import TRANSPORTS, transport
from server.outbox import default_transport, holds
from server.record_types.record_type import Access, Change, Event, Record, RecordType, Subtotals, Writing
from server.record_types.shared.dangling_references import redirect
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers

PASSWORD = "password"
SAME_LOGIN = ("host", "port", "username")  # an omitted password is preserved only while these stay the same
ACCOUNT, NO_ACCOUNTS = "connected_account", (None, "", 0, "0")
CLEAR = "none"  # value of `encryption`: switching to it drops the stored password, which would be sent in clear text


class MailTransport(RecordType):
    """A route for outgoing mail. Its connection settings can be written but not read, since they hold a password. The
    first SMTP transport becomes the default of the service, for all senders without their own."""

    uri, context = "mail_transport", contexts.MAIL_TRANSPORT
    aliases = (
        "email transport",
        "email transports",
        "mail transport",
        "mail transports",
        "transport",
        "transports",
    )
    label_names = ("Email Transport", "Email Transports")
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "created": CreatedAt(),
        "extension_id": Text(
            "Kind of transport.", required=True, allowed=TRANSPORTS, form="extension", filter="type", match="exact"
        ),
        "name": Name(),
        "params": Structure(
            "Connection settings: host, port, encryption, username, password or connected_account, timeout, verify. Of "
            "Microsoft Graph: host, username, connected_account, timeout. "
            "Replaces them all, except that the password is kept if it is not sent and server and username are "
            "unchanged. Never returned.",
            origin="ours",
            shown=False,
        ),
        "updated_at": UpdatedAt(),
    }
    subtotals = Subtotals(search=("fieldset", "links", "type"))
    events = (Event("transport.delivery.error", "sending failed"),)

    def prepare(self, change: Change, writing: Writing) -> None:
        if not (change.is_create or "params" in change.new or change.changes("extension_id")):
            return
        params = change.new.get("params", change.old["params"] if change.old else {})
        if not isinstance(params, dict):
            raise Invalid("params: must be a map", field="params")
        if change.old is not None and "params" in change.new:
            params = _with_known_password(params, change.old["params"])
        try:
            transport(change.value("extension_id")).settings_from(params)
        except Invalid as error:
            raise type(error)(f"params: {error.message}", field="params") from error
        change.new["params"] = params

    def after_write(self, change: Change, writing: Writing) -> None:
        default_transport.follow(writing, change)
        if not change.is_create:
            holds.release_transport(writing, change.id)

    def after_delete(self, record: Record, writing: Writing) -> None:
        redirect(writing, "address", "mail_transport_id", record["id"])


def _with_known_password(params: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    is_same = all(str(params.get(name, "")) == str(old.get(name, "")) for name in SAME_LOGIN)
    was_clear, is_clear = (each.get("encryption", CLEAR) == CLEAR for each in (old, params))
    if PASSWORD in params or PASSWORD not in old or not is_same or (is_clear and not was_clear):
        return params
    if params.get(ACCOUNT) not in NO_ACCOUNTS:
        return params  # its token replaces a password
    return params | {PASSWORD: old[PASSWORD]}
