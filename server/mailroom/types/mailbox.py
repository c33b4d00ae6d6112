"""Mailboxes: sources of incoming mail, such as an IMAP account. mailroom/mailboxes fetches the mail."""

from server.errors import Invalid, Required
from server.fields import Bit, Id, Name, Text, Timestamp, Uint, UpdatedAt
from server.mail.inboxes import GRAPH, PROTOCOLS
from server.mailroom.types.mailbox_parts.fetch_columns import (
    MAILBOX_HISTORY,
    MAILBOX_LOOK,
    MAILBOX_MISSED,
    MAILBOX_STATE,
    MAILBOX_TAKEN,
)
from server.record_types.record_type import Access, Change, Event, Record, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.translation import lazy_gettext

SAME_LOGIN = ("host", "port", "username")  # the stored password is sent only to these
LOGIN = (*SAME_LOGIN, "connected_account_id", "folder", "is_enabled", "password", "protocol", "timeout_secs")


class Mailbox(RecordType):
    """An account on a mail server, with its login. The password can be written but not read."""

    uri = "mailbox"
    aliases = ("email mailbox", "email mailboxes", "mailboxes")
    label_names = ("Email Mailbox", "Email Mailboxes")
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "checked_at": Timestamp("Last check.", filter_note="Last check; never if it has not been checked yet."),
        "connected_account_id": Id(
            "Account whose token is used to sign in; 0 for the password. Required for Microsoft Graph.",
            "connected_account",
            zero_ok=True,
            nested=None,
            filter=None,
        ),
        "folder": Text(
            "Folder to fetch from, for IMAP and Microsoft Graph; there a path, such as `inbox/Support`.",
            255,
            default="INBOX",
            exact=True,
            origin="ours",
            filter=None,
        ),
        "host": Text(
            "Name or address of the mail server. Required, except for Microsoft Graph: blank is graph.microsoft.com.",
            128,
            blank_ok=True,
            pattern=r"[A-Za-z0-9._:/\[\]-]*",
            match="exact",
        ),
        "is_enabled": Bit("Whether email is fetched from it.", default=1, filter="enabled"),
        "is_mail_kept": Bit(
            "Whether email stays on the server after it was fetched; 0 deletes it there, for all other programs too; "
            "with Microsoft Graph, 0 moves it to Deleted Items.",
            default=1,
            origin="ours",
            filter=None,
        ),
        "last_error": Text(
            "Why the last check failed, or some email could not be read; otherwise blank. Set by the service.",
            500,
            immutable=True,
            exact=True,
            origin="ours",
            filter=None,
        ),
        "max_msg_size_kb": Uint(
            "Largest email to fetch, in KB; 0 for any. Of a larger one, only the headers are "
            "fetched, and it stays on the server.",
            filter=None,
        ),
        "name": Name(),
        "num_fails": Uint("Failed checks in a row.", filter="fail.count"),
        "password": Text(
            "Password; never returned. It is kept if not sent; with another host, port or username, "
            "or without encryption, it must be sent again.",
            128,
            exact=True,
            shown=False,
        ),
        "port": Uint(
            "Port of the mail server; unused with Microsoft Graph.", default=110, min=1, max=65535, filter=None
        ),
        "protocol": Text("How email is fetched.", 32, default="pop3", allowed=PROTOCOLS, match="exact"),
        "timeout_secs": Uint("Seconds to wait for the server; 0 for the service's own limit.", max=3600, filter=None),
        "updated_at": UpdatedAt(),
        "username": Text(
            "User name; for Microsoft Graph, the address of the mailbox.", 128, required=True, exact=True, filter=None
        ),
    }
    subtotals = Subtotals(search=("fieldset", "host", "links", "protocol", "watchers"))
    events = (Event("mailbox.check.error", "checking failed"),)
    tables = (MAILBOX_STATE, MAILBOX_TAKEN, MAILBOX_LOOK, MAILBOX_HISTORY, MAILBOX_MISSED)

    def prepare(self, change: Change, writing: Writing) -> None:
        if "protocol" in change.new and not change.new["protocol"]:
            raise Invalid(f"protocol: must be one of {', '.join(PROTOCOLS)}", field="protocol")
        is_graph = change.value("protocol") == GRAPH
        _require_server(change, is_graph)
        is_elsewhere = not change.is_create and any(change.changes(name) for name in SAME_LOGIN)
        is_in_the_clear = not change.is_create and "-" in change.was("protocol") and "-" not in change.value("protocol")
        if is_graph:
            change.new["password"] = ""  # a token replaces it
        elif (is_elsewhere or is_in_the_clear) and change.was("password") and "password" not in change.new:
            raise Required(
                "password must be sent again with another host, port or username, and to be sent without encryption",
                field="password",
            )
        if "folder" in change.new and not change.new["folder"]:
            change.new["folder"] = "INBOX"
        if not change.is_create and any(change.changes(name) for name in LOGIN):
            change.new.setdefault("num_fails", 0)  # due at once

    def wakes(self, change: Change) -> bool:
        return bool(change.value("is_enabled"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        for table in self.tables:
            writing.tx.delete(table, mailbox_id=record["id"])


def _require_server(change: Change, is_graph: bool) -> None:
    host, account = change.value("host"), change.value("connected_account_id")
    if is_graph:
        from server.mail.graph_client import service_url  # few services use it

        service_url(host)
        if not account:
            raise Required(
                lazy_gettext("choose a connected account: Microsoft Graph accepts no password"),
                field="connected_account_id",
            )
    elif not host:
        raise Required("host is required", field="host")
    elif "/" in host or "[" in host:
        raise Invalid(
            lazy_gettext("enter the name of the server alone, such as {host}", host="imap.example.com"), field="host"
        )
