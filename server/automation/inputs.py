"""Parses the `inputs:` declarations of an automation and validates values against them."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from server.automation.run_dictionary import lazy
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import HelpdeskError, Invalid, Required, nearest
from server.kata import Environment, Generic, Tree, parse
from server.kata.annotations import as_bool, as_int
from server.kata.kata_parser import plain
from server.mail import addresses
from server.template.values import is_numeric, keyed, pairs, printed, read_number

if TYPE_CHECKING:
    from server.automation.engine import Run

MAX_TEXT, MAX_FREEFORM, MAX_URL, MAX_URI = 255, 1024, 2048, 127
MAX_TIMESTAMP = 4_294_967_296
KINDS = ("text", "array", "record", "records")
OPTIONS = ("type", "type_options", "required", "default", "description", "snippet", "record_type", "expand")
_URI = re.compile(r"[A-Za-z0-9._]+\Z")
_POINT = re.compile(r"\s*POINT\s*\(\s*(\S+)\s+(\S+)\s*\)\s*\Z", re.IGNORECASE)
_MISSING = object()


@dataclass(frozen=True)
class InputDeclaration:
    """A declared input. options: type, type_options, required, default, record_type, expand."""

    kind: str
    name: str
    options: dict[str, Any]

    @property
    def is_required(self) -> bool:
        return as_bool(self.options.get("required", False))


def read_declarations(tree: Tree, environment: Environment) -> list[InputDeclaration]:
    """Parses the declarations under `inputs:`. Raises Invalid for an unknown kind, KataSyntax."""
    declarations = []
    for key, options in pairs(Generic(environment).value(tree)):
        kind, slash, name = str(key).partition("/")
        if kind not in KINDS:
            raise Invalid(f"inputs: '{kind[:50]}' is not a kind of input{nearest(kind, KINDS)}", field=kind)
        if slash and name:
            declarations.append(InputDeclaration(kind, name, options if isinstance(options, dict) else {}))
    return declarations


def of_script(script: str) -> list[InputDeclaration]:
    """Returns the declared inputs of a script for a form, with templates as text; [] if it cannot be parsed."""
    try:
        tree = next((value for key, value in parse(script).tree.items() if plain(key) == "inputs"), {})
        return read_declarations(tree, Environment()) if isinstance(tree, dict) else []
    except HelpdeskError:
        return []


def check_inputs(tree: Tree, values: Any, run: "Run", environment: Environment) -> dict[str, Any]:
    """Validates and converts inputs for a script. Raises Invalid or Required that names the first bad one."""
    sent = {str(key): value for key, value in pairs(values)}
    declarations = {each.name: each for each in read_declarations(tree, environment)} if tree else {}
    _require_known(declarations, sent)
    checked = {}
    for name, each in declarations.items():
        value = _with_default(each, sent.get(name, _MISSING))
        _require_given(each, value)
        converted = _read(each, None if value is _MISSING else value, run)
        if value is not _MISSING or converted is not None:
            checked[name] = converted
    return checked


def misfit(script: str, values: Mapping[str, Any]) -> Invalid | None:
    """Returns the error with which a run would refuse these inputs: Required for a missing one, Invalid for an unknown
    one; None if it would accept them, as far as this is known without a run."""
    declarations = {each.name: each for each in of_script(script)}
    try:
        _require_known(declarations, values)
        for name, each in declarations.items():
            _require_given(each, _with_default(each, values.get(name, _MISSING)))
    except Invalid as error:
        return error
    return None


def _require_known(declarations: Mapping[str, InputDeclaration], sent: Iterable[str]) -> None:
    for name in sent:
        if name not in declarations:
            near = nearest(name, declarations)
            raise Invalid(f"inputs: '{name[:80]}' is not an input of this automation{near}", field=name)


def _require_given(each: InputDeclaration, value: Any) -> None:
    if each.is_required and value in (_MISSING, None, "", [], {}):
        raise Required(f"inputs: '{each.name}' is required", field=each.name)


def _with_default(each: InputDeclaration, value: Any) -> Any:
    typed = each.kind == "text" and each.options.get("type")
    if value in (_MISSING, None) or (typed and value == ""):
        return each.options.get("default", value)
    return value


def _read(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if each.kind == "array":
        if value is None or isinstance(value, (list, dict)):
            return value
        raise _bad(each, "takes a list")
    if each.kind in ("record", "records"):
        return _records(each, value, run)
    type = str(each.options.get("type") or "")
    reader = TEXTS.get(type)
    if reader is None:
        raise _bad(each, f"has the type '{type[:50]}', which does not exist{nearest(type, TEXTS)}")
    return reader(each, value, run)


def _bad(each: InputDeclaration, reason: str) -> Invalid:
    return Invalid(f"inputs: '{each.name}' {reason}", field=each.name)


# -- texts ------------------------------------------------------------------------------------------------------------


def _plain(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _bad(each, "takes a text")
    if len(value) > MAX_TEXT:
        raise _bad(each, f"has {len(value):,} characters, at most {MAX_TEXT}")
    return value


def _bool(each: InputDeclaration, value: Any, run: "Run") -> Any:
    return value if value is None or value == "" else as_bool(value)


def _date(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if value is None or value == "":
        return False
    if value == "0":
        return value
    if not isinstance(value, str) or value.strip().isdigit() or run.read_date(value) is None:
        raise _bad(each, f"takes a date, not '{printed(value)[:50]}'")
    return value


def _number(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if value is None or value == "":
        return 0
    if isinstance(value, bool) or not is_numeric(value):
        raise _bad(each, "takes a number")
    return value


def _timestamp(each: InputDeclaration, value: Any, run: "Run") -> Any:
    value_read = _number(each, value, run)
    if not 0 <= (read_number(value_read) if isinstance(value_read, str) else value_read) <= MAX_TIMESTAMP:
        raise _bad(each, "takes Unix seconds")
    return value_read


def _freeform(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if value is None:
        return None
    if isinstance(value, (dict, list, bool)):
        raise _bad(each, "takes a text")
    options = each.options.get("type_options")
    options = options if isinstance(options, dict) else {}
    most = as_int(options["max_length"]) if "max_length" in options else MAX_FREEFORM
    text = printed(value)
    if len(text) <= most:
        return text
    if not as_bool(options.get("truncate", True)):
        raise _bad(each, f"has {len(text):,} characters, at most {most:,}")
    return text[: max(most - 6, 0)] + "..."[:most]


def _matching(test: Any, expected: str, blank: Any = "") -> Any:
    def read(each: InputDeclaration, value: Any, run: "Run") -> Any:
        if value is None or value == "":
            return value if blank == "" else blank
        if not isinstance(value, str) or not test(value):
            raise _bad(each, f"takes {expected}, not '{printed(value)[:50]}'")
        return value

    return read


def _address(*versions: int) -> Any:
    def test(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version in versions
        except ValueError:
            return False

    return test


def _is_point(text: str) -> bool:
    match = _POINT.match(text)
    parts = match.groups()[::-1] if match else text.split(",")
    if len(parts) != 2 or not all(is_numeric(part) for part in parts):
        return False
    latitude, longitude = (float(part) for part in parts)
    return abs(latitude) <= 90 and abs(longitude) <= 180


def _is_url(text: str) -> bool:
    return bool(re.match(r"https?://[^\s/?#]+", text, re.IGNORECASE)) and len(text) <= MAX_URL and " " not in text


def _record_type(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if value is None or value == "":
        return value
    ctx = run.host.ctx
    if not isinstance(value, str) or (ctx is not None and ctx.service.registry.find(value) is None):
        raise _bad(each, f"takes a record type, not '{printed(value)[:50]}'")
    return value


TEXTS: dict[str, Any] = {
    "": _plain,
    "bool": _bool,
    "date": _date,
    "decimal": _number,
    "number": _number,
    "timestamp": _timestamp,
    "email": _matching(addresses.valid, "an email address"),
    "freeform": _freeform,
    "geopoint": _matching(_is_point, "`latitude, longitude`", False),
    "ip": _matching(_address(4, 6), "an IP address"),
    "ipv4": _matching(_address(4), "an IPv4 address"),
    "ipv6": _matching(_address(6), "an IPv6 address"),
    "uri": _matching(lambda text: bool(_URI.match(text)) and len(text) <= MAX_URI, "letters, digits, dots and _"),
    "url": _matching(_is_url, "a web address"),
    "record_type": _record_type,
}


# -- records ----------------------------------------------------------------------------------------------------------


def _records(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if each.kind == "record":
        return None if value in (None, "") else _record(each, value, run)
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if value is not None and not isinstance(value, (list, dict)):
        value = [value]
    return keyed((key, _record(each, one, run)) for key, one in pairs(value)) if value is not None else None


def _record(each: InputDeclaration, value: Any, run: "Run") -> Any:
    if isinstance(value, dict) and "id" in value:
        value = value["id"]
    uri, id = str(each.options.get("record_type") or ""), printed(value).strip()
    if id.startswith("svc:"):
        _, type_name, id = [*id.split(":", 2), "", ""][:3]
        uri = uri or type_name
    if not is_whole(id):
        raise _bad(each, f"takes the id of a record, not '{printed(value)[:50]}'")
    ctx = run.host.ctx
    record_type = ctx.service.registry.find(uri) if ctx is not None else None
    if record_type is None:
        raise _bad(each, f"has the record type '{uri[:50]}', which does not exist")
    loaded = run.host.load(record_type.context, int(id), "")
    if not loaded:
        raise _bad(each, f"is {record_type.uri} {id}, which does not exist")
    record = lazy({"_context": record_type.context, "id": int(id), **loaded}, run.load)
    expand = each.options.get("expand") or ""
    paths = expand.split(",") if isinstance(expand, str) else [str(one) for _, one in pairs(expand)]
    for path in filter(None, (one.strip() for one in paths)):
        record.expand(path)
    return record
