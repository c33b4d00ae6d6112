"""The address of a service, the sender of its mail, and the format of ticket numbers: one step of the setup."""

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.first_start import setup
from server.mailroom import mail_setup
from server.outbox.sender import default_sender
from server.records import live_settings
from server.records.reading import RecordReader
from server.store.transaction import Transaction

URL, MASK = "base_url", "mail_mask_pattern"


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The address of the service. is_chosen: whether base_url was set rather than derived. sender: the default sender,
    "" without one."""

    base_url: str
    is_chosen: bool
    sender: str
    mask_pattern: str


def current_address(ctx: Context) -> ServiceAddress:
    """Returns the present values."""
    settings = ctx.service.settings

    def read(tx: Transaction) -> str:
        address = RecordReader(ctx, tx).record("address", default_sender(tx))
        return "" if address is None else str(address["email"])

    sender = ctx.service.store.read(read)
    return ServiceAddress(ctx.service.base_url, URL in settings.sources, sender, settings.mail_mask_pattern)


def check_address(ctx: Context, base_url: str, mask_pattern: str) -> str:
    """Returns the address as it will be if both values are valid. Raises Invalid for the field."""
    settings = ctx.service.settings
    if not settings.is_given(URL) and not base_url:
        raise Invalid("enter the address where others reach this service, such as https://desk.example", field=URL)
    settings_after = live_settings.check_settings(ctx.service, _changes(ctx, base_url, mask_pattern))
    return str(settings_after.base_url)


def set_all(ctx: Context, base_url: str, sender: str, mask_pattern: str) -> None:
    """Sets the values that no flag, variable or file sets. The callback of the built-in app follows. Raises AdminOnly,
    Invalid for the field."""
    if sender != current_address(ctx).sender:
        try:
            mail_setup.set_sender(ctx, sender, 0, is_default=True)
        except Invalid as error:
            raise Invalid(error.message, field="sender") from error
    live_settings.change(ctx, _changes(ctx, base_url, mask_pattern))
    setup.follow_address(ctx)


def _changes(ctx: Context, base_url: str, mask_pattern: str) -> dict[str, str]:
    settings = ctx.service.settings
    # An address that is derived from host and port is not stored, so that it changes with them.
    url = "" if base_url.strip().rstrip("/") == settings.local_url else base_url
    texts = {URL: url, MASK: mask_pattern}
    return {name: text for name, text in texts.items() if not settings.is_given(name)}
