"""Values of records as an update displays them: as text, without secrets."""

import json
from typing import Any

from server.packages import grants, secret_texts
from server.packages.exported_types import RENEWED

HIDDEN = "•••"  # replaces a secret


def shown(uri: str, name: str, value: Any) -> str | None:
    """A value of a field as text, without the secrets in it; None for one that is a secret.

    >>> shown("automation", "script", "headers:\\n  Authorization: Bearer abc"), shown("mailbox", "password", "abc")
    ('headers:\\n  Authorization: Bearer •••', None)
    """
    if name in grants.SECRETS.get(uri, ()) and not isinstance(value, dict):
        return None
    if isinstance(value, dict | list):
        hides_all = name in grants.SECRETS.get(uri, ()) or uri in RENEWED
        return json.dumps(_hidden(value, name, hides_all), ensure_ascii=False, indent=1)
    if not isinstance(value, str):
        return "" if value is None else str(value)
    return None if value and secret_texts.is_secret_name(name) else _without_secrets(name, value)


def _hidden(value: Any, name: str, is_hidden: bool) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(each, key, is_hidden or secret_texts.is_secret_name(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each, name, is_hidden) for each in value]
    if is_hidden and value not in ("", None, False, True):
        return HIDDEN
    return _without_secrets(name, value) if isinstance(value, str) else value


def _without_secrets(name: str, text: str) -> str:
    parts, place = [], 0
    for start, end, _ in secret_texts.secrets_in_value(name, text):
        parts += [text[place:start], HIDDEN]
        place = end
    return "".join((*parts, text[place:]))
