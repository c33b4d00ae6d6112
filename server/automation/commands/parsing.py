"""The command that parses a notation: kata.parse."""

from typing import Any

from server import template
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.errors import KataSyntax, TemplateFailed
from server.kata import Environment, Generic, check, encode, parse
from server.template.functions.notations import STEPS_A_LINE

MAX_KATA_CHARS = 1_024_000


@command(
    "kata.parse",
    "Parse a KATA text, and fill in values.",
    Input(
        "kata", "text or map", "The text, or a map that is converted to KATA first.", required=True, max=MAX_KATA_CHARS
    ),
    Input("dict", "map", "The values for its templates.", default={}),
    Input("schema", "map", "The schema it must match."),
    governed=False,
    needs_output=True,
)
def kata_parse(call: CommandCall) -> Any:
    run, source = call.run, call.inputs["kata"]
    values = call.inputs["dict"] or {}

    def render(text: str) -> str:
        return template.compile(text).render(values, run.budget, run.around)

    try:
        text = source if isinstance(source, str) else encode(source)
        run.budget.entries(text.count("\n") * STEPS_A_LINE)
        document = parse(text)
        tree = Generic(Environment(values=values, render=render, read_date=run.read_date)).value(document.tree)
    except (KataSyntax, TemplateFailed) as error:
        raise CommandFailed(f"{error.message} ({call.node.path})") from error
    if call.inputs["schema"]:
        problems = check(tree, call.inputs["schema"])
        if problems:
            first = problems[0]
            raise CommandFailed(f"[{first.path}] {first.message} ({call.node.path})")
    return tree
