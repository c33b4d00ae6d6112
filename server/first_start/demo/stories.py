"""The stories of the demo, from resources/demo/stories.toml."""

import tomllib
from functools import cache
from typing import Any

from server import resources
from server.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a story. who: us, them, or note. file: a kind of demo_files.py, "" for none."""

    who: str
    text: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """A story. who: the kind of customer. ends: closed, deleted or spam. is_html: whether the first mail has HTML for
    every customer."""

    subject: str
    text: str
    group: str
    bucket: str
    who: str
    turns: tuple[Turn, ...]
    ends: str
    is_html: bool
    files: tuple[str, ...]


@cache
def stories() -> tuple[Story, ...]:
    """Returns all stories, in the order of the file."""
    content = tomllib.loads(resources.path("demo", "stories.toml").read_text("utf-8"))
    return tuple(map(_story, content["story"]))


def _story(entry: dict[str, Any]) -> Story:
    group, _, bucket = entry["place"].partition(" / ")
    turns = tuple(Turn(who, text.strip(), *file) for who, text, *file in entry.get("then", ()))
    return Story(
        entry["subject"],
        entry["text"].strip(),
        group,
        bucket,
        entry["who"],
        turns,
        entry.get("ends", "closed"),
        entry.get("looks") == "html",
        tuple(entry.get("files", ())),
    )
