"""Where the program begins. Answers go to stdout, everything else to stderr.

Exit codes: 0 done, 1 refused or failed, 2 the command line itself is wrong."""

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
    """Run one command; answers its exit code."""
    given = _with_command(sys.argv[1:] if arguments is None else arguments)
    late_files.install()
    gc.disable()  # what imports make stays: to look through it again and again would cost a tenth of them
    options, unknown = parser(given[0]).parse_known_args(given)
    gc.enable()
    if unknown:
        options.refuse_unknown(unknown)  # with the usage of the command that was meant
    slips = unknown_variables(os.environ)
    try:
        return int(options.run(options) or DONE)
    except HelpdeskError as error:
        _complain(error.message, given[0])
        slips = [each for each in slips if each != error.message]
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    finally:
        for each in slips:
            _complain(each, given[0])


def _complain(message: str, command: str) -> None:
    """Say on standard error why a command does not do its work; of the server as its log is written."""
    text = f"helpdesk: {message}"
    if command == "serve":
        from server import log  # which the command has imported

        if log.is_json() or os.environ.get("HELPDESK_LOG_FORMAT") == "json":
            text = log.json_line("error", "start.refused", reason=message)
    print(text, file=sys.stderr)


def _with_command(arguments: Sequence[str]) -> Sequence[str]:
    """Without a command the server is started; flags are its own then."""
    is_serve = not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version"))
    return ["serve", *arguments] if is_serve else arguments


if __name__ == "__main__":
    sys.exit(main())
