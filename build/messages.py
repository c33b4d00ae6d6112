"""Collects what people are shown, and brings the files of languages up to date: `make messages`.

Finds messages in the templates (all that they say), in calls of the functions of server/translation.py, in what is
given to parameters and fields annotated `Words`, and in scripts (`t("…")`). Writes resources/languages/helpdesk.pot and
merges it into each language beside it: what is new stands there untranslated, what changed is marked as fuzzy, what is
no more goes. `--check` changes nothing and fails when a file is not up to date."""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polib

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from console.forms import controls  # noqa: E402
from console.html import script_words, sheet, template_words  # noqa: E402
from server import settings, translation  # noqa: E402
from server.access import rules  # noqa: E402
from server.records import describe, registry  # noqa: E402
from server.records.shared import custom, points  # noqa: E402

LANGUAGES = ROOT / "resources" / translation.FOLDER
TEMPLATES = ROOT / "console" / "templates"
HEADER = {
    "Project-Id-Version": "Helpdesk",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Transfer-Encoding": "8bit",
}
_LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass
class Found:
    """messages: {(message, plural or ""): where}, in the order of files. unmarked: texts put together where a message
    is expected, which nobody can translate."""

    messages: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    unmarked: list[str] = field(default_factory=list)

    def add(self, where: str, message: str, plural: str = "") -> None:
        """Note a message; one that a file says twice stands there once."""
        places = self.messages.setdefault((message, plural), [])
        if where not in places:
            places.append(where)


def collect() -> Found:
    """All messages of the project."""
    found = Found()
    takers = _takers()
    for path in _modules():
        _of_python(found, path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8")), takers)
    for path in sorted(TEMPLATES.rglob("*.html")):
        _of_template(found, path.relative_to(ROOT).as_posix(), path.read_text("utf-8"), takers)
    _of_declarations(found)
    for path in sorted(script_words.FOLDER.glob("*.js")):
        _of_script(found, path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    return found


def _modules() -> list[Path]:
    """Those that people read something of: the command line speaks English."""
    found = (path for part in ("console", "server") for path in (ROOT / part).rglob("*.py"))
    return sorted(path for path in found if not path.is_relative_to(ROOT / "server" / "cli"))


# -- what is declared -------------------------------------------------------------------------------------------------


def _of_declarations(found: Found) -> None:
    """What settings, record types and their keys are called."""
    for setting in settings.SETTINGS:
        for text in filter(None, (setting.help, setting.unit)):
            found.add("server/settings.py", text)
    for text in (*custom.KINDS.values(), *rules.REASONS.values()):
        found.add("server/records/shared/custom.py", text)
    patterns = [each.pattern for each in points.POINTS.values()]
    for text in (*patterns, *points.ON_TICKET.values(), *points.OWN.values()):
        found.add("server/records/shared/points.py", text)
    types = registry.load()
    for record_type in types:
        where = f"record types, {record_type.uri}"
        for name in record_type.label_names:
            found.add(where, name)
        for declared in record_type.fields.values():
            control = controls.of_field(types, record_type, controls.Control(declared.name))
            for text in filter(_LETTERS.search, (control.label, control.hint or "")):
                found.add(where, text)
        keys = [str(each["key"]) for each in describe.keys(record_type)]
        behind = {f"{each.prefix}_id" for each in record_type.nested}
        names = (*(each for each in keys if "__" not in each and each not in behind), *record_type.nested_by_prefix)
        for name in map(sheet.named, names):
            if _LETTERS.search(name):
                found.add(where, name)


# -- who takes messages ------------------------------------------------------------------------------------------------

Takers = dict[str, list[tuple[str, int]]]  # function or class: its parameters for words, with their places


def _takers() -> Takers:
    takers: Takers = {}
    for path in _modules():
        text = path.read_text("utf-8")
        if "Words" in text:
            for node in ast.walk(ast.parse(text)):
                for name, place in _words_of(node):
                    takers.setdefault(node.name, []).append((name, place))  # type: ignore[attr-defined]
    return takers


def _words_of(node: ast.AST) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.FunctionDef):
        given = [*node.args.posonlyargs, *node.args.args]
        given = given[1:] if given and given[0].arg in ("self", "cls") else given
        for place, each in enumerate(given):
            if _is_words(each.annotation):
                yield each.arg, place
        yield from ((each.arg, -1) for each in node.args.kwonlyargs if _is_words(each.annotation))
    elif isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
        for place, field_ in enumerate(fields):
            if _is_words(field_.annotation):
                yield field_.target.id, place  # type: ignore[union-attr]


def _is_words(annotation: ast.AST | None) -> bool:
    return annotation is not None and re.fullmatch(r"Words( \| None)?", ast.unparse(annotation)) is not None


# -- what they are given -----------------------------------------------------------------------------------------------


def _of_python(found: Found, where: str, tree: ast.AST, takers: Takers) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("_", "N_", "shown", "lazy_gettext"):
                _given(found, where, node.args[:1])
            elif name in ("pgettext", "N_pgettext"):
                _in_context(found, where, node.args)
            elif name in ("ngettext", "N_ngettext"):
                _plural(found, where, node.args)
            else:
                _given(found, where, _for_words(node, takers.get(name, [])))


def _for_words(call: ast.Call, parameters: list[tuple[str, int]]) -> Iterator[ast.AST]:
    is_spread = any(isinstance(each, ast.Starred) for each in call.args)
    for name, place in parameters:
        if 0 <= place < len(call.args) and not is_spread:
            yield call.args[place]
        yield from (each.value for each in call.keywords if each.arg == name)


def _given(found: Found, where: str, values: Iterator[ast.AST] | list[ast.expr]) -> None:
    for value in values:
        for text in template_words.choices(value):
            found.add(where, text)
        if _is_put_together(value):
            found.unmarked.append(f"{where}:{getattr(value, 'lineno', 0)}: {ast.unparse(value)}")


def _is_put_together(value: ast.AST) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_put_together(value.body) or _is_put_together(value.orelse)
    texts = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    is_built = isinstance(value, (ast.JoinedStr, ast.BinOp))
    return is_built and any(_LETTERS.search(text) for text in texts)


def _in_context(found: Found, where: str, arguments: list[ast.expr]) -> None:
    texts = [str(each.value) for each in arguments[:2] if isinstance(each, ast.Constant)]
    if len(texts) == 2:
        found.add(where, translation.keyed(texts[1], texts[0]))


def _plural(found: Found, where: str, arguments: list[ast.expr]) -> None:
    texts = [each.value for each in arguments[:2] if isinstance(each, ast.Constant)]
    if len(texts) == 2:
        found.add(where, str(texts[0]), str(texts[1]))


def _of_template(found: Found, where: str, source: str, takers: Takers) -> None:
    for message in template_words.messages(source):
        found.add(where, message)
    for expression in template_words.expressions(source):
        _of_python(found, where, ast.parse(f"({expression}\n)", mode="eval"), takers)


def _of_script(found: Found, where: str, source: str) -> None:
    for message in script_words.messages(source):
        found.add(where, message)


# -- the files ---------------------------------------------------------------------------------------------------------


def template(found: Found) -> polib.POFile:
    """The messages as a file to begin a language with."""
    file = polib.POFile(wrapwidth=110)
    file.metadata = dict(HEADER)
    for (message, plural), places in found.messages.items():
        context, _end, text = message.rpartition(translation.END)
        entry = polib.POEntry(
            msgid=text, msgctxt=context or None, occurrences=[(place, "") for place in sorted(places)]
        )
        if plural:
            entry.msgid_plural, entry.msgstr_plural = plural, {0: "", 1: ""}
        file.append(entry)
    file.sort(key=lambda each: (each.occurrences[0][0], each.msgid, each.msgctxt or ""))
    return file


def merged(path: Path, messages: polib.POFile) -> str:
    """The text of a language's file with these messages."""
    file = polib.pofile(str(path), wrapwidth=110)
    file.merge(messages)
    for each in file.obsolete_entries():
        file.remove(each)
    file.sort(key=lambda each: (each.occurrences[0][0] if each.occurrences else "", each.msgid, each.msgctxt or ""))
    return str(file)


def main() -> int:
    """Write the files, or tell which are not up to date."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="change nothing, fail when a file is not up to date")
    is_check = arguments.parse_args().check
    found = collect()
    for each in found.unmarked:
        print(f'put together, which nobody can translate; use _("… {{name}} …", name=…): {each}', file=sys.stderr)
    texts = {LANGUAGES / translation.TEMPLATE: str(template(found))}
    texts |= {path: merged(path, template(found)) for path in sorted(LANGUAGES.glob("*.po"))}
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != f"{text}\n"]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'is not up to date; run `make messages`' if is_check else 'written anew'}")
        if not is_check:
            path.write_text(f"{texts[path]}\n", "utf-8")
    return 1 if found.unmarked or (is_check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
