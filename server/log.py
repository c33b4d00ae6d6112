"""Events as lines: `2026-11-20T21:14:52.123Z info request.done route=/rest/records status=200`.

Standard logging underneath, so that other packages' records end in the same lines. Callers pass values, not sentences,
and never tokens, passwords or bodies: nothing here looks for them, but `mask_path` hides the ones that stand in a path.
"""

import contextlib
import json
import logging
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TextIO
from urllib.parse import unquote

from server.errors import Damaged, Full, Invalid, Unavailable

FLUSH_SECONDS = 1.0
MAX_KEPT = 2000  # lines of this process, the newest, to be looked at in the console
MAX_KEPT_WARNINGS = 500  # further ones from warning on, which requests must not drive out
MAX_KEPT_CHARS = 8000  # characters of one such line
ROOT = "helpdesk"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
NAMES = {number: name for name, number in LEVELS.items()} | {logging.CRITICAL: "critical"}

OUTSIDE = (Damaged, Full, Unavailable)  # errors that lie outside of the program

_is_plain = re.compile(r"[A-Za-z0-9_./:@+*,;!?()\[\]{}<>|~^&%$#'-]+").fullmatch  # ASCII without blank, quote, =, \
_SECRET_PART = re.compile(r"(/(?:webhooks|setup|reset|confirm-address)/+)[^/]+", re.IGNORECASE)
# Control, soft hyphen, zero-width, bidi and tag characters, lone surrogates; tab and line feed are handled apart.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


class LogLine(NamedTuple):
    """A line that was logged. at: Unix seconds. level: the number that logging has for it."""

    at: float
    level: int
    text: str


class Log:
    """Writes events under one name. `keys` are values of any type; their names are ours, never a client's."""

    __slots__ = ("_handle", "_logger", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._logger = logging.getLogger(name)
        self._handle = self._logger.handle

    def debug(self, event: str, /, **keys: object) -> None:
        self._write(logging.DEBUG, event, keys)

    def info(self, event: str, /, **keys: object) -> None:
        self._write(logging.INFO, event, keys)

    def warning(self, event: str, /, **keys: object) -> None:
        self._write(logging.WARNING, event, keys)

    def error(self, event: str, /, **keys: object) -> None:
        self._write(logging.ERROR, event, keys)

    def exception(self, event: str, /, *, of: BaseException | None = None, **keys: object) -> None:
        """An error event followed by the traceback, indented, of an exception: that being handled unless another one is
        given. What is wrong with the database or the disk is told as `reason` instead: no line of code explains it."""
        found = sys.exc_info() if of is None else (type(of), of, of.__traceback__)
        if isinstance(found[1], OUTSIDE):
            self._write(logging.ERROR, event, {**keys, "reason": found[1].message})
            return
        self._write(logging.ERROR, event, keys, found)

    def _write(self, level: int, event: str, keys: dict[str, object], exc_info: Any = None) -> None:
        # Not Logger.info(): it looks for the calling line in the stack, which costs more than all of the rest.
        if not self._logger.isEnabledFor(level):
            return
        handlers = logging.root.handlers
        if len(handlers) == 1 and handlers[0].__class__ is LineHandler and exc_info is None:
            handlers[0].line(time.time(), level, event, keys)  # a record would be made and taken apart again
        else:
            self._handle(logging.LogRecord(self._name, level, "", 0, event, (keys,) if keys else None, exc_info))


def get(name: str) -> Log:
    """The log of one area, such as get("mail"). Events of all areas end in the same place."""
    return Log(f"{ROOT}.{name}")


def configure(level: str = "info", form: str = "text", stream: TextIO | None = None) -> None:
    """Send everything that the process logs to `stream` (standard error), replacing what was set up before.

    level: debug, info, warning or error; form: text or json. Raises Invalid for others.
    """
    if level not in LEVELS or form not in ("text", "json"):
        raise Invalid(
            f"log level '{level}' or format '{form}' is not known; use one of {', '.join(LEVELS)}, and text or json",
            field="log_level",
        )
    # Facts that no line shows; finding them costs for each record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = LineHandler(stream or _standard_error(), text_of if form == "text" else json_of)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    set_level(level)


def is_json() -> bool:
    """Whether lines are JSON objects."""
    return any(isinstance(each, LineHandler) and each.is_json for each in logging.getLogger().handlers)


def json_line(level: str, event: str, **keys: object) -> str:
    """An event of this moment as a JSON object, for what is printed rather than logged."""
    return json_of(time.time(), LEVELS[level], event, keys)


def take_uncaught() -> None:
    """Log what Python would print itself, line by line: warnings, and exceptions that nobody caught."""
    logging.captureWarnings(True)

    uncaught = get("process")

    def log_uncaught(error: BaseException | None) -> None:
        if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
            uncaught.exception("exception.uncaught", of=error)

    sys.excepthook = lambda kind, error, traceback: log_uncaught(error)
    threading.excepthook = lambda args: log_uncaught(args.exc_value)
    sys.unraisablehook = lambda args: log_uncaught(args.exc_value)


def set_level(level: str) -> None:
    """Log from this level on: debug, info, warning or error."""
    logging.getLogger().setLevel(max(LEVELS[level], logging.INFO))  # other packages' debug is much and not ours
    logging.getLogger(ROOT).setLevel(LEVELS[level])


def _standard_error() -> TextIO:
    """Standard error with a buffer; sys.stderr itself writes every line at once."""
    try:
        return open(sys.stderr.fileno(), "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    except (OSError, ValueError, AttributeError):  # no real file, as under some test runners and services
        return sys.stderr


# Told after each line; called on any thread, while the line's lock is held: it must be quick and log nothing.
followers: list[Callable[[], None]] = []


class LineHandler(logging.Handler):
    """Writes each record as one line: warnings and worse at once, others at most FLUSH_SECONDS later."""

    def __init__(self, stream: TextIO, form: "Callable[[float, int, str, dict[str, object], str], str]") -> None:
        super().__init__()
        self._stream = stream
        self._form = form
        self.is_json = form is json_of
        self._flushed_at = 0.0
        self.kept: deque[LogLine] = deque(maxlen=MAX_KEPT)
        self.warnings: deque[LogLine] = deque(maxlen=MAX_KEPT_WARNINGS)

    def emit(self, record: logging.LogRecord) -> None:
        """Of other packages, and of errors with their traceback; its lock is held."""
        try:
            event, keys = _event_and_keys(record)
            traceback = _traceback(record) if record.exc_info and record.exc_info[0] else ""
            self._put(record.created, record.levelno, event, keys, traceback)
        except Exception:
            self.handleError(record)

    def line(self, at: float, level: int, event: str, keys: dict[str, object]) -> None:
        """Write an event of ours."""
        assert self.lock is not None
        with self.lock:
            try:
                self._put(at, level, event, keys, "")
            except Exception:
                self.handleError(logging.LogRecord(ROOT, level, "", 0, event, (keys,) if keys else None, None))

    def _put(self, at: float, level: int, event: str, keys: dict[str, object], traceback: str) -> None:
        text = self._form(at, level, event, keys, traceback)
        is_bad = level >= logging.WARNING
        (self.warnings if is_bad else self.kept).append(LogLine(at, level, text[:MAX_KEPT_CHARS]))
        self._stream.write(text + "\n")
        # A system call for each request's line would be a tenth of what a small read costs.
        if is_bad or at - self._flushed_at > FLUSH_SECONDS:
            self._stream.flush()
            self._flushed_at = at
        for told in tuple(followers):
            told()

    def flush(self) -> None:
        with contextlib.suppress(ValueError, OSError):  # the stream may be closed when the process ends
            self._stream.flush()


def flush() -> None:
    """Write out what is held back; the service calls it every second."""
    for handler in logging.getLogger().handlers:
        handler.flush()


def recent_lines() -> list[LogLine]:
    """The last lines of this process, the newest first."""
    found: list[LogLine] = []
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LineHandler):
            for lines in (handler.kept, handler.warnings):
                found += lines.copy()  # in one step: other threads log meanwhile
    return sorted(found, key=lambda each: each.at, reverse=True)


def text_of(at: float, level: int, event: str, keys: dict[str, object], traceback: str = "") -> str:
    """`time level event key=value ...`, without a line end; a traceback follows, indented."""
    parts = [_moment(at), NAMES.get(level) or logging.getLevelName(level).lower(), event]
    for key, value in keys.items():
        kind = value.__class__
        if kind is int or kind is float:  # most values are, and a number is never quoted
            parts.append(f"{key}={value}" if kind is int else f"{key}={value:.3f}".rstrip("0").rstrip("."))
            continue
        text: str = value if kind is str else _as_text(value)  # type: ignore[assignment]
        parts.append(f"{key}={text}" if _is_plain(text) else f"{key}={quoted(text)}")
    return " ".join(parts) + traceback


def json_of(at: float, level: int, event: str, keys: dict[str, object], traceback: str = "") -> str:
    """The same as one JSON object: `at`, `level`, `event`, then the keys; `traceback` when there is one."""
    name = NAMES.get(level) or logging.getLevelName(level).lower()
    shown: dict[str, object] = {"at": _moment(at), "level": name, "event": event}
    for key, value in keys.items():
        shown[key] = value if value is None or isinstance(value, bool | int | float) else str(value)
    if traceback:
        shown["traceback"] = traceback
    return json.dumps(shown)


def quoted(text: str) -> str:
    """`text` in double quotes on one line, whatever it contains.

    >>> print(quoted('two words'), quoted('line\\nend'), quoted(''))
    "two words" "line\\nend" ""
    """
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{_escaped(inner)}"'


def mask_path(path: str) -> str:
    """The path of a request with the secrets that stand in it hidden, and without a query.

    >>> mask_path("/webhooks/k7Qm2/orders?x=1")
    '/webhooks/***/orders'
    >>> mask_path("/rest/records/ticket/1.json")
    '/rest/records/ticket/1.json'
    """
    path = path.partition("?")[0]
    if "%" in path:
        path = unquote(path)  # /%77ebhooks/... names the same place
    return _SECRET_PART.sub(r"\1***", path)


def _event_and_keys(record: logging.LogRecord) -> tuple[str, dict[str, object]]:
    """Ours carry the event as message and the keys as arguments; the records of other packages become one key."""
    if record.name.startswith(ROOT):
        # logging unpacks a single dict argument
        return str(record.msg), record.args if isinstance(record.args, dict) else {}
    return record.name, {"message": record.getMessage()}


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _escaped(text: str) -> str:
    """What a terminal would obey or hide, as \\uXXXX."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _traceback(record: logging.LogRecord) -> str:
    # Indented, so that no message inside can pass for a line of its own.
    text = logging.Formatter().formatException(record.exc_info)  # type: ignore[arg-type]
    return "".join(f"\n    {line}" for line in _escaped(text).split("\n"))


_last: tuple[int, str] = (-1, "")


def _moment(unix_seconds: float) -> str:
    """UTC with milliseconds. The text of the second is kept, since most lines share it with the one before."""
    global _last
    whole = int(unix_seconds)
    second, text = _last  # read and replaced as one, because threads share it
    if second != whole:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        _last = (whole, text)
    return f"{text}.{int((unix_seconds - whole) * 1000):03d}Z"
