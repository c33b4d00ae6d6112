"""The provider of the writing assistant. A row apart from records, so that no dictionary, filter, package or export can
reach its key."""

from server import outbound
from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.outbound.allowlist import is_public
from server.outbound.urls import parsed
from server.records.writing import RecordWriter
from server.store.store_local import VersionedLocal
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext
from server.writing_assistant.model_client import ModelProvider

DOING = "set up the writing assistant"  # an action that requires an administrator
MAX_MODEL_CHARS = 200
MAX_KEY_CHARS = 4096
NAME = "writing"  # key of the only row
VERSION = "model_provider"
ENDING = "/chat/completions"

MODEL_PROVIDER = Table(
    "model_provider",
    [Column("name", "TEXT"), Column("base_url", "TEXT"), Column("model", "TEXT"), Column("api_key", "TEXT")],
    key=("name",),
    bumps={VERSION: ()},
)
_STORED: VersionedLocal[ModelProvider] = VersionedLocal()


@dataclass(frozen=True, slots=True)
class ProviderInput:
    """A provider as an administrator enters it. key: blank leaves it unchanged. has_no_key: whether a stored key is
    removed."""

    base_url: str
    model: str
    key: str
    has_no_key: bool = False


def stored(ctx: Context) -> ModelProvider:
    """Returns the provider, with blank fields before one is stored."""
    return ctx.service.store.read(stored_in)


def stored_in(tx: Transaction) -> ModelProvider:
    """Returns the provider in the snapshot of a transaction."""
    return _STORED.read(tx, VERSION, _read)


def entered(ctx: Context, form: ProviderInput) -> ModelProvider:
    """Returns the entered provider, with the stored key if that field is blank. Raises AdminOnly; Invalid with the
    field of a mistake, also if the stored key would be sent to another host."""
    ctx.require_admin(DOING)
    before = stored(ctx)
    base_url = _base_url(ctx, form.base_url)
    model, key = form.model.strip(), form.key.strip()
    if not 0 < len(model) <= MAX_MODEL_CHARS or not model.isprintable():
        raise Invalid(N_("model: enter the name of a model as the provider spells it"), field="model")
    if len(key) > MAX_KEY_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise Invalid(N_("key: this is not an API key; paste it again, without spaces"), field="key")
    if not key and before.key and not form.has_no_key:
        if parsed(base_url).origin != parsed(before.base_url).origin:
            raise Invalid(N_("key: enter the key again; the stored one belongs to another address"), field="key")
        key = before.key
    return ModelProvider(base_url, model, key)


def change(ctx: Context, form: ProviderInput) -> ModelProvider:
    """Stores the provider. Raises as `entered`."""
    new = entered(ctx, form)

    def write(tx: Transaction) -> None:
        if new == stored_in(tx):
            return
        row = {"name": NAME, "base_url": new.base_url, "model": new.model, "api_key": new.key}
        tx.put(MODEL_PROVIDER, row)
        variables = {"model": new.model, "host": new.host}
        RecordWriter(ctx, tx).log("writing_assistant.provider.set", APP, 0, variables)

    ctx.service.store.write(write)
    return new


def remove(ctx: Context) -> None:
    """Removes the provider with its key, which switches the assistant off everywhere. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        before = stored_in(tx)
        if before.is_set:
            tx.delete(MODEL_PROVIDER, name=NAME)
            variables = {"model": before.model, "host": before.host}
            RecordWriter(ctx, tx).log("writing_assistant.provider.removed", APP, 0, variables)

    ctx.service.store.write(write)


def log_test(ctx: Context, provider: ModelProvider, outcome: str) -> None:
    """Logs that a test was sent to a provider. outcome: in a few words."""
    variables = {"model": provider.model, "host": provider.host, "outcome": outcome}
    ctx.service.store.write(
        lambda tx: RecordWriter(ctx, tx).log("writing_assistant.provider.tested", APP, 0, variables)
    )


def _read(tx: Transaction) -> ModelProvider:
    row = tx.first(MODEL_PROVIDER, name=NAME)
    return ModelProvider(*map(str, row[1:])) if row is not None else ModelProvider("", "", "")


def _base_url(ctx: Context, text: str) -> str:
    """Returns the base address without a slash at its end. Raises Invalid."""
    if not text.strip():
        raise Invalid(
            N_("base_url: enter the address of the provider, such as https://api.example/v1"), field="base_url"
        )
    try:
        url = parsed(text.strip().rstrip("/").removesuffix(ENDING).rstrip("/"))
    except Invalid as error:
        raise Invalid(lazy_gettext("base_url: {reason}", reason=error.message), field="base_url") from error
    if url.query:
        raise Invalid(N_("base_url: the address has no query"), field="base_url")
    if url.scheme != "https" and not _is_allowed_private(ctx, url.host):
        raise Invalid(
            lazy_gettext(
                "base_url: begin with https:, or name the host in the setting outbound_allow if {host} is on your own "
                "network",
                host=url.host,
            ),
            field="base_url",
        )
    return str(url).rstrip("/")


def _is_allowed_private(ctx: Context, host: str) -> bool:
    permitted = outbound.limits(ctx.service.settings).permitted
    return not is_public(host) and permitted.lets(host, host)
