"""Reads the settings of a transport: texts, numbers and yes or no, which may be text, as forms send them. Blank is as
if a setting was left out. All raise Invalid, with the key in `field`."""

import re
from collections.abc import Mapping

from server.digits import whole_in
from server.errors import Invalid

YES_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def text_param(params: Mapping[str, object], key: str) -> str:
    """One line of text."""
    value = params.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{key} must be text", field=key)
    if re.search(r"[\r\n\0]", value):
        raise Invalid(f"{key} must be one line; remove the line breaks", field=key)
    return value if key == "password" else value.strip()


def account_param(params: Mapping[str, object]) -> str:
    """The id or uri of a connected account, "" for none."""
    value = params.get("connected_account")
    text = (
        str(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else text_param(params, "connected_account")
    )
    return "" if text == "0" else text


def number_param(params: Mapping[str, object], key: str, default: int, most: int) -> int:
    """A whole number from 1 to `most`."""
    value = params.get(key)
    if value is None or value == "":
        return default
    number = None if isinstance(value, bool) else whole_in(str(value), 1, most)
    if number is not None:
        return number
    raise Invalid(f"{key} must be a number from 1 to {most}", field=key)


def flag_param(params: Mapping[str, object], key: str) -> bool:
    """Yes or no; yes by default."""
    value = params.get(key)
    if value is None or value == "":
        return True
    choice = YES_NO.get(str(value).lower())
    if choice is None:
        raise Invalid(f"{key} must be 1 or 0", field=key)
    return choice
