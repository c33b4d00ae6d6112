"""The systemd unit and the container: commands, settings and paths in them exist in the program."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from server.__main__ import main
from server.cli.commands import parser
from server.settings import BY_NAME, PREFIX, is_address, load
from server.web.monitoring import HEALTH

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


def test_the_unit_of_several_processes_starts_servers_that_the_command_line_knows() -> None:
    text = (BUILD / "helpdesk@.service").read_text("utf-8")
    read = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",), strict=False)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string(text)
    program, *arguments = shlex.split(read["Service"]["ExecStart"].replace("%i", "8201"))
    options = parser().parse_args(arguments)
    assert program.endswith("/helpdesk") and options.no_open and options.port == "8201"
    hardening = re.compile(r"^(?:Protect|Restrict|Private|Lock|NoNew|SystemCall|Capability).*$", re.MULTILINE)
    assert hardening.findall(text) == hardening.findall((BUILD / "helpdesk.service").read_text("utf-8"))


def test_the_containers_with_postgresql_set_what_there_is() -> None:
    told = yaml.safe_load((BUILD / "compose.yaml").read_text("utf-8"))
    for name, role in (("web", "web"), ("worker", "worker")):
        settings = load({}, told["services"][name]["environment"])
        assert settings.role == role and is_address(settings.database.replace("${POSTGRES_PASSWORD}", "x"))
    assert told["services"]["database"]["environment"]["POSTGRES_DB"] == settings.database.rpartition("/")[2]


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
    assert kept == {"server", "console", "resources", "setup.py", "README.md", "build/requirements"}
    setup = (BUILD.parent / "setup.py").read_text("utf-8")
    assert all(name in setup for name in kept - {"setup.py", "build/requirements"})
    assert "/source/build/requirements/postgresql.txt" in DOCKERFILE


def test_alert_rules_are_about_metrics_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts"]) == 0
    rules = [rule for group in yaml.safe_load(capsys.readouterr().out)["groups"] for rule in group["rules"]]
    documented = (BUILD.parent / "resources" / "help" / "metrics.md").read_text("utf-8")
    known = set(re.findall(r"^\| `(helpdesk_\w+)` \|", documented, re.MULTILINE))
    assert len({rule["alert"] for rule in rules}) == len(rules) > 8
    for rule in rules:
        named = {each.removesuffix("_bucket") for each in re.findall(r"\bhelpdesk_\w+", rule["expr"])}
        assert named <= known and (named or "up{" in rule["expr"]), rule
        assert rule["labels"]["severity"] in ("critical", "warning") and rule["annotations"].keys() == {
            "summary", "description"
        }  # fmt: skip


SYSTEMD = shutil.which("systemd-analyze")
if SYSTEMD is not None:  # the check needs systemd-analyze

    def test_systemd_takes_the_unit(tmp_path: Path) -> None:
        """Every line of the unit, with a stand-in for the installed program."""
        text = (BUILD / "helpdesk.service").read_text("utf-8").replace("/usr/local/bin/helpdesk", sys.executable)
        made = tmp_path / "helpdesk.service"
        made.write_text(text, "utf-8")
        asked = [str(SYSTEMD), "verify", "--man=no", str(made)]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=60)
        assert [line for line in told.stderr.splitlines() if "helpdesk.service" in line] == []


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that the container installs, built from the copied files alone; its dependencies are already
    installed."""
    folder = tmp_path_factory.mktemp("container")
    (folder / "source").mkdir()
    for line in IGNORED.splitlines():
        if line.startswith("!"):
            there, made = BUILD.parent / line[1:], folder / "source" / line[1:]
            if there.is_dir():
                shutil.copytree(there, made, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(there, made)
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build", "--build-lib", str(folder / "lib")], cwd=folder / "source",
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "lib"


def environment(**more: str) -> dict[str, str]:
    """The variables that the container sets."""
    (told,) = re.findall(r"^ENV ((?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
    return dict(pair.split("=", 1) for pair in told.replace("\\\n", " ").split()) | more


@pytest.mark.exhaustive("an installation of its own")
def test_what_the_container_installs_serves_and_its_health_check_tells(installed: Path, tmp_path: Path) -> None:
    """Entry point, command, variables and health check of the Dockerfile, in an empty folder."""
    lines = re.findall(r"^(?:ENTRYPOINT|CMD) .*$", DOCKERFILE, re.MULTILINE)
    assert lines == ['ENTRYPOINT ["helpdesk"]', 'CMD ["serve"]']
    mine = environment(HELPDESK_DATA=str(tmp_path / "data"), HELPDESK_PORT="0", PYTHONPATH=str(installed))
    mine |= {"PATH": os.environ["PATH"], "PYTHONSAFEPATH": "1"}
    # Ignores the editable installation, whose source would be found first.
    program = "import sys; sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in repr(each).lower()]"
    program += "; import server.__main__ as m; print(m.__file__, flush=True); sys.exit(m.main(sys.argv[1:]))"
    running = subprocess.Popen(
        [sys.executable, "-c", program, "serve"], cwd=tmp_path, env=mine, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert running.stdout is not None
        assert Path(running.stdout.readline().strip()).is_relative_to(installed)
        port = json.loads(running.stdout.readline())["url"].rpartition(":")[2]
        assert port.isdigit()
        (check,) = re.findall(r'CMD \["python", "-c", \\\n\s*"(.*)"\]', DOCKERFILE)
        assert "/health" in check
        for sent, code in ((check.replace(":8200", f":{port}"), 0), (check.replace(":8200", ":1"), 1)):
            asked = subprocess.run([sys.executable, "-c", sent], capture_output=True, timeout=60)
            assert asked.returncode == code, asked.stderr
    finally:
        running.terminate()
        assert running.wait(30) == 0
