"""`expand:` for results that name records by `<name>_id` and `<name>__context`: adds the keys of these records."""

from collections.abc import Sequence
from typing import Any

from server.records.dictionary import MAX_PATH_CHARS, MAX_PATHS, Dictionaries


def paths_of(words: Sequence[str]) -> list[str]:
    """Returns the items of `expand:` that are possible keys."""
    return [word for word in dict.fromkeys(words) if word and len(word) <= MAX_PATH_CHARS][:MAX_PATHS]


def expanded(builder: Dictionaries, dictionaries: list[dict[str, Any]], words: Sequence[str]) -> None:
    """Adds the keys of records to the dictionaries: `group_` expands the record of `group_id` and `group__context`."""
    if not dictionaries:
        return
    for path in paths_of(words):
        names = [key.removesuffix("__context") for key in dictionaries[0] if key.endswith("__context")]
        fits = [name for name in names if path == name or path.startswith(f"{name}_")]
        if fits:
            name = max(fits, key=len)
            targets = [(str(each[f"{name}__context"]), int(each[f"{name}_id"] or 0)) for each in dictionaries]
            builder.open_under(name, targets, dictionaries, [path[len(name) + 1 :]])
