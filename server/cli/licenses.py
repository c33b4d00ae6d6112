"""`helpdesk licenses`: the third-party parts of this program, and their licences.

From source, they are read from the installed packages. In the executable, where none are installed, they are in a file
that build/make_exe.py writes, together with the system libraries that are included."""

import argparse
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from server import resources
from server.cli import texts
from server.cli.arguments import command
from server.errors import NotFound

FILE = "licenses.txt"  # next to the folders of the unpacked executable
PROGRAM = "helpdesk"
PACKED = {PROGRAM: ("", "postgresql"), "psycopg": ("", "binary")}  # {package: its extras that are part of the program}
RULE = "=" * 78
EXTRA = re.compile(r"""\s*(?:;|\band\b)\s*extra\s*==\s*["']([^"']*)["']""")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LABELS = ("homepage", "home", "source", "source code", "repository", "github", "documentation")
TEXT = re.compile(r"(?i)^(licen[cs]e|copying|notice|copyright|authors)")


def declare(commands: Any) -> None:
    command(commands, "licenses", _run)


def _run(options: argparse.Namespace) -> None:
    packed = resources.packed(FILE)
    texts.put(packed.read_text("utf-8") if packed is not None else text(needed()))


def text(packages: Iterable[str]) -> str:
    """Returns the licences of Python and of packages."""
    return "\n".join([_python(), *(_distribution(name) for name in sorted(packages))])


def needed(holds: Callable[[str], bool] = lambda requirement: True) -> list[str]:
    """Returns the names of all packages that the program depends on, directly or not, in lower case with hyphens;
    sorted.

    Extras are left out except for those of PACKED, and so are packages that are not installed, because the condition of
    the requirement is false or the extra was not requested. holds: whether another requirement applies, if the caller
    knows. Raises NotFound if the program itself is not installed."""
    names: set[str] = set()
    waiting = [PROGRAM]
    while waiting:
        name = waiting.pop()
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            if name == PROGRAM:
                raise NotFound("the packages of this program are unknown; install it with: pip install .") from None
            continue
        names.add(name)
        plainly = [each for each in required if _extra_of(each) in PACKED.get(name, ("",)) and holds(_plainly(each))]
        dependencies = {plain(NAME.match(each)[0]) for each in plainly}  # type: ignore[index]
        waiting += sorted(dependencies - names)
    return sorted(names - {PROGRAM})


def _extra_of(requirement: str) -> str:
    """Returns the extra that a requirement belongs to, "" without one.

    >>> _extra_of("psycopg[binary]<4,>=3.3; extra == 'postgresql'"), _extra_of("nh3<1,>=0.3")
    ('postgresql', '')"""
    match = EXTRA.search(requirement)
    return match[1] if match else ""


def _plainly(requirement: str) -> str:
    """Returns the requirement without the extra.

    >>> _plainly('psycopg-binary==3.3.9; implementation_name != "pypy" and extra == "binary"')
    'psycopg-binary==3.3.9; implementation_name != "pypy"'
    >>> _plainly("psycopg[binary]<4,>=3.3; extra == 'postgresql'")
    'psycopg[binary]<4,>=3.3'"""
    return EXTRA.sub("", requirement)


def plain(name: str) -> str:
    """Normalizes the name of a package for comparison (PEP 503).

    >>> plain("Charset_Normalizer")
    'charset-normalizer'"""
    return re.sub(r"[-_.]+", "-", name).lower()


def section(title: str, licence: str, address: str, *parts: str) -> str:
    """Returns one section of the text: title, short licence, address, and the full licence."""
    head = [RULE, title, f"Licence: {licence}" if licence else "", address, RULE]
    body = [part.strip("\n") for part in parts if part.strip()]
    return "\n".join([line for line in head if line] + ["", *("\n\n".join(body).splitlines()), ""])


def _python() -> str:
    version = sys.version.partition(" ")[0]
    folders = (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix))
    files = [folder / name for folder in folders for name in ("LICENSE.txt", "LICENSE")]
    license_texts = [file.read_text("utf-8", "replace") for file in files if file.is_file()][:1]
    return section(f"Python {version}", "PSF-2.0", "https://www.python.org/", *license_texts)


def _distribution(name: str) -> str:
    distribution = metadata.distribution(name)
    about: Mapping[str, str] = dict(distribution.metadata.items())  # type: ignore[attr-defined]
    classified = [each.rpartition(" :: ")[2] for each in _listed(distribution, "Classifier") if "License ::" in each]
    short = about.get("License", "").partition("\n")[0]
    licence = about.get("License-Expression") or short or ", ".join(classified)
    files = [each for each in distribution.files or [] if TEXT.match(each.name) and each.suffix not in (".py", ".pyc")]
    read = {each.read_binary().decode("utf-8", "replace") for each in files}
    address = about.get("Home-page") or _address(_listed(distribution, "Project-URL"))
    return section(f"{about['Name']} {distribution.version}", licence, address, *sorted(read))


def _listed(distribution: metadata.Distribution, name: str) -> list[str]:
    return [str(each) for each in distribution.metadata.get_all(name) or []]


def _address(links: list[str]) -> str:
    """Returns the home page of a package from its `label, address` entries."""
    by_label = {label.lower(): address for label, _, address in (each.partition(", ") for each in links)}
    return next((by_label[each] for each in LABELS if each in by_label), "")
