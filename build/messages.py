"""Updates the message catalogs: `make messages`.

Babel collects the messages of Python, of templates and of scripts. The names of settings, record types and their
fields are declared rather than written in calls, so they are collected here. Writes resources/languages/helpdesk.pot
and merges it into each language: there, a new message is untranslated, a changed one is fuzzy, and an unused one is
removed. `--check` changes nothing and fails if a file is out of date."""

import argparse
import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages import Catalog, pofile
from babel.messages.extract import extract
from jinja2.ext import extract_from_ast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from console.forms import controls  # noqa: E402
from console.html.environment import TEMPLATES, environment  # noqa: E402
from server import settings, translation  # noqa: E402
from server.access import rules  # noqa: E402
from server.record_types import describe, registry  # noqa: E402
from server.record_types.field_labels import field_label  # noqa: E402
from server.record_types.shared import custom, points  # noqa: E402

LANGUAGES = ROOT / "resources" / translation.FOLDER
# Functions and the positions of their arguments that Babel extracts; None for all, (1, "c") for a context.
CONTEXT = ((1, "c"), 2)
PYTHON = {
    "_": None, "N_": None, "lazy_gettext": None, "pgettext": CONTEXT, "N_pgettext": CONTEXT, "ngettext": (1, 2),
    "N_ngettext": (1, 2),
}  # fmt: skip
SCRIPTS = {"t": None, "p": CONTEXT}
_LETTERS = re.compile(r"[^\W\d_]{2}")
Message = tuple[str, str | tuple[str, ...], str | None]  # location, message or plural forms, context


def collect() -> Catalog:
    """Returns all messages of the project."""
    catalog = Catalog(
        project="Helpdesk", version="", header_comment="", msgid_bugs_address="", last_translator="", language_team="",
        fuzzy=False,
    )  # fmt: skip
    places: dict[tuple[str | tuple[str, ...], str | None], dict[str, None]] = {}
    for where, message, context in (*_of_python(), *_of_templates(), *_of_scripts(), *_of_declarations()):
        places.setdefault((message, context), {})[where] = None
    for (message, context), found in places.items():
        catalog.add(message, locations=[(where, None) for where in sorted(found)], context=context)
    return catalog


def _of_python() -> Iterator[Message]:
    """Omits the command line, which is in English only."""
    files = (path for part in ("console", "server") for path in (ROOT / part).rglob("*.py"))
    for path in sorted(files):
        if not path.is_relative_to(ROOT / "server" / "cli") and b"translation" in path.read_bytes():
            yield from _extracted("python", path, PYTHON)


def _of_scripts() -> Iterator[Message]:
    for path in sorted((ROOT / "console" / "static").glob("*.js")):
        yield from _extracted("javascript", path, SCRIPTS)


def _extracted(language: str, path: Path, keywords: dict[str, object]) -> Iterator[Message]:
    # Babel warns of f-strings, also of those that are values of a message; ruff (INT001) knows these from messages.
    with path.open("rb") as opened, contextlib.redirect_stderr(io.StringIO()):
        for _line, message, _comments, context in extract(language, opened, keywords):
            yield path.relative_to(ROOT).as_posix(), message, context


def _of_templates() -> Iterator[Message]:
    for path in sorted(TEMPLATES.rglob("*.html")):
        where, syntax = path.relative_to(ROOT).as_posix(), environment().parse(path.read_text("utf-8"))
        functions = [*PYTHON, *(f"html_{name}" for name in ("gettext", "ngettext", "pgettext"))]
        for _line, function, message in extract_from_ast(syntax, functions):
            texts = list(message) if isinstance(message, tuple) else [message]
            texts = texts[: 2 if function.endswith(("ngettext", "pgettext")) else 1]
            if None in texts:  # a variable
                continue
            if function.endswith("pgettext"):
                yield where, texts[1], texts[0]
            else:
                yield where, texts[0] if len(texts) == 1 else tuple(texts), None


def _of_declarations() -> Iterator[Message]:
    """The names of settings, record types and their fields."""
    for setting in settings.SETTINGS:
        for text in filter(None, (setting.help, setting.unit)):
            yield "server/settings.py", text, None
    for text in (*custom.KINDS.values(), *rules.REASONS.values()):
        yield "server/record_types/shared/custom.py", text, None
    patterns = [each.pattern for each in points.POINTS.values()]
    with_variable = [sentence for _, sentence in points.WITH.values()]
    for text in (*patterns, *points.ON_TICKET.values(), *points.OWN.values(), *with_variable):
        yield "server/record_types/shared/points.py", text, None
    types, where = registry.load(), "server/record_types/registry.py"
    for record_type in types:
        texts = [*record_type.label_names]
        for declared in record_type.fields.values():
            control = controls.of_field(types, record_type, controls.Control(declared.name))
            texts += [control.label, control.hint or ""]
        keys = [str(each["key"]) for each in describe.keys(record_type)]
        behind = {f"{each.prefix}_id" for each in record_type.nested}
        names = (*(each for each in keys if "__" not in each and each not in behind), *record_type.nested_by_prefix)
        texts += map(field_label, names)
        for text in filter(_LETTERS.search, texts):
            yield where, str(text), None


def updated(path: Path, messages: Catalog) -> str:
    """Returns the text of a catalog, or of the template, with the current messages."""
    if path.suffix == ".pot":
        catalog = messages
        if path.is_file():
            catalog.creation_date = pofile.read_po(io.BytesIO(path.read_bytes())).creation_date
    else:
        catalog = pofile.read_po(io.BytesIO(path.read_bytes()), locale=path.stem)
        catalog.update(messages, update_header_comment=False)
        catalog.creation_date = messages.creation_date
    written = io.BytesIO()
    pofile.write_po(written, catalog, width=110, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
    return written.getvalue().decode("utf-8")


def main() -> int:
    """Writes the files, or with --check lists those that are out of date."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="change nothing, and fail if a file is out of date")
    is_check = arguments.parse_args().check
    messages = collect()
    paths = [LANGUAGES / translation.TEMPLATE, *sorted(LANGUAGES.glob("*.po"))]
    texts = {path: updated(path, messages) for path in paths}
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'out of date; run `make messages`' if is_check else 'written'}")
        if not is_check:
            path.write_text(texts[path], "utf-8")
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
