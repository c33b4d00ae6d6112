"""The recipes of the cookbook as packages. The help page of a recipe is its only source: script, policy, bindings and
the rest of the package are read from its fenced blocks."""

import json
import re
from functools import cache
from typing import Any

from server import resources
from server.dataclass import dataclass
from server.errors import NotFound, nearest
from server.packages import package_document as documents
from server.packages.package_document import Tree

FOLDER, ENDING = ("help", "cookbook"), ".md"
FUNCTION = "svc.trigger.automation.function"
# The first prompts of every recipe.
NAME, DISABLED = "name", "disabled"
_BLOCK = re.compile(
    r"^```(?:kata|json) (script|policy|binding|package)(?: ([\w.]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FACT = re.compile(r"^- \*\*(Started by|Needs):\*\* (.+)$", re.MULTILINE)
_MARKS = re.compile(r"\[?`?([^`\[\]]+)`?\]\([^)]*\)|`")  # links and code of Markdown, replaced by their text
_TEXT_OF = {"script": "script", "policy": "policy_kata", "binding": "automations_kata"}


@dataclass(frozen=True)
class Recipe:
    """A recipe. about: its purpose in one sentence. starts: its trigger. needs: its requirements. first: the uid of the
    automation that is opened after the import. policies: of its automations."""

    name: str
    title: str
    about: str
    starts: str
    needs: str
    first: str
    policies: tuple[str, ...]
    package: Tree

    @property
    def main(self) -> Tree:
        """The automation that is opened after the import."""
        return next(each for each in self.package["records"] if each["uid"] == self.first)


def names() -> list[str]:
    """Returns the names of all recipes, sorted."""
    return sorted(path.name.removesuffix(ENDING) for path in resources.path(*FOLDER).glob(f"*{ENDING}"))


def recipe(name: str) -> Recipe:
    """Returns one recipe. Raises NotFound."""
    recipes = names()
    if name not in recipes:
        hint = nearest(name, recipes) or f"; there are {', '.join(recipes)}"
        raise NotFound(f"there is no recipe '{name[:80]}'{hint}")
    return _read(name)


@cache
def _read(name: str) -> Recipe:
    return read(name, resources.path(*FOLDER, f"{name}{ENDING}").read_text("utf-8"))


def read(name: str, page: str) -> Recipe:
    """Parses a recipe from its page. Raises ValueError for a block that does not belong to a record."""
    title = _TITLE.search(page)
    blocks = {(kind, uid): text for kind, uid, text in _BLOCK.findall(page)}
    if title is None or ("package", "") not in blocks:
        raise ValueError(f"{name}: a recipe has a heading, and a block `json package`")
    about = " ".join(page[title.end() :].strip().partition("\n\n")[0].split())
    facts = {name: _MARKS.sub(r"\1", text) for name, text in _FACT.findall(page)}
    package: Tree = json.loads(blocks.pop(("package", "")))
    records: dict[str, Tree] = {each["uid"]: each for each in package["records"]}
    events: list[Tree] = []
    for (kind, uid), text in blocks.items():
        if kind == "binding" and uid not in records:
            events.append({"event": uid, "kata": text})
        elif uid in records:
            records[uid][_TEXT_OF[kind]] = text
        else:
            raise ValueError(f"{name}: there is no record '{uid}' for the block `{kind}`")
    automations = [each for each in package["records"] if each["_context"] == "automation"]
    automations[0].setdefault("description", about)
    prompts = [*_common(package.pop("name")), *package.pop("prompts")]
    head = {
        "name": title[1],
        "revision": 1,
        "requires": {"svc_version": "1.0.0", "plugins": []},
        "configure": {"prompts": prompts, "placeholders": []},
    }
    return Recipe(
        name,
        title[1],
        about,
        facts.get("Started by", ""),
        facts.get("Needs", ""),
        automations[0]["uid"],
        tuple(each["policy_kata"] for each in automations),
        {"package": head, **package, **({"events": events} if events else {})},
    )


def _common(name: str) -> list[Tree]:
    return [
        {"type": "text", "label": "Name of the automation", "key": NAME, "params": {"default": name, "format": "name"}},
        {
            "type": "picklist",
            "label": "After it is created",
            "key": DISABLED,
            "params": {
                "options": {"It runs": "no", "It is disabled, until you enable its binding": "yes"},
                "default": "no",
            },
        },
    ]


def with_defaults(package: Tree, answers: Tree) -> Tree:
    """Returns the answers, with the defaults of prompts that have none."""
    document = documents.read(package)
    defaults: dict[str, Any] = {}
    for prompt in document.prompts:
        default = (prompt.get("params") or {}).get("default")
        if default is not None:
            defaults[prompt["key"]] = default
    return defaults | {key: each for key, each in answers.items() if each not in (None, "")}
