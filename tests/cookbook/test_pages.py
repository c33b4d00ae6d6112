"""The pages of the cookbook: shell commands produce the printed output, and texts agree with each other."""

import doctest
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.errors import NotFound
from server.packages import recipes
from tests.service import ROOT, Api, Server, command
from tests.test_help_examples import BLOCK, HELP
from tests.test_tour import typed

PAGES = {name: BLOCK.findall((HELP / "cookbook" / f"{name}.md").read_text("utf-8")) for name in recipes.names()}
HEADINGS = ("Set it up", "Try it", "What can go wrong")
PACKAGE = '{"name": "x", "prompts": [], "records": [{"uid": "a", "_context": "automation"}]}'
OPENSSL = """import hashlib, hmac, sys
print("stdin= " + hmac.new(sys.argv[-1].encode(), sys.stdin.buffer.read(), hashlib.sha256).hexdigest())"""


@pytest.fixture(scope="module")
def nora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, dict[str, str]]]:
    """A client, and the environment of the shell."""
    folder = tmp_path_factory.mktemp("cookbook")
    python = shlex.quote(sys.executable)
    programs = {"helpdesk": f"PYTHONPATH={shlex.quote(str(ROOT))} exec {python} -m server"}
    if not shutil.which("curl"):
        programs["curl"] = f"exec {python} {shlex.quote(str(ROOT / 'tests' / 'tour' / 'curl.py'))}"
    if not shutil.which("openssl"):
        programs["openssl"] = f"exec {python} -c {shlex.quote(OPENSSL)}"
    for name, text in programs.items():
        (folder / name).write_text(f'#!/bin/sh\n{text} "$@"\n')
        (folder / name).chmod(0o755)
    server = Server(folder / "data")
    client = server.set_up()
    yield client, {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HELPDESK_URL": client.url,
        "HELPDESK_TOKEN": client.token, "HELPDESK_DATA": str(server.data),
    }  # fmt: skip
    assert server.stop() == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_recipe_is_set_up_and_tried_as_its_page_says(
    name: str, nora: tuple[Api, dict[str, str]], tmp_path: Path
) -> None:
    steps = PAGES[name]
    shown = typed([text for text, _ in steps], tmp_path, nora[1])
    compared = doctest.OutputChecker()
    for (text, expected), got in zip(steps, shown, strict=True):
        if expected:
            assert compared.check_output(expected, got, doctest.ELLIPSIS), f"{text}\nshows:\n{got}\nnot:\n{expected}"
        assert '"__error"' not in got, got


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_all_parts_and_stands_in_the_list(name: str) -> None:
    page = (HELP / "cookbook" / f"{name}.md").read_text("utf-8")
    recipe = recipes.recipe(name)
    assert [heading for heading in HEADINGS if f"\n## {heading}\n" not in page] == []
    assert recipe.starts and recipe.needs and recipe.about.endswith(".") and recipe.about.count(". ") == 0
    listed = (HELP / "cookbook.md").read_text("utf-8")
    assert re.search(rf"\(cookbook/{re.escape(name)}\.md\) \| {re.escape(recipe.about)} \|", listed)
    assert PAGES[name], "how to set it up with curl"


def test_all_recipes_are_listed_by_the_api(nora: tuple[Api, dict[str, str]]) -> None:
    listed = nora[0].get("/rest/packages/recipes.json").ok()
    assert [each["name"] for each in listed["results"]] == recipes.names() and listed["total"] == 12
    first = listed["results"][0]
    assert first["prompts"][0]["key"] == "name" and first["title"] == recipes.recipe(first["name"]).title


@pytest.mark.parametrize(("sent", "status", "message"), [
    ({"recipe": "githup"}, 404, "did you mean 'github'"),
    ({"recipe": "../starter"}, 404, "there is no recipe"),
    ({"recipe": "github", "package_json": "{}"}, 409, "either package_json or recipe"),
    ({"recipe": "github", "grants": 1}, 422, "prompts[group_id]"),
    ({"recipe": "masking", "prompts[name]": "mask.more"}, 422, "Send grants=1"),
    ({"recipe": "masking", "grants": 1, "prompts[name]": "a b"}, 422, "must have at most 60 letters"),
    ({}, 422, "package_json"),
])  # fmt: skip
def test_a_wrong_request_for_a_recipe(
    nora: tuple[Api, dict[str, str]], sent: dict[str, str], status: int, message: str
) -> None:
    answer = nora[0].post("/rest/packages/import.json", **sent)
    assert answer.status == status and message in str(answer.json), answer


def test_a_recipe_on_the_command_line(tmp_path: Path) -> None:
    made = command("package", "import", "cookbook/masking", "--grants", data=tmp_path / "data")
    assert made.returncode == 0 and b'"mail.masking"' in made.stdout, made.stderr
    refused = command("package", "import", "cookbook/maskin", "--grants", data=tmp_path / "data")
    assert refused.returncode == 1 and b"did you mean 'masking'" in refused.stderr


@pytest.mark.parametrize("page", [
    "no heading\n", "# Title\n\nText.\n",
    f"# T\n\nX.\n\n```kata script b\na:\n```\n\n```json package\n{PACKAGE}\n```\n",
])  # fmt: skip
def test_a_page_that_is_no_recipe_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="x: "):
        recipes.read("x", page)
    with pytest.raises(NotFound):
        recipes.recipe("cookbook")
