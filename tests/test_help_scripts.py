"""The examples of the pages about scripts: KATA texts and their values, templates and their output, automations and
their outcomes."""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server import kata, template
from server.automation.types.automation_log import LEVELS as WORDS
from server.cli import automation
from server.cli.workspace import Workspace, workspace
from server.kata import Environment, Generic
from server.template.expression_parser import LEVELS
from server.template.tag_parser import TAGS

HELP = Path(__file__).resolve().parent.parent / "resources" / "help"
TEMPLATES, KATA, AUTOMATIONS = (
    (HELP / f"{name}.md").read_text("utf-8") for name in ("templates", "kata", "automations")
)
BLOCKS = re.compile(r"^```(\w+ \w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
(VALUES,) = (json.loads(text) for kind, text in BLOCKS.findall(TEMPLATES) if kind == "json vars")
ROW = re.compile(r"^\| `(.*)` \| (?:`(.*)` )?\|$", re.MULTILINE)
PRINTED = [
    (source.replace("\\|", "|"), shown)
    for source, shown in ROW.findall(TEMPLATES.partition("\n## By example\n")[2].partition("\n## ")[0])
]


def examples() -> list[dict[str, str]]:
    """The blocks of each example of an automation, by their kind: run, with, policy, ends."""
    found: list[dict[str, str]] = []
    text = AUTOMATIONS.partition("\n## By example\n")[2].partition("\n## ")[0]
    for kind, content in BLOCKS.findall(text):
        name = kind.partition(" ")[2]
        if name == "run":
            found.append({})
        found[-1][name] = content
    return found


@pytest.mark.parametrize(("source", "shown"), PRINTED, ids=[source for source, _ in PRINTED])
def test_a_template_prints_what_the_page_says(source: str, shown: str) -> None:
    assert template.compile(source).render(VALUES).strip() == shown


def test_every_tag_and_operator_is_documented() -> None:
    assert len(PRINTED) > 25
    tags = TEMPLATES.partition("\n## Tags\n")[2].partition("\n## ")[0]
    assert [name for name in (*TAGS, "verbatim") if f"`{{% {name}" not in tags] == []
    operators = TEMPLATES.partition("\n## Operators\n")[2].partition("\n## ")[0]
    assert [name for name in LEVELS if f"`{name}`" not in operators] == []


def test_a_kata_text_is_the_value_that_the_page_says() -> None:
    blocks = BLOCKS.findall(KATA)
    pairs = [(text, after) for (kind, text), (what, after) in itertools.pairwise(blocks)
             if (kind, what) == ("kata tree", "json value")]  # fmt: skip
    assert len(pairs) == KATA.count("```json value") > 0
    for source, value in pairs:
        assert Generic(Environment()).value(kata.parse(source).tree) == json.loads(value)


@pytest.fixture(scope="module")
def store() -> Iterator[Workspace]:
    """The store for `helpdesk automation run`."""
    with workspace(None) as opened:
        yield opened


@pytest.mark.parametrize("example", examples(), ids=lambda each: each["run"].split("\n")[1].strip())
def test_an_automation_ends_as_the_page_says(example: dict[str, str], store: Workspace) -> None:
    request: dict[str, Any] = {"script": example["run"], "policy": example.get("policy", "")}
    request["vars"] = json.loads(example.get("with", "{}"))
    ended = automation.answer(request, store)
    ended["log"] = [[WORDS[level], node, message] for level, node, message in ended["logs"]]
    expected = json.loads(example["ends"])
    assert {name: ended[name] for name in expected} == expected
    assert len(examples()) >= 4
