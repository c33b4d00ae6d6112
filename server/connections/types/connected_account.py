"""Connected accounts: credentials for other programs, in the hands of an owner. Not the programs themselves."""

from server.connections import grants
from server.connections.grant_tables import CONNECTED_GRANT, CONNECTION_ATTEMPT
from server.fields import Id, Name, Structure, Text, UpdatedAt
from server.record_types.record_type import Access, Change, Event, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.search.filters import DateFilter
from server.store.tables import Column, Index


class ConnectedAccount(RecordType):
    """An account at another program. Its credentials are secret: they are written and never shown."""

    uri = "connected_account"
    aliases = ("connected account", "connected accounts", "account", "accounts")
    tier = 3
    lookup = "uri"
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    is_administrative = True
    fields = {
        "name": Name(),
        **record_owners.fields(),
        "params": Structure(
            "Credentials; replaces them all. Never returned. API key: `api_key`. Amazon: `access_key_id`, "
            "`secret_access_key`, `session_token`. HTTP Basic: `username`, `password`. OAuth 2: `access_token`, "
            "`refresh_token`, `expires_at`, `token_type`, `scope`, set by the service; the first may be blank. Bearer "
            "token: `token`.",
            16777215,
            default={},
            is_map=True,
            shown=False,
        ),
        "service_id": Id(
            "Service it is an account of; 0 for none.",
            "connected_service",
            zero_ok=True,
            filter_note="Of a service by id.",
            deep="Of a matching service.",
        ),
        "updated_at": UpdatedAt(),
        "uri": Text(
            "A unique short name: lower-case letters, digits, dots, dashes and underscores.",
            128,
            unique=True,
            blank_ok=True,
            pattern="[A-Za-z0-9._-]*",
            match="exact",
        ),
    }
    columns = (Column("created_at"),)  # can be searched and sorted by, and is not shown
    indexes = (
        Index(("service_id",), "the accounts of a service"),
        Index(("owner__context", "owner_id"), "what somebody owns"),
    )
    filters = (DateFilter("created", "When the account was created.", "created_at"),)
    subtotals = Subtotals(search=("fieldset", "links", "owner", "service.id"), virtual=("owner",))

    tables = (CONNECTED_GRANT, CONNECTION_ATTEMPT)
    events = (Event(grants.ENDED, "its provider refuses to renew the token for good"),)

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)
        if change.is_create:
            change.new["created_at"] = writing.now
        if "uri" in change.new:
            change.new["uri"] = change.new["uri"].lower()

    def after_write(self, change: Change, writing: Writing) -> None:
        if not change.is_create and (change.changes("params") or change.changes("service_id")):
            grants.try_again(writing.tx, change.id)

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(CONNECTED_GRANT, account_id=record["id"])
        writing.tx.delete(CONNECTION_ATTEMPT, account_id=record["id"])
