"""Notifies administrators before the client secret of a connected service expires. Providers send no reminder, and
afterwards no account of the service can renew its token."""

from datetime import UTC, date, datetime

from server.access.service_actor import own_context
from server.connections.grant_tables import SECRET_NOTICE
from server.context import Service
from server.dataclass import dataclass
from server.jobs.scheduler import periodic
from server.people.administrators import administrators
from server.record_types.record_type import Record
from server.record_types.registry import Registry
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_

POINT = "connected_service.secret.expires"
NOTICE_DAYS = (30, 7, 1)  # days before the secret expires


@dataclass(frozen=True, slots=True)
class ExpiringSecret:
    """The client secret of a service. days: until it expires, negative afterwards."""

    service_id: int
    name: str
    expires: date
    days: int


def list_secrets(tx: Transaction, registry: Registry, now: int) -> list[ExpiringSecret]:
    """Returns the client secrets whose end is known."""
    record_type, today = registry.type("connected_service"), datetime.fromtimestamp(now, UTC).date()
    services = [record_type.record(row) for row in tx.find(record_type.table)]
    dated = ((each, _expiry(each)) for each in services)
    return [
        ExpiringSecret(each["id"], str(each["name"]), expires, (expires - today).days)
        for each, expires in dated
        if expires is not None
    ]


@periodic(N_("client secrets that expire"), N_("Notifies administrators 30, 7 and 1 days before."))
def notify_of_expiry(service: Service, now: int) -> None:
    """Notifies once at each of NOTICE_DAYS."""

    def is_any_due(tx: Transaction) -> bool:
        return any(_is_due(tx, each) for each in list_secrets(tx, service.registry, now))

    if service.store.read(is_any_due):
        ctx = own_context(service, now)
        service.store.write(lambda tx: _notify(RecordWriter(ctx, tx)))


def _is_due(tx: Transaction, secret: ExpiringSecret) -> bool:
    """Whether a notice is due that was not sent yet for this date."""
    step = _step(secret)
    row = tx.first(SECRET_NOTICE, service_id=secret.service_id)
    is_known = row is not None and row[SECRET_NOTICE.position["expires"]] == secret.expires.isoformat()
    return step is not None and (not is_known or row is None or row[SECRET_NOTICE.position["days"]] > step)


def _step(secret: ExpiringSecret) -> int | None:
    """The smallest number of NOTICE_DAYS that has been reached."""
    return min((days for days in NOTICE_DAYS if secret.days <= days), default=None)


def _notify(writing: RecordWriter) -> None:
    tx, registry = writing.tx, writing.registry
    context = registry.type("connected_service").context
    for each in list_secrets(tx, registry, writing.now):
        if not _is_due(tx, each):
            continue
        tx.put(
            SECRET_NOTICE,
            {"service_id": each.service_id, "expires": each.expires.isoformat(), "days": _step(each)},
        )
        texts = {"target": each.name, "date": each.expires.isoformat()}
        writing.log(POINT, context, each.service_id, texts, also_notify=administrators(tx))


def _expiry(service: Record) -> date | None:
    params = service["params"] if isinstance(service["params"], dict) else {}
    text = params.get("client_secret_expires")
    try:
        return date.fromisoformat(text) if isinstance(text, str) and text else None
    except ValueError:
        return None
