"""`helpdesk licenses`: what this program contains of others, and under which licences.

From source this is read from what is installed. build/make_exe.py writes it into the executable, where nothing is
installed, with the libraries of the system that are packed too."""

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

FILE = "licenses.txt"  # beside the folders of the unpacked executable
PROGRAM = "helpdesk"
PACKED = {PROGRAM: ("", "postgresql"), "psycopg": ("", "binary")}  # {package: its extras that are part of the program}
RULE = "=" * 78
EXTRA = re.compile(r"""\s*(?:;|\band\b)\s*extra\s*==\s*["']([^"']*)["']""")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LABELS = ("homepage", "home", "source", "source code", "repository", "github", "documentation")
TEXT = re.compile(r"(?i)^(licen[cs]e|copying|notice|copyright|authors)")


def declare(commands: Any) -> None:
    """Declare the command."""
    command(commands, "licenses", _run)


def _run(options: argparse.Namespace) -> None:
    packed = resources.packed(FILE)
    texts.put(packed.read_text("utf-8") if packed is not None else text(needed()))


def text(packages: Iterable[str]) -> str:
    """The licences of Python and of packages."""
    return "\n".join([_python(), *(_distribution(name) for name in sorted(packages))])


def needed(holds: Callable[[str], bool] = lambda requirement: True) -> list[str]:
    """The names of all packages that the program needs, directly or not, in lower case with hyphens; sorted.

    Extras are left out but those of PACKED, and so is what is not installed: the condition of that requirement does not
    hold here, or nobody asked for the extra. holds: whether that of another one does, for who can tell. Raises NotFound
    when the program itself is not installed."""
    found: set[str] = set()
    left = [PROGRAM]
    while left:
        name = left.pop()
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            if name == PROGRAM:
                raise NotFound("it is not known what this program needs; install it with: pip install .") from None
            continue
        found.add(name)
        plainly = [each for each in required if _extra_of(each) in PACKED.get(name, ("",)) and holds(_plainly(each))]
        wanted = {plain(NAME.match(each)[0]) for each in plainly}  # type: ignore[index]
        left += sorted(wanted - found)
    return sorted(found - {PROGRAM})


def _extra_of(requirement: str) -> str:
    """The extra that a requirement belongs to, "" for none.

    >>> _extra_of("psycopg[binary]<4,>=3.3; extra == 'postgresql'"), _extra_of("nh3<1,>=0.3")
    ('postgresql', '')
    """
    found = EXTRA.search(requirement)
    return found[1] if found else ""


def _plainly(requirement: str) -> str:
    """The same without the extra.

    >>> _plainly('psycopg-binary==3.3.9; implementation_name != "pypy" and extra == "binary"')
    'psycopg-binary==3.3.9; implementation_name != "pypy"'
    >>> _plainly("psycopg[binary]<4,>=3.3; extra == 'postgresql'")
    'psycopg[binary]<4,>=3.3'
    """
    return EXTRA.sub("", requirement)


def plain(name: str) -> str:
    """The name of a package as it is compared.

    >>> plain("Charset_Normalizer")
    'charset-normalizer'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def section(title: str, licence: str, address: str, *parts: str) -> str:
    """One part of the text: what it is, its licence in short, where it comes from, and the licence in full."""
    head = [RULE, title, f"Licence: {licence}" if licence else "", address, RULE]
    body = [part.strip("\n") for part in parts if part.strip()]
    return "\n".join([line for line in head if line] + ["", *("\n\n".join(body).splitlines()), ""])


def _python() -> str:
    version = sys.version.partition(" ")[0]
    folders = (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix))
    files = [folder / name for folder in folders for name in ("LICENSE.txt", "LICENSE")]
    told = [file.read_text("utf-8", "replace") for file in files if file.is_file()][:1]
    return section(f"Python {version}", "PSF-2.0", "https://www.python.org/", *told)


def _distribution(name: str) -> str:
    found = metadata.distribution(name)
    about: Mapping[str, str] = dict(found.metadata.items())  # type: ignore[attr-defined]
    classified = [each.rpartition(" :: ")[2] for each in _listed(found, "Classifier") if "License ::" in each]
    short = about.get("License", "").partition("\n")[0]
    licence = about.get("License-Expression") or short or ", ".join(classified)
    files = [each for each in found.files or [] if TEXT.match(each.name) and each.suffix not in (".py", ".pyc")]
    read = {each.read_binary().decode("utf-8", "replace") for each in files}
    address = about.get("Home-page") or _address(_listed(found, "Project-URL"))
    return section(f"{about['Name']} {found.version}", licence, address, *sorted(read))


def _listed(found: metadata.Distribution, name: str) -> list[str]:
    return [str(each) for each in found.metadata.get_all(name) or []]


def _address(listed: list[str]) -> str:
    """Where a package says that it comes from, among its `label, address`."""
    by_label = {label.lower(): address for label, _, address in (each.partition(", ") for each in listed)}
    return next((by_label[each] for each in LABELS if each in by_label), "")
