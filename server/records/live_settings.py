"""Settings of the process that administrators change in the console while it runs. Settings from a flag, an environment
variable or the file cannot be changed there."""

import threading
from collections.abc import Mapping
from pathlib import Path

from server import log
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, nearest
from server.mail.mask import new_mask
from server.records import service_settings
from server.records.writing import RecordWriter
from server.settings import BY_NAME, LIVE, SETTINGS, Setting, Settings, Value, display_value, shown_value, value_of
from server.store.transaction import Transaction

KEY = "settings"  # service setting that stores them as {name: text}
LIVE_SETTINGS = "settings"  # the channel that announces a change to other processes
_log = log.get("settings")
_applying = threading.Lock()


def apply(service: Service) -> None:
    """Applies the stored settings. Settings that this version rejects are skipped and logged."""
    with _applying:  # concurrent changes: the later one must be applied last
        texts = service.store.read(_stored)
        values: dict[str, Value] = {}
        for name, text in texts.items():
            try:
                values[name] = _value(service.settings, name, text)
            except HelpdeskError as error:
                _log.warning("setting.left_out", name=name, reason=error.message)
        service.settings.lay_over(values)
        if service.settings.base_url != service.base_url:
            service.move(service.settings.base_url)


def check_settings(service: Service, changes: Mapping[str, str]) -> Settings:
    """Returns the settings with these changes. Raises Invalid with the name of a bad setting, also for one set outside
    of the console."""
    for name in changes:
        if name not in LIVE:
            raise Invalid(f"'{name[:60]}' cannot be set in the console{nearest(name, LIVE)}", field=name)
        if service.settings.is_given(name):
            raise Invalid(f"{name} is set by {service.settings.sources[name]}; change it there", field=name)
    return service.settings.replace(**{name: _value(service.settings, name, text) for name, text in changes.items()})


def change(ctx: Context, changes: Mapping[str, str]) -> None:
    """Stores settings, as text, and applies them; a setting with its default value is not stored.

    Raises AdminOnly, and Invalid as `check_settings` does."""
    ctx.require_admin("change settings")
    check_settings(ctx.service, changes)

    def write(tx: Transaction) -> None:
        stored = _stored(tx)
        merged = stored | dict(changes)
        for name, text in changes.items():
            before = stored.get(name, display_value(BY_NAME[name].default))
            if text.strip() != before:
                service_settings.log_change(RecordWriter(ctx, tx), name, before, text.strip())
        others = {name: text for name, text in merged.items() if text.strip() != display_value(BY_NAME[name].default)}
        service_settings.put(tx, KEY, others)
        ctx.service.store.announce_after(tx, LIVE_SETTINGS)

    ctx.service.store.write(write)
    apply(ctx.service)


@dataclass(frozen=True)
class ShownSetting:
    """A setting for people: value and default in one line, and where the value comes from."""

    setting: Setting
    value: str
    default: str
    source: str

    def fits(self, text: str) -> bool:
        """Returns whether its name or its meaning holds a text in small letters."""
        return text in f"{self.setting.name} {self.setting.help}".lower()


def shown_settings(service: Service) -> list[ShownSetting]:
    """Returns all settings of the process, without secrets."""
    settings = service.settings
    values = dict(settings.given) | {"base_url": service.base_url}
    return [
        ShownSetting(
            each,
            _one_line(each.name, values[each.name]),
            _one_line(each.name, each.default),
            settings.sources.get(each.name, "default"),
        )
        for each in SETTINGS
    ]


def _one_line(name: str, value: Value) -> str:
    return ", ".join(shown_value(name, value).splitlines())


def _stored(tx: Transaction) -> dict[str, str]:
    stored = service_settings.get(tx, KEY, {})
    return {name: str(text) for name, text in stored.items() if name in LIVE}


def _value(settings: Settings, name: str, text: str) -> Value:
    value = value_of(name, text.strip())
    if name == "backup_folder" and value:
        return _inside(Path(settings.data), str(value))
    if name == "mail_mask_pattern":
        try:
            new_mask(str(value))
        except Invalid as error:
            raise Invalid(error.message, field=name) from error
    return value


def _inside(folder: Path, text: str) -> str:
    """Returns the path of a folder below the data folder. An administrator of the service need not be allowed to choose
    where on the machine it writes. Raises Invalid."""
    base = folder.absolute().resolve()
    path = (base / text).resolve()
    if path == base or not path.is_relative_to(base):
        raise Invalid(
            "backup_folder: in the console this is a folder inside the data folder, such as backups; set another one "
            "in helpdesk.toml or by HELPDESK_BACKUP_FOLDER",
            field="backup_folder",
        )
    return str(path)
