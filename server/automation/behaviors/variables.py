"""Reads and validates the variables of a behavior by their kind.

Records that a caller names are limited to those that the caller may read: the bot may read more, and its results are
returned."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from server import times
from server.automation.behaviors.loading import BehaviorProgram
from server.automation.behaviors.tree import LIST_PREFIX, Variable
from server.context import Context
from server.digits import MAX_ID_DIGITS
from server.errors import Invalid, Required, nearest
from server.record_types.record_type import RecordType
from server.records.dictionary import Dictionaries
from server.template.values import is_numeric, items, printed, whole
from server.translation import N_, about_field

MAX_RECORDS = 500  # records per list
_DIGITS = re.compile(r"\s*([0-9]{1,18})(?![0-9])")
UNCHANGED = ("M", "X", "F", "I")


class RequestParameters(Protocol):
    """The parameters of a request, with the interface of web/params.py."""

    tree: dict[str, Any]

    def __contains__(self, name: str) -> bool: ...

    def text(self, name: str, default: str, required: bool = False) -> str: ...

    def json(self, name: str, default: Any = None, required: bool = False) -> Any: ...


def of_request(ctx: Context, behavior: BehaviorProgram, sent: RequestParameters) -> dict[str, Any]:
    """Returns the dictionary entries of all public variables, in order, from the parameters of a request. Private
    variables are ignored. Raises Required, Invalid, Malformed, each naming the variable."""
    entries: dict[str, Any] = {}
    for key, variable in behavior.variables.items():
        if variable.is_private:
            continue
        if key not in sent:
            raise Required(f"{key} is required: the variable '{variable.label}' of this behavior", field=key)
        entries |= read(ctx, variable, _raw(variable, sent))
    return entries


def _raw(variable: Variable, sent: RequestParameters) -> Any:
    if variable.type.startswith(LIST_PREFIX):
        return sent.json(variable.key, [])
    value = sent.tree.get(variable.key)
    if variable.type in UNCHANGED and isinstance(value, (list, dict)):
        return value
    return sent.text(variable.key, "")


def of_values(ctx: Context, behavior: BehaviorProgram, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the same as of_request(), from values of a script. Raises Required, Invalid."""
    entries: dict[str, Any] = {}
    for key, variable in behavior.variables.items():
        if variable.is_private:
            continue
        if key not in values:
            raise Required(f"{key} is required by the behavior '{behavior.name}'", field=key)
        entries |= read(ctx, variable, values[key])
    return entries


def read(ctx: Context, variable: Variable, value: Any) -> dict[str, Any]:
    """Returns {key: value} of a variable, with its additional dictionary entries. Raises Invalid.

    value: text, a number, a list or a map, as submitted."""
    if variable.type.startswith(LIST_PREFIX):
        return {variable.key: _records(ctx, variable, value)}
    if variable.type == "L":
        return _link(ctx, variable, value)
    if variable.type in UNCHANGED:
        return {variable.key: _unchanged(variable, value)}
    if isinstance(value, (list, dict)):
        raise _bad(variable, N_("takes one value, not a list"))
    return {variable.key: READERS[variable.type](ctx, variable, value)}


def _bad(variable: Variable, reason: str) -> Invalid:
    return Invalid(about_field(variable.key, reason), field=variable.key)


# -- single values ----------------------------------------------------------------------------------------------------


def _text(ctx: Context, variable: Variable, value: Any) -> str:
    return printed(value)


def _number(ctx: Context, variable: Variable, value: Any) -> int:
    return whole(value if not isinstance(value, bool) else int(value))


def _checkbox(ctx: Context, variable: Variable, value: Any) -> int:
    return int(printed(value) not in ("", "0"))


def _option(ctx: Context, variable: Variable, value: Any) -> str:
    options, text = options_of(variable), printed(value)
    if text not in options:
        choices = ", ".join(options[:20]) or "none: the behavior defines none"
        raise _bad(variable, f"'{text[:80]}' is not an option{nearest(text, options)}; there are {choices[:500]}")
    return text


def options_of(variable: Variable) -> list[str]:
    """Returns the options of a picklist."""
    options = variable.params.get("options") or ""
    lines = options.splitlines() if isinstance(options, str) else [printed(each) for each in items(options)]
    return [line.strip() for line in lines if line.strip()]


def _date(ctx: Context, variable: Variable, value: Any) -> int:
    try:
        return times.instant(printed(value), ctx.now, ctx.tz)
    except Invalid as error:
        raise _bad(variable, error.message) from None


def _worker(ctx: Context, variable: Variable, value: Any) -> int:
    match = _DIGITS.match(printed(value))
    id = int(match[1]) if match else 0
    if not id or not loaded(ctx, ctx.service.registry.type("worker"), [id]):
        raise _bad(variable, f"there is no worker '{printed(value)[:50]}'; send the id of one")
    return id


def _from_inside(ctx: Context, variable: Variable, value: Any) -> Any:
    raise _bad(variable, "a list of mixed records is set by the behavior itself, never from outside; make it private")


READERS: dict[str, Callable[[Context, Variable, Any], Any]] = {
    **dict.fromkeys(("S", "T", "U"), _text),
    **dict.fromkeys(("N", "O", "Y"), _number),
    "C": _checkbox,
    "D": _option,
    "E": _date,
    "W": _worker,
    "contexts": _from_inside,
}


def _unchanged(variable: Variable, value: Any) -> Any:
    """Returns a submitted value unchanged if JSON can represent it."""
    if isinstance(value, dict):
        return {str(key): _unchanged(variable, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_unchanged(variable, each) for each in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise _bad(variable, "must be text, lists or maps, not files")


# -- records ----------------------------------------------------------------------------------------------------------


def _link(ctx: Context, variable: Variable, value: Any) -> dict[str, Any]:
    """Returns the id; if the key ends in `_id` and the record is readable, its keys can be loaded too."""
    if isinstance(value, (list, dict)):
        raise _bad(variable, "takes the id of a record, not a list")
    id = max(_number(ctx, variable, value), 0)
    entries: dict[str, Any] = {variable.key: id}
    type_name = str(variable.params.get("context") or "")
    record_type = ctx.service.registry.find(type_name)
    if record_type is None:
        raise _bad(variable, f"'{type_name[:80]}' is not a record type; the behavior must name one in params.context")
    if variable.key.endswith("_id") and loaded(ctx, record_type, [id]):
        entries[f"{variable.key.removesuffix('id')}_context"] = record_type.context
    return entries


def _records(ctx: Context, variable: Variable, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        value = items(value)
    if not isinstance(value, list):
        raise _bad(variable, "takes a JSON list of ids, such as [5,7]")
    if len(value) > MAX_RECORDS:
        raise _bad(variable, f"takes at most {MAX_RECORDS} ids, this has {len(value)}")
    return loaded(ctx, list_type(ctx, variable), [_id(variable, each) for each in value])


def list_type(ctx: Context, variable: Variable) -> RecordType:
    """Returns the type of the records in a list. Raises Invalid."""
    type_name = variable.type.removeprefix(LIST_PREFIX)
    record_type = ctx.service.registry.find(type_name)
    if record_type is None:
        raise _bad(
            variable, f"'{type_name[:80]}' is not a record type; the behavior must name one in the variable's type"
        )
    return record_type


def _id(variable: Variable, value: Any) -> int:
    if isinstance(value, bool) or not is_numeric(value):
        raise _bad(variable, f"'{printed(value)[:50]}' is not an id; it takes a JSON list of ids, such as [5,7]")
    return whole(value)


def loaded(ctx: Context, record_type: RecordType, ids: Iterable[int]) -> dict[str, Any]:
    """Returns {id: dictionary} of the existing, readable records, in the order of the ids."""
    distinct = [id for id in dict.fromkeys(ids) if 0 < id < 10**MAX_ID_DIGITS]
    if not distinct:
        return {}

    def read(tx: Any) -> dict[int, dict[str, Any]]:
        reader = Dictionaries(ctx, tx)
        records = reader.records(record_type.uri, distinct)
        return {each["id"]: each for each in reader.dictionaries(record_type.uri, records)}

    dictionaries = ctx.service.store.read(read)
    return {str(id): dictionaries[id] for id in distinct if id in dictionaries}
