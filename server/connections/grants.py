"""The state of grants: the person who consented, the last renewal of the token, and the end of the access.

An ended grant is not tried again until somebody connects the account anew or changes its credentials."""

from server.connections.grant_tables import CONNECTED_GRANT
from server.context import Context
from server.dataclass import dataclass
from server.people.administrators import administrators
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

ENDED = "connected_account.ended"
MAX_ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ConnectedGrant:
    """The grant of an account, with the values of its row. Times in Unix seconds."""

    account_id: int
    email: str = ""
    purpose: str = ""
    connected_at: int = 0
    renewed_at: int = 0
    ended_at: int = 0
    error: str = ""


def find_grant(tx: Transaction, account_id: int) -> ConnectedGrant | None:
    """Returns the grant of an account, None if its token was never fetched."""
    row = tx.first(CONNECTED_GRANT, account_id=account_id)
    return ConnectedGrant(*row) if row is not None else None


def list_grants(ctx: Context) -> dict[int, ConnectedGrant]:
    """Returns {id of an account: its grant}, of the accounts that the caller may read."""

    def read(tx: Transaction) -> dict[int, ConnectedGrant]:
        reading = RecordReader(ctx, tx)
        grants = (ConnectedGrant(*row) for row in tx.find(CONNECTED_GRANT))
        return {each.account_id: each for each in grants if reading.may_read("connected_account", each.account_id)}

    return ctx.service.store.read(read)


def record_connection(tx: Transaction, account_id: int, email: str, purpose: str, now: int) -> None:
    """Records the consent of a person."""
    row = ConnectedGrant(account_id, email, purpose, connected_at=now, renewed_at=now)
    tx.put(CONNECTED_GRANT, _values(row))


def record_renewal(tx: Transaction, account_id: int, now: int) -> None:
    """Records that the token was renewed."""
    old = find_grant(tx, account_id) or ConnectedGrant(account_id)
    tx.put(CONNECTED_GRANT, _values(old) | {"renewed_at": now, "ended_at": 0, "error": ""})


def record_end(writing: RecordWriter, account_id: int, error: str) -> None:
    """Records that the provider refuses to renew the token for good, and notifies administrators, once."""
    account, old = writing.record("connected_account", account_id), find_grant(writing.tx, account_id)
    if account is None or (old is not None and old.ended_at):
        return
    error = error[:MAX_ERROR_CHARACTERS]
    values = _values(old or ConnectedGrant(account_id)) | {"ended_at": writing.now, "error": error}
    writing.tx.put(CONNECTED_GRANT, values)
    texts = {
        "target": account["name"],
        "service": writing.label("connected_service", account["service_id"]),
        "error": error,
    }
    context = writing.registry.type("connected_account").context
    writing.log(ENDED, context, account_id, texts, also_notify=administrators(writing.tx))


def try_again(tx: Transaction, account_id: int) -> None:
    """Forgets that a grant has ended, after its credentials were changed."""
    old = find_grant(tx, account_id)
    if old is not None and old.ended_at:
        tx.put(CONNECTED_GRANT, _values(old) | {"ended_at": 0, "error": ""})


def _values(grant: ConnectedGrant) -> dict[str, object]:
    return {name: getattr(grant, name) for name in CONNECTED_GRANT.names}
