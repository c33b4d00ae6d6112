"""`expand:` of answers that hold records as `<name>_id` and `<name>__context`: their keys, under the same name."""

from collections.abc import Sequence
from typing import Any

from server.records.dictionary import MAX_PATH_CHARS, MAX_PATHS, Dictionaries


def paths_of(words: Sequence[str]) -> list[str]:
    """The items of `expand:` that can be keys."""
    return [word for word in dict.fromkeys(words) if word and len(word) <= MAX_PATH_CHARS][:MAX_PATHS]


def expanded(shown: Dictionaries, dictionaries: list[dict[str, Any]], words: Sequence[str]) -> None:
    """Put the keys of records into the dictionaries: `group_` opens what `group_id` and `group__context` name."""
    if not dictionaries:
        return
    for path in paths_of(words):
        names = [key.removesuffix("__context") for key in dictionaries[0] if key.endswith("__context")]
        fits = [name for name in names if path == name or path.startswith(f"{name}_")]
        if fits:
            name = max(fits, key=len)
            targets = [(str(each[f"{name}__context"]), int(each[f"{name}_id"] or 0)) for each in dictionaries]
            shown.open_under(name, targets, dictionaries, [path[len(name) + 1 :]])
