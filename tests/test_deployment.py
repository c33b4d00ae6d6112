"""The systemd unit and the container: what they name is what the program knows."""

import configparser
import re
import shlex
from pathlib import Path

from server.__main__ import parser
from server.settings import BY_NAME, PREFIX, load
from server.web.watching import HEALTH

BUILD = Path(__file__).resolve().parent.parent / "build"
DOCKERFILE = (BUILD / "Dockerfile").read_text("utf-8")
IGNORED = (BUILD / "Dockerfile.dockerignore").read_text("utf-8")


def unit() -> configparser.SectionProxy:
    read = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",), strict=False)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string((BUILD / "helpdesk.service").read_text("utf-8"))
    return read["Service"]


def test_the_unit_starts_a_server_that_the_command_line_knows() -> None:
    program, *arguments = shlex.split(unit()["ExecStart"])
    options = parser().parse_args(arguments)
    assert program.endswith("/helpdesk") and options.no_open
    assert options.data == f"/var/lib/{unit()['StateDirectory']}"


def test_the_unit_waits_longer_than_the_server_takes_to_stop() -> None:
    assert int(unit()["TimeoutStopSec"]) >= 2 * int(load({}, {}).stop_seconds)


def test_commands_in_comments_are_commands() -> None:
    texts = (BUILD / "helpdesk.service").read_text("utf-8") + DOCKERFILE
    told = re.findall(r"^#.*?\bhelpdesk ((?:doctor|backup)\b.*)$", texts, re.MULTILINE)
    assert len(told) == 2
    for arguments in told:
        parser().parse_args(shlex.split(arguments))


def test_the_container_sets_what_there_is() -> None:
    set_there = dict(re.findall(rf"\b({PREFIX}\w+)=(\S+)", DOCKERFILE))
    assert set_there and {name.removeprefix(PREFIX).lower() for name in set_there} <= set(BY_NAME)
    settings = load({}, set_there)
    assert settings.host == "0.0.0.0" and f"EXPOSE {settings.port}" in DOCKERFILE
    assert f"http://127.0.0.1:{settings.port}{HEALTH}" in DOCKERFILE


def test_the_container_is_made_of_all_that_setup_needs() -> None:
    kept = {line[1:] for line in IGNORED.splitlines() if line.startswith("!")}
    assert kept == {"server", "console", "resources", "setup.py", "README.md"}
    setup = (BUILD.parent / "setup.py").read_text("utf-8")
    assert all(name in setup for name in kept - {"setup.py"})
