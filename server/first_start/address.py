"""Where a service is reached, who its mail comes from, and how ticket numbers look: one step of setting up."""

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
    """The address of the service. base_url: with is_chosen, whether it was set by somebody. sender: the default sender,
    "" for none."""

    base_url: str
    is_chosen: bool
    sender: str
    mask_pattern: str


def of(ctx: Context) -> ServiceAddress:
    """What holds now."""
    settings = ctx.service.settings

    def read(tx: Transaction) -> str:
        found = RecordReader(ctx, tx).record("address", default_sender(tx))
        return "" if found is None else str(found["email"])

    sender = ctx.service.store.read(read)
    return ServiceAddress(ctx.service.base_url, URL in settings.sources, sender, settings.mail_mask_pattern)


def check_address(ctx: Context, base_url: str, mask_pattern: str) -> str:
    """The address as it will be, when both are right. Raises Invalid at the name of the field."""
    settings = ctx.service.settings
    if not settings.is_given(URL) and not base_url:
        raise Invalid("enter the address that others reach this service by, such as https://desk.example", field=URL)
    wanted = live_settings.check_settings(ctx.service, _changes(ctx, base_url, mask_pattern))
    return str(wanted.base_url)


def set_all(ctx: Context, base_url: str, sender: str, mask_pattern: str) -> None:
    """Sets what no flag, variable or file sets. The callback of the built-in app follows. Raises AdminOnly, Invalid at
    the name of the field."""
    if sender != of(ctx).sender:
        try:
            mail_setup.set_sender(ctx, sender, 0, is_default=True)
        except Invalid as error:
            raise Invalid(error.message, field="sender") from error
    live_settings.change(ctx, _changes(ctx, base_url, mask_pattern))
    setup.follow_address(ctx)


def _changes(ctx: Context, base_url: str, mask_pattern: str) -> dict[str, str]:
    settings = ctx.service.settings
    # What follows from host and port is not kept, so that it goes along with them.
    url = "" if base_url.strip().rstrip("/") == settings.local_url else base_url
    texts = {URL: url, MASK: mask_pattern}
    return {name: text for name, text in texts.items() if not settings.is_given(name)}
