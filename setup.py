"""What `pip install` needs to know. Tool settings are in pyproject.toml, the executable is described by helpdesk.spec.

build/ holds our own scripts, so the scratch folders of setuptools are pointed to .work/.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
SCRATCH = ".work"
POSTGRESQL = "psycopg[binary]>=3.3,<4"

(ROOT / SCRATCH).mkdir(exist_ok=True)  # egg_info fails when its folder is missing


def version() -> str:
    """The one version number, read as text: importing the package would need what is being installed."""
    found = re.search(r'^VERSION = "([^"]+)"', (ROOT / "server" / "settings.py").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit('server/settings.py has no line VERSION = "..."')
    return found.group(1)


packages = find_packages(include=["server", "server.*", "console", "console.*"])
package_dir: dict[str, str] = {}
package_data = {"console": ["templates/**/*", "static/**/*"]}
if (ROOT / "resources").is_dir():
    # Inside our own package, so that nothing called "resources" lies beside other people's packages.
    packages.append("server.shipped")
    package_dir["server.shipped"] = "resources"
    package_data["server.shipped"] = ["**/*"]

setup(
    name="helpdesk",
    version=version(),
    description="A helpdesk service: mail becomes tickets, with a REST API, automations and a console",
    long_description=(ROOT / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.11",
    packages=packages,
    package_dir=package_dir,
    package_data=package_data,
    exclude_package_data={
        "server.shipped": ["screenshots/*"],  # pictures of README.md
        "console": ["templates/__pycache__/*"],
    },
    install_requires=[
        "tornado>=6.6,<7",
        "Jinja2>=3.1.6,<4",
        "MarkupSafe>=3,<4",  # of Jinja2
        "peewee>=4.5,<5",
        "apsw>=3.54,<4",
        "mistune>=3.4,<4",
        "bleach>=6.4,<7",
        "nh3>=0.3,<1",
        "css-inline>=0.24,<1",  # style sheets as attributes; premailer takes seven packages and six times the start
        "polib>=1.2,<2",
        "requests>=2.34,<3",
        "oauthlib>=4.0.1,<5",
        "argon2-cffi>=25.1,<26",
        "google-re2>=1.1,<2",
        "prometheus-client>=0.26,<1",
        "tzdata>=2026.1",
        "PyYAML>=6,<7",
        "IMAPClient>=4.1,<5",
        "aiosmtpd>=1.4.6,<2",
        "dnspython>=2.9,<3",  # name servers: packets that were cut, long answers, the settings of Windows
        "dkimpy>=1.1.8,<2",  # signs mail; cryptography makes the keys
        "cryptography>=46,<51",
        "joserfc>=1.8,<2",  # signed tokens of sign-in providers; needs cryptography alone
        "fido2>=2.2,<3",  # passkeys: CBOR, COSE keys and attestation; needs cryptography alone
        "idna>=3.10,<4",  # host names beyond ASCII: Python's own codec is of 2003, and leads to others' domains
        "segno>=1.6,<2",  # QR codes as SVG: error correction and masks are a day's work, and it needs nothing itself
    ],
    extras_require={
        "postgresql": [POSTGRESQL],  # for databases that are no file; in the executable, too
        "test": [
            POSTGRESQL,
            "pytest>=9,<10",
            "jsonschema-rs>=0.60,<1",
            "openapi-spec-validator>=0.9,<0.10",
            "schemathesis>=4.32,<5",
            "Babel>=2.17,<3",  # collects the messages of templates, scripts and Python for the files of languages
            "openapi-python-client>=0.29.1,<0.30",
            "mypy>=2.4,<3",
            "ruff>=0.17,<0.18",
            "types-bleach>=6.4,<7",
            "types-PyYAML>=6,<7",
            "types-oauthlib>=4.0,<5",
            "requests-oauthlib>=2.0,<3",
            "Authlib>=1.9,<2",
            "mcp>=2.3,<3",  # the official client of the Model Context Protocol, for the tools for assistants
            "standardwebhooks>=1.1,<2",  # verifies what outgoing webhooks sign, as a receiver does
            "playwright>=1.55,<2",  # drives the Chromium that is installed; it brings none
        ],
        "build": ["pyinstaller>=6.22,<7"],
    },
    entry_points={"console_scripts": ["helpdesk = server.__main__:main"]},
    options={
        "build": {"build_base": f"{SCRATCH}/build"},
        "egg_info": {"egg_base": SCRATCH},
    },
    classifiers=[
        "Environment :: Web Environment",
        "Intended Audience :: Customer Service",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Topic :: Communications :: Email",
    ],
)
