"""The requirements of a package: a minimum version and plugins."""

import itertools
import re

from server.errors import Invalid, nearest
from server.packages.package_document import PackageDocument, bad
from server.record_types.record_type import CORE

# The version of the interface that this program offers to packages. It differs from the number of the program's own
# releases (settings.VERSION).
SVC_VERSION = "10.4.10"
BUILT_IN = frozenset((
    CORE, "svc.assets", "svc.bots.portal.widget", "svc.calls", "svc.crm", "svc.kb", "svc.project_boards", "svc.restapi",
    "svc.timetracking", "svc.webhooks",
))  # fmt: skip
END = (4, -1)  # end of a version: sorts before a further number, and between candidates and patches
_ORDER = {"dev": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2, "rc": 3, "pl": 5, "p": 5}
_PART = re.compile(r"[0-9]{1,18}|[A-Za-z]+")


def check(document: PackageDocument) -> None:
    """Raises Invalid for the first unmet requirement: a newer version or a missing plugin."""
    version = document.requires.get("svc_version")
    if version not in (None, ""):
        if not _is_version(version):
            raise bad("package: requires: svc_version must be a text such as 1.0.0")
        if is_lower(SVC_VERSION, version):
            raise bad(f"the package needs version {version[:50]} of the service, this is {SVC_VERSION}")
    plugins = document.requires.get("plugins") or []
    if not isinstance(plugins, list):
        raise bad("package: requires: plugins takes a list of plugin ids")
    for each in plugins:
        if not isinstance(each, str) or each not in BUILT_IN:
            near = nearest(str(each), BUILT_IN)
            raise bad(f"the package needs the plugin '{str(each)[:80]}', which is not installed{near}")


def unmet(document: PackageDocument) -> str:
    """Returns the message about the first unmet requirement; "" for none."""
    try:
        check(document)
    except Invalid as error:
        return error.message
    return ""


def needs(document: PackageDocument) -> list[tuple[str, bool]]:
    """Returns the requirements of a package in words, each with whether it is met. For display; `check` decides."""
    version, plugins = document.requires.get("svc_version"), document.requires.get("plugins")
    is_there = _is_version(version) and not is_lower(SVC_VERSION, str(version))
    checked = [(f"version {str(version)[:50]}", is_there)] if version else []
    return checked + [
        (f"plugin {each[:80]}", each in BUILT_IN) for each in map(str, plugins if isinstance(plugins, list) else [])
    ]


def _is_version(value: object) -> bool:
    return isinstance(value, str) and _PART.match(value) is not None


def is_lower(version: str, other: str) -> bool:
    """Whether a version comes before another: by dotted parts, where dev < alpha < beta < rc < nothing < p.

    >>> is_lower("1.2", "1.10"), is_lower("1.0", "1.0.0"), is_lower("2.0rc1", "2.0"), is_lower("2.0", "2.0p1")
    (True, True, True, True)
    >>> is_lower("1.0", "1.0"), is_lower("1.0.1", "1.0"), is_lower("1.0-beta", "1.0.a2")
    (False, False, False)"""
    pairs = itertools.zip_longest(_parts(version), _parts(other), fillvalue=END)
    return next((one < two for one, two in pairs if one != two), False)


def _parts(version: str) -> list[tuple[int, int]]:
    return [(4, int(part)) if part.isdigit() else (_ORDER.get(part.lower(), -1), 0) for part in _PART.findall(version)]
