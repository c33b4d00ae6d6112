"""The licences of the system libraries that PyInstaller packs into the executable, such as OpenSSL's.

server/cli/licenses.py lists the licences of Python and of its packages, except the libraries in BRINGING."""

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from server.cli.licenses import section

BRINGING = ("psycopg_binary.libs",)  # packages that contain system libraries without their licences
DOCUMENTS = Path("/usr/share/doc")

# For systems without licence files next to libraries: {prefix of the file name: (library, licence)}.
KNOWN = {
    "libbz2": ("bzip2", "bzip2-1.0.6"),
    "libcrypto": ("OpenSSL", "Apache-2.0"),
    "libssl": ("OpenSSL", "Apache-2.0"),
    "libexpat": ("Expat", "MIT"),
    "libffi": ("libffi", "MIT"),
    "libgcc_s": ("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libstdc++": ("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "liblzma": ("XZ Utils", "0BSD"),
    "libmpdec": ("mpdecimal", "BSD-2-Clause"),
    "libsqlite3": ("SQLite", "blessing (public domain)"),
    "libuuid": ("util-linux", "BSD-3-Clause"),
    "libz": ("zlib", "Zlib"),
    "libpq": ("PostgreSQL", "PostgreSQL"),
    "libldap": ("OpenLDAP", "OLDAP-2.8"),
    "liblber": ("OpenLDAP", "OLDAP-2.8"),
    "libsasl2": ("Cyrus SASL", "BSD-4-Clause-UC with the attribution of Carnegie Mellon University"),
    "libgssapi_krb5": ("MIT Kerberos", "MIT"),
    "libkrb5": ("MIT Kerberos", "MIT"),
    "libk5crypto": ("MIT Kerberos", "MIT"),
    "libcom_err": ("MIT Kerberos", "MIT"),
    "libkeyutils": ("keyutils", "LGPL-2.1-or-later"),
    "libcrypt-": ("libxcrypt", "LGPL-2.1-or-later"),
    "vcruntime": ("Microsoft Visual C++ runtime", "as redistributable code of Visual Studio"),
    "msvcp": ("Microsoft Visual C++ runtime", "as redistributable code of Visual Studio"),
    "ucrtbase": ("Microsoft C runtime", "as part of Windows"),
    "api-ms-win-": ("Microsoft C runtime", "as part of Windows"),
}


def text(binaries: Iterable[tuple[str, str]]) -> str:
    """Returns the licences of the system libraries among all binaries, given as (name inside, file).

    Raises SystemExit for one whose licence is neither installed nor known."""
    by_licence: dict[tuple[str, str, str], list[str]] = {}
    for name, file in sorted(binaries):
        if _is_system(Path(file)):
            by_licence.setdefault(_licence(Path(file)), []).append(Path(name).name)
    return "\n".join(
        section(f"{title}: {', '.join(names)}", licence, "", full)
        for (title, licence, full), names in sorted(by_licence.items())
    )


def _is_system(file: Path) -> bool:
    """Whether a library belongs neither to Python nor to a package. On Windows, Python's own licence covers the
    libraries next to it."""
    if file.parent.name in BRINGING:
        return True
    paths = sysconfig.get_paths()
    folders = [paths["platlib"], paths["purelib"], paths["platstdlib"], paths["stdlib"]]
    if os.name == "nt":
        folders.append(sysconfig.get_config_var("installed_base"))
    inside = any(file.resolve().is_relative_to(Path(folder).resolve()) for folder in folders)
    return not inside and not re.match(r"(?i)(lib)?python[0-9]", file.name) and file.name != "Python"


def _licence(file: Path) -> tuple[str, str, str]:
    """Returns (library, short name of its licence, full text of its licence)."""
    for package in _owners(file):
        document = DOCUMENTS / package / "copyright"
        if document.is_file():
            return package, "as below", document.read_text("utf-8", "replace")
    for beginning, (title, licence) in KNOWN.items():
        if file.name.lower().startswith(beginning):
            return title, licence, ""
    raise SystemExit(f"{file} would be packed without its licence; add it to build/system_licenses.py")


def _owners(file: Path) -> list[str]:
    """Returns the Debian packages that contain a file; empty on other systems."""
    real = str(file.resolve())
    names = [real, real.removeprefix("/usr") if real.startswith("/usr/") else f"/usr{real}"]
    try:
        found = [subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True) for name in names]
    except OSError:
        return []
    return [line.partition(":")[0] for each in found if each.returncode == 0 for line in each.stdout.splitlines()]
