"""Buckets: the trays of a group for its tickets. Each group has a default one for new tickets."""

from typing import Any

from server.errors import AdminOnly, Conflict, Forbidden
from server.fields import Bit, Id, Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.record_types.shared.sending_addresses import check_sender
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.store.statements import slot
from server.store.tables import Index, table_named
from server.translation import N_, lazy_gettext


class Bucket(RecordType):
    """A tray of a group's tickets, such as Inbox or Refunds, optionally with its own sender and signature."""

    uri = "bucket"
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="any worker", write=("privilege", "group managers"))
    is_administrative = True
    is_settled = True
    fields = {
        "group_id": Id(
            "Group it belongs to.",
            "group",
            required=True,
            filter_note="Group by id.",
            deep="The group matches the query.",
            nested_note="Group.",
        ),
        "is_default": Bit(
            "New tickets of the group go here. Setting it clears it on the group's other bucket.", filter=None
        ),
        "name": Name("Bucket name; also the label.", one_line=True),
        "reply_address_id": Id(
            "Address that replies are sent from; 0 for the group's. Without its own mail transport, "
            "it uses the default one. Managers can choose one that their group already sends from.",
            "address",
            alternatives=("replyto_id",),
            zero_ok=True,
            filter="send.from.id",
            filter_note="Reply address by id.",
            nested="replyto",
            nested_note="Address that replies are sent from, written as `reply_address_id`.",
        ),
        "reply_html_template_id": Id(
            "Default mail template; 0 for the group's.",
            "html_template",
            zero_ok=True,
            filter="template.id",
            filter_note="Mail template by id.",
        ),
        "reply_personal": Text(
            "Sender name on replies; blank for the group's.",
            one_line=True,
            filter="send.as",
            filter_note="Sender name on replies; blank for the group's.",
        ),
        "reply_signature_id": Id(
            "Default signature; 0 for the group's.",
            "email_signature",
            zero_ok=True,
            filter="signature.id",
            filter_note="Signature by id.",
        ),
        "reply_signing_key_id": Id(
            "Signing key; 0 for the group's.",
            "gpg_private_key",
            zero_ok=True,
            filter="signing.key.id",
            filter_note="Signing key by id.",
        ),
        "updated_at": UpdatedAt(),
    }
    indexes = (
        Index(("group_id", "is_default"), "the buckets and the default bucket of a group"),
        Index(("reply_address_id",), "whether a bucket sends from an address", where='"reply_address_id" <> 0'),
    )
    subtotals = Subtotals(
        search=("fieldset", "group.id", "links"),
        aliases={"group": "group.id", "signature": "signature.id", "template": "template.id"},
    )

    def privileged(self, change: Change, writing: Writing) -> None:
        actor, group_id = writing.actor, change.value("group_id")
        if actor.is_admin:
            return
        if change.changes("reply_address_id") or change.changes("group_id"):
            self._require_own_sender(change, writing)
        if not change.changes("group_id"):
            return
        if not writing.tx.first(GROUP_MEMBER, group_id=group_id, worker_id=actor.id, is_manager=1):
            raise Forbidden(
                lazy_gettext("only managers of group {id} and administrators may add a bucket to it", id=group_id)
            )

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.changes("reply_address_id"):
            check_sender(writing, change.new["reply_address_id"])
        default = self._default_of(writing, change.value("group_id"))
        if change.was("is_default") and (not change.value("is_default") or change.changes("group_id")):
            raise Conflict(
                N_("this is the group's default bucket for new tickets; make another bucket the default first"),
                field="is_default",
            )
        if default is None:
            change.new["is_default"] = 1

    def after_write(self, change: Change, writing: Writing) -> None:
        group_id = change.value("group_id")
        if change.value("is_default"):
            self._make_default(writing, group_id, change.id)
        if not change.is_create and change.changes("group_id"):
            writing.touch("ticket", bucket_id=change.id)
            ticket: Any = table_named("ticket")
            writing.tx.run(
                lambda: ticket.update({ticket.c.group_id: slot(0)}).where(ticket.c.bucket_id == slot(1)),
                (group_id, change.id),
            )

    def check_delete(self, record: Record, writing: Writing) -> None:
        # When its group is deleted, the default bucket is deleted too.
        if record["is_default"] and writing.record("group", record["group_id"]) is not None:
            raise Conflict(N_("this is the group's default bucket; make another bucket the default first"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        group = writing.record("group", record["group_id"])
        if group is None:
            return  # the group has moved its tickets before
        writing.touch("ticket", bucket_id=record["id"])
        ticket: Any = table_named("ticket")
        writing.tx.run(
            lambda: ticket.update({ticket.c.bucket_id: slot(0)}).where(ticket.c.bucket_id == slot(1)),
            (group["default_bucket_id"], record["id"]),
        )

    # -- steps ------------------------------------------------------------------------------------------------------

    def _require_own_sender(self, change: Change, writing: Writing) -> None:
        """Limits managers to the addresses that their group sends from already. Raises AdminOnly."""
        address_id, group_id = change.value("reply_address_id"), change.value("group_id")
        group = writing.record("group", group_id)
        is_own = group is not None and group["reply_address_id"] == address_id
        if address_id and not is_own and not writing.find("bucket", group_id=group_id, reply_address_id=address_id):
            raise AdminOnly(
                f"reply_address_id: group {group_id} does not send from address {address_id}; only administrators "
                f"may allow it",
                field="reply_address_id",
            )

    def _default_of(self, writing: Writing, group_id: int) -> Record | None:
        return writing.find("bucket", group_id=group_id, is_default=1)

    def _make_default(self, writing: Writing, group_id: int, id: int) -> None:
        writing.touch(self.uri, group_id=group_id, is_default=1)
        table: Any = self.table.sql
        writing.tx.run(
            lambda: table.update({table.is_default: 0}).where(
                table.group_id == slot(0), table.is_default == 1, table.id != slot(1)
            ),
            (group_id, id),
        )
        writing.set("group", group_id, {"default_bucket_id": id})
