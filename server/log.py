"""Logs events as lines: `2026-11-20T21:14:52.123Z info request.done route=/rest/records status=200`.

Built on the standard logging, so that records of other packages end in the same lines. Callers pass values, not
sentences, and never tokens, passwords or bodies: nothing here searches for them, but `mask_path` hides secrets in
paths."""

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
MAX_KEPT = 2000  # newest lines of this process, for the console
MAX_KEPT_WARNINGS = 500  # further warnings and errors, which requests must not displace
MAX_KEPT_CHARS = 8000  # characters of one such line
ROOT = "helpdesk"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
NAMES = {number: name for name, number in LEVELS.items()} | {logging.CRITICAL: "critical"}

OUTSIDE = (Damaged, Full, Unavailable)  # errors that lie outside of the program

_is_plain = re.compile(r"[A-Za-z0-9_./:@+*,;!?()\[\]{}<>|~^&%$#'-]+").fullmatch  # ASCII without blank, quote, =, \
_SECRET_PART = re.compile(
    r"(/(?:webhooks|setup|reset|confirm-address|contact-confirm|sign-in/+link)/+)[^/]+", re.IGNORECASE
)
# Control, soft hyphen, zero-width, bidi and tag characters, lone surrogates; tab and line feed are handled apart.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


class LogLine(NamedTuple):
    """A logged line. at: Unix seconds. level: the number of the level in logging."""

    at: float
    level: int
    text: str


class Log:
    """Logs events under one name. `keys` are values of any type; their names come from our code, never from a
    client."""

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
        """Logs an error event followed by the indented traceback of an exception, by default the one being handled.
        Problems of the database or the disk are logged as `reason` instead, since no line of code explains them."""
        info = sys.exc_info() if of is None else (type(of), of, of.__traceback__)
        if isinstance(info[1], OUTSIDE):
            self._write(logging.ERROR, event, {**keys, "reason": info[1].message})
            return
        self._write(logging.ERROR, event, keys, info)

    def _write(self, level: int, event: str, keys: dict[str, object], exc_info: Any = None) -> None:
        # Not Logger.info(): it searches the stack for the calling line, which costs more than all the rest.
        if not self._logger.isEnabledFor(level):
            return
        handlers = logging.root.handlers
        if len(handlers) == 1 and handlers[0].__class__ is LineHandler and exc_info is None:
            handlers[0].line(time.time(), level, event, keys)  # without a LogRecord, which would take longer
        else:
            self._handle(logging.LogRecord(self._name, level, "", 0, event, (keys,) if keys else None, exc_info))


def get(name: str) -> Log:
    """Returns the log of one area, such as get("mail"). All areas share one output."""
    return Log(f"{ROOT}.{name}")


def configure(level: str = "info", form: str = "text", stream: TextIO | None = None) -> None:
    """Sends the log of the process to `stream` (stderr by default), replacing any earlier configuration.

    level: debug, info, warning or error. form: text or json. Raises Invalid for others."""
    if level not in LEVELS or form not in ("text", "json"):
        raise Invalid(
            f"log level '{level}' or format '{form}' is not known; use one of {', '.join(LEVELS)}, and text or json",
            field="log_level",
        )
    # Facts that no line shows, but that cost time for each record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = LineHandler(stream or _standard_error(), text_of if form == "text" else json_of)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    set_level(level)


def is_json() -> bool:
    """Returns whether lines are JSON objects."""
    return any(isinstance(each, LineHandler) and each.is_json for each in logging.getLogger().handlers)


def json_line(level: str, event: str, **keys: object) -> str:
    """Returns an event at the present time as a JSON object, for output outside of the log."""
    return json_of(time.time(), LEVELS[level], event, keys)


def take_uncaught() -> None:
    """Logs warnings and uncaught exceptions, which Python would print."""
    logging.captureWarnings(True)

    uncaught = get("process")

    def log_uncaught(error: BaseException | None) -> None:
        if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
            uncaught.exception("exception.uncaught", of=error)

    sys.excepthook = lambda kind, error, traceback: log_uncaught(error)
    threading.excepthook = lambda args: log_uncaught(args.exc_value)
    sys.unraisablehook = lambda args: log_uncaught(args.exc_value)


def set_level(level: str) -> None:
    """Sets the level: debug, info, warning or error."""
    logging.getLogger().setLevel(max(LEVELS[level], logging.INFO))  # the debug output of other packages is noise
    logging.getLogger(ROOT).setLevel(LEVELS[level])


def _standard_error() -> TextIO:
    """Returns stderr with a buffer; sys.stderr itself writes every line at once."""
    try:
        return open(sys.stderr.fileno(), "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    except (OSError, ValueError, AttributeError):  # not a real file, as under some test runners
        return sys.stderr


# Called after each line, on any thread, under the lock of the handler: it must be quick and must not log.
followers: list[Callable[[], None]] = []


class LineHandler(logging.Handler):
    """Writes each record as one line: warnings and errors at once, others within FLUSH_SECONDS."""

    def __init__(self, stream: TextIO, form: "Callable[[float, int, str, dict[str, object], str], str]") -> None:
        super().__init__()
        self._stream = stream
        self._form = form
        self.is_json = form is json_of
        self._flushed_at = 0.0
        self.kept: deque[LogLine] = deque(maxlen=MAX_KEPT)
        self.warnings: deque[LogLine] = deque(maxlen=MAX_KEPT_WARNINGS)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes records of other packages, and errors with their traceback. Called under the lock of the handler."""
        try:
            event, keys = _event_and_keys(record)
            traceback = _traceback(record) if record.exc_info and record.exc_info[0] else ""
            self._put(record.created, record.levelno, event, keys, traceback)
        except Exception:
            self.handleError(record)

    def line(self, at: float, level: int, event: str, keys: dict[str, object]) -> None:
        """Writes an event of this program."""
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
        # A system call for each line of a request would add a tenth to a small read.
        if is_bad or at - self._flushed_at > FLUSH_SECONDS:
            self._stream.flush()
            self._flushed_at = at
        for follower in tuple(followers):
            follower()

    def flush(self) -> None:
        with contextlib.suppress(ValueError, OSError):  # the stream may be closed when the process ends
            self._stream.flush()


def flush() -> None:
    """Flushes buffered lines; called every second."""
    for handler in logging.getLogger().handlers:
        handler.flush()


def recent_lines() -> list[LogLine]:
    """Returns the last lines of this process, the newest first."""
    recent: list[LogLine] = []
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LineHandler):
            for lines in (handler.kept, handler.warnings):
                recent += lines.copy()  # one atomic step, since other threads log at the same time
    return sorted(recent, key=lambda each: each.at, reverse=True)


def matching_lines(level: str, text: str) -> list[LogLine]:
    """Returns the last lines from a level on, "" for all, that hold a text in any case; the newest first."""
    least, wanted = LEVELS.get(level, 0), text.lower()
    return [each for each in recent_lines() if each.level >= least and wanted in each.text.lower()]


def lines_about(key: str, value: int, since: float) -> list[str]:
    """Returns the last lines with this value of a key, the newest first. since: Unix seconds."""
    pattern = re.compile(rf"\b{key}={value}\b")
    return [each.text for each in recent_lines() if each.at >= since and pattern.search(each.text)]


def text_of(at: float, level: int, event: str, keys: dict[str, object], traceback: str = "") -> str:
    """Formats `time level event key=value ...`, without a line end; an indented traceback follows."""
    parts = [_moment(at), NAMES.get(level) or logging.getLevelName(level).lower(), event]
    for key, value in keys.items():
        kind = value.__class__
        if kind is int or kind is float:  # most values are numbers, which need no quotes
            parts.append(f"{key}={value}" if kind is int else f"{key}={value:.3f}".rstrip("0").rstrip("."))
            continue
        text: str = value if kind is str else _as_text(value)  # type: ignore[assignment]
        parts.append(f"{key}={text}" if _is_plain(text) else f"{key}={quoted(text)}")
    return " ".join(parts) + traceback


def json_of(at: float, level: int, event: str, keys: dict[str, object], traceback: str = "") -> str:
    """Formats the same as a JSON object: `at`, `level`, `event`, then the keys, and `traceback` if there is one."""
    name = NAMES.get(level) or logging.getLevelName(level).lower()
    values: dict[str, object] = {"at": _moment(at), "level": name, "event": event}
    for key, value in keys.items():
        values[key] = value if value is None or isinstance(value, bool | int | float) else str(value)
    if traceback:
        values["traceback"] = traceback
    return json.dumps(values)


def quoted(text: str) -> str:
    """Returns any `text` in double quotes on one line.

    >>> print(quoted('two words'), quoted('line\\nend'), quoted(''))
    "two words" "line\\nend" ""
    """
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{_escaped(inner)}"'


def mask_path(path: str) -> str:
    """Returns the path of a request with its secrets hidden, and without the query.

    >>> mask_path("/webhooks/k7Qm2/orders?x=1"), mask_path("/sign-in/link/k7Qm2")
    ('/webhooks/***/orders', '/sign-in/link/***')
    >>> mask_path("/de/contact-confirm/1.1790000000-k7qm2")
    '/de/contact-confirm/***'
    >>> mask_path("/rest/records/ticket/1.json")
    '/rest/records/ticket/1.json'
    """
    path = path.partition("?")[0]
    if "%" in path:
        path = unquote(path)  # /%77ebhooks/... is the same path
    return _SECRET_PART.sub(r"\1***", path)


def _event_and_keys(record: logging.LogRecord) -> tuple[str, dict[str, object]]:
    """Returns event and keys of a record. Ours carry them as message and arguments; a record of another package becomes
    one key."""
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
    """Escapes a character that a terminal would obey or hide, as Unicode escape."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _traceback(record: logging.LogRecord) -> str:
    # Indented, so that no message in it can pass for a separate line.
    text = logging.Formatter().formatException(record.exc_info)  # type: ignore[arg-type]
    return "".join(f"\n    {line}" for line in _escaped(text).split("\n"))


_last: tuple[int, str] = (-1, "")


def _moment(unix_seconds: float) -> str:
    """Formats a time in UTC with milliseconds. The text of the last second is cached, since most lines share it."""
    global _last
    whole = int(unix_seconds)
    second, text = _last  # read and replaced as one, because threads share it
    if second != whole:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        _last = (whole, text)
    return f"{text}.{int((unix_seconds - whole) * 1000):03d}Z"
