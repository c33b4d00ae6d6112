"""Shell completion, tested in a real bash; and the shipped completion files match the command line."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server.__main__ import main
from server.cli.commands import parser
from server.cli.completion import FORMS, walk
from server.settings import SETTINGS

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = list(walk(parser()))
PROGRAM = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_helpdesk
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "helpdesk.bash"
    file.write_text(FORMS["bash"](COMMANDS))
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder in which completion runs."""
    (tmp_path / "desk data").mkdir()
    (tmp_path / "backup one.db").write_text("")
    return tmp_path


def completed(script: Path, folder: Path, *words: str) -> set[str]:
    """The completions that bash offers for the last word."""
    shell = shutil.which("bash")
    assert shell is not None
    done = subprocess.run(
        [shell, "--norc", "-c", PROGRAM, "bash", str(script), "helpdesk", *words],
        cwd=folder, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done
    return set(done.stdout.splitlines()) - {""}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("ser",), {"serve"}),
        (("serve", "--po"), {"--port"}),
        (("worker", ""), {"create", "invite", "recover", "sign-in-link", "-h", "--help"}),
        (("worker", "create", "--adm"), {"--admin"}),
        (("serve", "--data", ""), {"desk data"}),
        (("serve", "--port", ""), set()),
        (("serve", "--data", "worker", "--no"), {"--no-open"}),
        (("restore", "back"), {"backup one.db"}),
        (("backup", "ver"), {"verify"}),
        (("backup", "verify", "backup"), {"backup one.db"}),
        (("completion", ""), {"bash", "zsh", "fish", "powershell", "man", "-h", "--help"}),
        (("nonsense", "dep"), set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bash_offers_what_may_stand_there(
    script: Path, folder: Path, words: tuple[str, ...], offered: set[str]
) -> None:
    assert completed(script, folder, *words) == offered


def test_bash_offers_every_command(script: Path, folder: Path) -> None:
    assert set(COMMANDS[0].below) <= completed(script, folder, "")


@pytest.mark.parametrize("form", FORMS)
def test_the_command_prints_each_form_and_every_command_is_in_it(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", form]) == 0
    shown = capsys.readouterr().out
    assert shown == FORMS[form](COMMANDS) and shown.endswith("\n")
    for command in COMMANDS:
        if not command.below:
            name = command.words.partition(" ")[2]
            title = name.replace("-", "\\-")
            assert f'.SS "{title}"' in shown if form == "man" else f"helpdesk {name}" in shown, name


def test_the_man_page_lists_every_setting_and_is_valid_roff() -> None:
    page = FORMS["man"](COMMANDS)
    for setting in SETTINGS:
        assert f".B {setting.variable}\n" in page
    assert all(re.match(r"\.(TH|SH|SS|B|TP|PP)\b", line) for line in page.splitlines() if line.startswith("."))
    assert not re.search(r"[^\\]-", page.replace(' "', ""))


def test_the_files_that_ship_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "build" / "completions.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_powershell_is_told_every_command_option_and_choice() -> None:
    text = FORMS["powershell"](COMMANDS)
    for command in COMMANDS:
        block = text.partition(f"        '{command.words}' = [ordered]@{{\n")[2].partition("\n        }\n")[0]
        names = [*command.below, *(flag for each in command.options for flag in each.flags)]
        assert [name for name in names if f"            '{name}' = '" not in block] == [], command.words
        for each in command.options:
            if each.shown:
                choices = ", ".join(f"'{choice}'" for choice in each.choices)
                assert all(f"        '{command.words} {flag}' = @({choices})\n" in text for flag in each.flags)
    without_texts = re.sub(r"'(?:[^'\n]|'')*'", "", text)
    assert "'" not in without_texts and without_texts.count("{") == without_texts.count("}")
