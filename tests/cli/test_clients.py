"""The examples of resources/help/clients.md, run literally, each with only the common beginning before it."""

import doctest
import re
from pathlib import Path

import pytest

from tests.service import Api

PAGE = (Path(__file__).resolve().parents[2] / "resources" / "help" / "clients.md").read_text("utf-8")
(BEGINNING,) = re.findall(r"^```python beginning\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```python example\n(.*?)^```\n\n```text shows\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = EXAMPLE.findall(PAGE)
FAMILIES = """
    attachments automations bots contexts data groups notifications oauth orgs packages parser records tickets webhooks
    workers
""".split()


def test_every_example_is_run_and_every_family_has_one() -> None:
    assert len(EXAMPLES) == PAGE.count("```python example")
    for family in FAMILIES:
        assert re.search(rf'"{family}/|f"{family}/', PAGE), family


@pytest.mark.parametrize(("code", "shows"), EXAMPLES, ids=[code.split("\n")[0][:40] for code, _ in EXAMPLES])
def test_an_example_prints_the_documented_output(
    code: str, shows: str, api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HELPDESK_URL", api.url)
    monkeypatch.setenv("HELPDESK_TOKEN", api.token)
    names: dict[str, object] = {}
    exec(compile(BEGINNING + code, "clients.md", "exec"), names)  # noqa: S102, the page is ours
    shown = capsys.readouterr().out
    assert doctest.OutputChecker().check_output(shows, shown, doctest.ELLIPSIS), shown
