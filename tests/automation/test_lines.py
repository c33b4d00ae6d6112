"""Errors of templates at run time are reported with the line of the script."""

import pytest

from server.automation.engine import run
from server.automation.host import Script, StandaloneHost


@pytest.mark.parametrize(("script", "node", "line"), [
    ("start:\n  set:\n    a: 1\n    b: {{nope()}}", "start:set:b", 4),
    ("start:\n  set:\n    a@text:\n      one\n      {{1/0}}\n      x", "start:set:a", 5),
    ("start:\n  set:\n    a:\n      b: {{ [1]|batch('x') }}", "start:set:a", 4),
    ("start:\n  set:\n    a:\n      b@text:\n        {{ [1]|batch('x') }}", "start:set:a", 5),
    ("start:\n  return:\n    c: 1\n    b: {{ 'a' - 'b' }}", "start:return", 4),
    ("# a note\n\nstart:\n  decision/x:\n    outcome/a:\n      if@bool: {{1/0}}\n      then:\n        log: b",
     "start:decision/x:outcome/a", 6),
])  # fmt: skip
def test_the_line_of_a_failing_template(script: str, node: str, line: int) -> None:
    entries = run(Script(script), {}, StandaloneHost()).log
    assert [(each.node, each.message.rpartition(" (line ")[2]) for each in entries] == [(node, f"{line})")]
