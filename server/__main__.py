"""The entry point. Results go to stdout, everything else to stderr.

Exit codes: 0 success, 1 failure, 2 a mistake on the command line."""

import gc
import os
import sys
from collections.abc import Sequence

from server import late_files
from server.cli.commands import parser
from server.errors import HelpdeskError
from server.settings import unknown_variables

DONE, FAILED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    command_line = _with_command(sys.argv[1:] if arguments is None else arguments)
    late_files.install()
    gc.disable()  # imported objects stay; scanning them repeatedly would add a tenth to the import time
    options, unknown = parser(command_line[0]).parse_known_args(command_line)
    gc.enable()
    if unknown:
        options.refuse_unknown(unknown)  # the error shows the usage of the intended command
    slips = unknown_variables(os.environ)
    try:
        return int(options.run(options) or DONE)
    except HelpdeskError as error:
        _complain(error.message, command_line[0])
        slips = [each for each in slips if each != error.message]
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    finally:
        for each in slips:
            _complain(each, command_line[0])


def _complain(message: str, command: str) -> None:
    """Reports on stderr why a command failed; the server reports it in the format of its log."""
    text = f"helpdesk: {message}"
    if command == "serve":
        from server import log  # imported by the command already

        if log.is_json() or os.environ.get("HELPDESK_LOG_FORMAT") == "json":
            text = log.json_line("error", "start.refused", reason=message)
    print(text, file=sys.stderr)


def _with_command(arguments: Sequence[str]) -> Sequence[str]:
    """Adds `serve` to arguments without a command; their flags belong to it."""
    is_serve = not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version"))
    return ["serve", *arguments] if is_serve else arguments


if __name__ == "__main__":
    sys.exit(main())
