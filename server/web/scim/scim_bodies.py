"""Bodies of requests: their canonical form, and the operations of PATCH. Follows RFC 7644, sections 3.3 and 3.5.

Providers differ: Entra ID writes operations with capital letters, booleans as text and names with dots; Okta and
Authentik send whole resources without a path, with their id. All of that is accepted. Attributes that workers do not
have are ignored; what a supported attribute cannot hold is refused."""

from collections.abc import Callable, Mapping
from typing import Any

from server.dataclass import dataclass
from server.web.scim import filters
from server.web.scim.filters import AttributeComparison, AttributePath, NotSupported
from server.web.scim.schemas import IGNORED, Attribute, ResourceType
from server.web.scim.scim_errors import ScimInvalid

MAX_OPERATIONS = 1000  # in one PATCH
Resource = dict[str, Any]
_BOOLEANS = {"true": True, "false": False}


def canonical(body: Mapping[str, Any], of: ResourceType) -> Resource:
    """Returns the supported attributes of a submitted resource under their canonical names, without null. Read-only
    attributes are left out. Raises ScimInvalid."""
    resource: Resource = {}
    for name, raw in body.items():
        path = _path_of(name, of)
        if path is None or path.name.attribute.is_read_only or path.selected is not None:
            continue
        attribute, sub = path.name.attribute, path.name.sub
        if sub is None:
            value = _value(attribute, raw)
            if value is not None:
                resource[attribute.name] = value
        elif not attribute.is_list and not sub.is_read_only:  # name.givenName as one key
            resource.setdefault(attribute.name, {})[sub.name] = _value(sub, raw)
    return resource


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. op: add, replace or remove. path: None without one. value: canonical; with a path, None for
    absent."""

    op: str
    path: AttributePath | None
    value: Any


def operations(body: Mapping[str, Any], of: ResourceType) -> list[Operation]:
    """Reads the operations of a PATCH; those on attributes that are not supported are left out. Raises ScimInvalid."""
    listed = next((value for name, value in body.items() if name.lower() == "operations"), None)
    if not isinstance(listed, list) or not listed:
        raise ScimInvalid("invalidSyntax", "Operations must be a list with at least one operation")
    if len(listed) > MAX_OPERATIONS:
        raise ScimInvalid("tooMany", f"at most {MAX_OPERATIONS} operations")
    read = (_operation(each, of) for each in listed)
    return [each for each in read if each is not None]


def apply(resource: Resource, changes: list[Operation], of: ResourceType) -> Resource:
    """Returns the resource after the operations. Raises ScimInvalid with noTarget for a filter that selects nothing."""
    changed = {name: _copied(value) for name, value in resource.items()}
    for each in changes:
        if each.path is None:
            for name, value in each.value.items():
                _set(changed, of.by_name[name.lower()], value, adds=each.op == "add")
        elif each.op == "remove":
            _remove(changed, each.path, each.value)
        else:
            _set_at(changed, each.path, each.value, adds=each.op == "add")
    return changed


def _operation(raw: Any, of: ResourceType) -> Operation | None:
    if not isinstance(raw, dict):
        raise ScimInvalid("invalidSyntax", 'each operation must be an object, such as {"op": "replace", ...}')
    fields = {str(name).lower(): value for name, value in raw.items()}
    op = str(fields.get("op", "")).lower()
    if op not in ("add", "replace", "remove"):
        raise ScimInvalid("invalidSyntax", f"'{op[:20]}' is not an operation; use add, replace or remove")
    text, value = fields.get("path"), fields.get("value")
    if text in (None, ""):
        if op == "remove":
            raise ScimInvalid("noTarget", "remove needs a path")
        if not isinstance(value, dict):
            raise ScimInvalid("invalidValue", f"{op} without a path needs an object as its value")
        _require_values(value, of)
        return Operation(op, None, canonical(value, of))
    if not isinstance(text, str):
        raise ScimInvalid("invalidPath", "path must be a text")
    try:
        path = filters.parse_path(text, of)
    except NotSupported:
        return None
    attribute, sub = path.name.attribute, path.name.sub
    if attribute.is_read_only or (sub is not None and sub.is_read_only):
        raise ScimInvalid("mutability", f"{text[:60]} is read-only")
    if op == "remove":
        return Operation(op, path, _value(attribute, value) if attribute.is_list and value is not None else None)
    if value is None:
        raise ScimInvalid("invalidValue", f"{op} of {text[:60]} needs a value; remove it instead")
    return Operation(op, path, _target_value(path, value))


def _require_values(value: Mapping[str, Any], of: ResourceType) -> None:
    """Raises ScimInvalid for null in place of a list: a list is not emptied by an omission."""
    for name, each in value.items():
        attribute = of.by_name.get(str(name).lower())
        if each is None and attribute is not None and attribute.is_list and not attribute.is_read_only:
            raise ScimInvalid("invalidValue", f"{attribute.name} must be a list, [] to empty it")


def _target_value(path: AttributePath, value: Any) -> Any:
    """The canonical value for the target of an operation."""
    attribute, sub = path.name.attribute, path.name.sub
    if sub is not None:
        return _value(sub, value)
    if path.selected is not None:  # one value of a list
        values = _value(attribute, value)
        return values[0] if len(values) == 1 else _wrong(attribute, "one value")
    return _value(attribute, value)


def _path_of(name: str, of: ResourceType) -> AttributePath | None:
    """The path that a key of a resource names; None for one that is ignored, such as schemas and extensions."""
    if name.lower() in ("schemas", *IGNORED):
        return None
    try:
        return filters.parse_path(name, of)
    except (NotSupported, ScimInvalid):
        return None


def _value(attribute: Attribute, raw: Any) -> Any:
    """The canonical value of an attribute. Raises ScimInvalid for another type."""
    if attribute.is_list:
        if raw is None:
            return None
        listed = raw if isinstance(raw, list) else [raw]
        if not all(isinstance(each, dict) for each in listed):
            return _wrong(attribute, "a list of objects")
        return [_single(attribute, each) for each in listed]
    return _single(attribute, raw)


def _single(attribute: Attribute, raw: Any) -> Any:
    if raw is None:
        return None
    if attribute.kind == "complex":
        if not isinstance(raw, dict):
            return _wrong(attribute, "an object")
        below = attribute.by_name
        named = ((below.get(str(name).lower()), value) for name, value in raw.items())
        return {
            sub.name: value
            for sub, each in named
            if sub is not None
            and not (sub.is_read_only and attribute.name == "name")
            and (value := _value(sub, each)) is not None
        }
    if attribute.kind == "boolean":
        value = _BOOLEANS.get(raw.lower()) if isinstance(raw, str) else raw
        return value if isinstance(value, bool) else _wrong(attribute, "true or false")
    if isinstance(raw, (dict, list, bool)):
        return _wrong(attribute, "a text")
    return str(raw)


def _wrong(attribute: Attribute, expected: str) -> Any:
    raise ScimInvalid("invalidValue", f"{attribute.name} must be {expected}")


def _copied(value: Any) -> Any:
    """A copy that operations may change."""
    if isinstance(value, list):
        return [dict(each) if isinstance(each, dict) else each for each in value]
    return dict(value) if isinstance(value, dict) else value


def _set(resource: Resource, attribute: Attribute, value: Any, *, adds: bool) -> None:
    """Sets an attribute. A complex one keeps the sub-attributes that the value does not have; to a list, values are
    added without repetition."""
    name = attribute.name
    if attribute.is_list and adds:
        present = resource.setdefault(name, [])
        known = {_identity(each) for each in present}
        present += [each for each in value if _identity(each) not in known]
        _keep_one_primary(present, value)
    elif attribute.kind == "complex" and not attribute.is_list:
        resource[name] = {**resource.get(name, {}), **value}
    else:
        resource[name] = value


def _set_at(resource: Resource, path: AttributePath, value: Any, *, adds: bool) -> None:
    attribute, sub = path.name.attribute, path.name.sub
    if sub is None and path.selected is None:
        _set(resource, attribute, value, adds=adds)
        return
    if not attribute.is_list:
        assert sub is not None
        resource[attribute.name] = {**resource.get(attribute.name, {}), sub.name: value}
        return
    values = resource.setdefault(attribute.name, [])
    targets = _selected(values, path)
    if not targets:
        targets = [_new_value(path)]
        values += targets
    change = {sub.name: value} if sub is not None else value
    for each in targets:
        each |= change
    _keep_one_primary(values, [change])


def _new_value(path: AttributePath) -> dict[str, Any]:
    """The value that emails[type eq "work"].value adds where there is none yet. Raises ScimInvalid with noTarget for a
    filter that does not describe one."""
    each = path.selected
    if each is None:
        return {}
    is_plain = isinstance(each, AttributeComparison) and each.operator == "eq" and path.name.attribute.name != "members"
    if not is_plain or path.name.sub is None:
        raise ScimInvalid("noTarget", f"no value of {path.name.attribute.name} fulfills the filter")
    assert isinstance(each, AttributeComparison)
    return {each.name.attribute.name: each.value}


def _remove(resource: Resource, path: AttributePath, value: Any) -> None:
    attribute, sub = path.name.attribute, path.name.sub
    if not attribute.is_list:
        if sub is None:
            resource.pop(attribute.name, None)
        elif isinstance(resource.get(attribute.name), dict):
            resource[attribute.name].pop(sub.name, None)
        return
    values = resource.get(attribute.name, [])
    if path.selected is None and sub is None:
        named = None if value is None else {_identity(each) for each in value}
        resource[attribute.name] = [] if named is None else [each for each in values if _identity(each) not in named]
        return
    targets = _selected(values, path)
    if sub is not None and sub.name != "value":
        for each in targets:
            each.pop(sub.name, None)
        return
    resource[attribute.name] = [each for each in values if not any(each is target for target in targets)]


def _selected(values: list[dict[str, Any]], path: AttributePath) -> list[dict[str, Any]]:
    selected = path.selected
    if selected is None:
        return list(values)
    fulfills: Callable[[dict[str, Any]], bool] = lambda each: filters.matches(selected, each)  # noqa: E731
    return [each for each in values if fulfills(each)]


def _identity(value: Any) -> Any:
    """What makes two values of a list the same."""
    return str(value.get("value", "")).lower() if isinstance(value, dict) else value


def _keep_one_primary(values: list[dict[str, Any]], added: list[Any]) -> None:
    """A new main value replaces the former one. Follows RFC 7644, section 3.5.2."""
    news = {_identity(each) for each in added if isinstance(each, dict) and each.get("primary")}
    if not news:
        return
    mains = [each for each in values if each.get("primary")]
    for each in mains:
        if len(mains) > 1 and _identity(each) not in news:
            each["primary"] = False
