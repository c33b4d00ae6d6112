"""`helpdesk package import` and `helpdesk package export`: packages and the database of a data folder."""

import argparse
import sys
from pathlib import Path
from typing import Any

from server.cli import texts
from server.cli.arguments import command, group
from server.cli.opening import with_service
from server.context import Context
from server.errors import Conflict, Invalid, Required, TooLarge
from server.packages import bundle, package_export, package_import, recipes
from server.packages.baselines import CREATE, POLICIES, REFUSE, UPDATE
from server.packages.package_document import MAX_DEPTH, MAX_PACKAGE_BYTES
from server.web import json_text

RECIPE = "cookbook/"  # the prefix of a recipe's name


def declare(commands: Any) -> None:
    below = group(commands, "package", "Packages: records as one JSON document.")
    bring = command(
        below,
        "import",
        _import,
        "Import a package: all of it or nothing. Prints the created records as JSON.",
        "Import a package: all of it or nothing.",
    )
    bring.add_argument(
        "file",
        metavar="FILE",
        help=f"a package, - for standard input, or a shipped one: {', '.join(bundle.names())}; "
        f"{RECIPE}NAME for a recipe of the cookbook",
    )
    bring.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="answer to a prompt of the package; repeat for each prompt, or several times for a "
        "prompt that takes a list",
    )
    bring.add_argument("--dry-run", action="store_true", help="create nothing, and print what would be created")
    bring.add_argument(
        "--grants",
        action="store_true",
        help="agree to what the package grants, as printed by --dry-run",
    )
    bring.add_argument(
        "--update",
        action="store_true",
        help="update the records of the last import of this package, by their uid, and create missing ones",
    )
    bring.add_argument(
        "--conflicts",
        choices=POLICIES,
        default=REFUSE,
        help="with --update, for fields that changed both here and in the package: refuse changes nothing and names "
        "them, keep keeps what is here, take takes what the package says",
    )
    out = command(below, "export", _export, about="Print records as a package, with everything that belongs to them.")
    out.add_argument("records", nargs="+", metavar="TYPE:ID", help="a record, such as snippet:3")
    out.add_argument("--name", default="", metavar="N", help="name of the package")


def _import(options: argparse.Namespace) -> None:
    package, answers = _package(options.file), _answers(options.answer)
    if options.file.startswith(RECIPE):
        answers = recipes.with_defaults(package, answers)

    def work(ctx: Context) -> package_import.ImportResult:
        return package_import.import_package(
            ctx,
            package,
            answers,
            dry_run=options.dry_run,
            grants_agreed=options.grants,
            mode=UPDATE if options.update else CREATE,
            conflicts=options.conflicts,
        )

    result = None
    while result is None:
        try:
            result = with_service(options, work)
        except Required as error:
            answers.update(_missing_answers(options, error))
        except Conflict as error:
            raise _by_flags(error) from error
    for note in result.notes:
        print(f"helpdesk: {note}", file=sys.stderr)
    update_fields: dict[str, Any] = {}
    if options.update:
        update_fields = {"records_updated": result.updated, "records_unchanged": result.unchanged}
        update_fields |= {"records_kept": result.kept} if result.kept else {}
    _put({"records_created": result.records} | update_fields | ({"grants": result.granted} if result.granted else {}))


def _missing_answers(options: argparse.Namespace, error: Required) -> dict[str, Any]:
    """Returns missing answers that are typed at a terminal. Without one, raises Invalid with the required flags,
    Required."""
    if error.details.get("field") == "grants":
        raise Invalid(
            error.message.replace("Send grants=1", "Add --grants").replace("dry_run=1", "--dry-run"), field="grants"
        ) from error
    missing = error.details.get("missing")
    if not isinstance(missing, list):
        raise error
    if options.file != "-" and sys.stdin.isatty():
        return {each["key"]: _typed(f"{each['label']} ({each['key']}):") for each in missing}
    flags = " ".join(f"--answer {each['key']}=VALUE" for each in missing)
    raise Invalid(f"{error.message.partition('. Send each')[0].partition('; send prompts')[0]}; add {flags}") from error


def _by_flags(error: Conflict) -> Conflict:
    """Returns the error with the flags of the command line in place of API parameters."""
    said = error.message.replace("Send conflicts=", "Add --conflicts ").replace("conflicts=", "--conflicts ")
    return Conflict(said.replace("dry_run=1", "--dry-run"), **error.details)


def _typed(question: str) -> str:
    """Reads a typed answer. The question goes to standard error, so that programs do not read it. Raises Invalid at the
    end of input."""
    print(f"{question} ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise Invalid("no answer was entered; nothing was imported")
    return line.rstrip("\r\n")


def _export(options: argparse.Namespace) -> None:
    _put(with_service(options, lambda ctx: package_export.export_package(ctx, options.records, options.name)))


def _package(file: str) -> Any:
    if file.startswith(RECIPE):
        return recipes.recipe(file.removeprefix(RECIPE)).package
    if file != "-" and not Path(file).exists():
        return bundle.package(file)
    text = texts.read(file)
    if len(text.encode()) > MAX_PACKAGE_BYTES:
        raise TooLarge(f"the package {file} is larger than {MAX_PACKAGE_BYTES} bytes", limit=MAX_PACKAGE_BYTES)
    return json_text.loads(text, f"the package {file}", depth=MAX_DEPTH)


def _answers(arguments: list[str]) -> dict[str, Any]:
    """Returns {key: value}, a list for a key that was given several times."""
    values_by_key: dict[str, list[str]] = {}
    for text in arguments:
        key, mark, value = text.partition("=")
        if not mark:
            raise Invalid(f"--answer takes KEY=VALUE, not '{text[:80]}'")
        values_by_key.setdefault(key, []).append(value)
    return {key: values if len(values) > 1 else values[0] for key, values in values_by_key.items()}


def _put(value: Any) -> None:
    texts.put(texts.as_json(value, indent=1) + "\n")
