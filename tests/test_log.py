"""The format of logged events, and the protection against leaked secrets and forged lines."""

import io
import json
import logging

import pytest

from server import log
from server.errors import Invalid


@pytest.fixture
def lines():
    """Collects log lines: a function that returns the lines so far without their time."""
    root, ours = logging.getLogger(), logging.getLogger(log.ROOT)
    before = (root.handlers[:], root.level, ours.level)
    stream = io.StringIO()

    def configure(level="info", form="text"):
        log.configure(level, form, stream)
        return lambda: [line.partition("Z ")[2] or line for line in stream.getvalue().splitlines()]

    yield configure
    root.handlers[:], root.level = before[0], before[1]
    ours.setLevel(before[2])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain/path.json", "plain/path.json"),
        ("two words", '"two words"'),
        ("", '""'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("a=b", '"a=b"'),
        ("Ünï", '"Ünï"'),
        ("end\nforged line", '"end\\nforged line"'),
        ("\r\x1b[31m\x00", '"\\u000d\\u001b[31m\\u0000"'),
        ("\u202egnp.exe\u200b", '"\\u202egnp.exe\\u200b"'),
        ("\ud800", '"\\ud800"'),
        ("\u2028", '"\\u2028"'),
        (3, "3"),
        (1.23456, "1.235"),
        (2.0, "2"),
        (None, "-"),
        (True, "yes"),
        (False, "no"),
    ],
)
def test_a_value_is_quoted_and_escaped_when_it_must_be(lines, value, shown):
    written = lines()
    log.get("web").info("request.done", key=value)
    assert written() == [f"info request.done key={shown}"]


def test_a_line_begins_with_the_time_in_utc():
    for at, shown in ((1795187692.0425, "2026-11-20T15:14:52.042Z"), (1795187693.5, "2026-11-20T15:14:53.500Z")):
        assert log.text_of(at, logging.INFO, "request.done", {}) == f"{shown} info request.done"


def test_keys_keep_their_order(lines):
    written = lines()
    log.get("mail").warning("mail.refused", reason="no sender", bytes=12)
    assert written() == ['warning mail.refused reason="no sender" bytes=12']


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_events_below_the_level_are_dropped(lines, level, count):
    written = lines(level)
    area = log.get("jobs")
    for write in (area.debug, area.info, area.warning, area.error):
        write("job.claimed")
    assert len(written()) == count


def test_a_traceback_follows_indented_and_cannot_pass_for_an_event(lines):
    written = lines()
    try:
        raise ValueError("bad\n2026-11-20T00:00:00.000Z info worker.logged_in\x1b[0m")
    except ValueError:
        log.get("jobs").exception("job.failed", job_id=7)
    first, *rest = written()
    assert first == "error job.failed job_id=7"
    raw = "\n".join(rest)
    assert "\\u001b[0m" in raw and "\x1b" not in raw


def test_an_exception_of_another_thread_is_logged_with_its_traceback(lines):
    written = lines()
    caught: list[BaseException] = []
    try:
        raise ValueError("of the writer")
    except ValueError as error:
        caught.append(error)
    log.get("web").exception("request.failed", of=caught[0], request_id=7)
    first, *rest = written()
    assert first == "error request.failed request_id=7"
    assert "of the writer" in rest[-1] and any("test_log.py" in line for line in rest)


def test_every_line_of_a_traceback_is_indented(lines):
    written = lines()
    try:
        raise ValueError("one\ntwo")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    logging.getLogger("helpdesk.jobs").handle(
        logging.LogRecord("helpdesk.jobs", logging.ERROR, "", 0, "job.failed", None, info)
    )
    first, *rest = written()
    assert first == "error job.failed" and rest and all(line.startswith("    ") for line in rest)


def test_records_of_other_packages_end_in_the_same_lines(lines):
    written = lines()
    logging.getLogger("tornado.general").warning("odd %s", "request\nline")
    logging.getLogger("tornado.general").debug("chatter")
    assert written() == ['warning tornado.general message="odd request\\nline"']


def test_json_lines_hold_the_same_keys(lines):
    written = lines(form="json")
    log.get("web").info("request.done", status=200, ms=1.5, route="/a b", actor=None)
    event = json.loads(written()[0])
    assert event.pop("at").endswith("Z")
    assert event == {"level": "info", "event": "request.done", "status": 200, "ms": 1.5, "route": "/a b", "actor": None}


@pytest.mark.parametrize(("level", "form"), [("inof", "text"), ("info", "xml")])
def test_unknown_level_or_format_is_refused(level, form):
    with pytest.raises(Invalid):
        log.configure(level, form)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/webhooks/k7Qm2x", "/webhooks/***"),
        ("/webhooks/k7Qm2x/orders/7", "/webhooks/***/orders/7"),
        ("/desk/webhooks/k7Qm2x", "/desk/webhooks/***"),
        ("//webhooks//k7Qm2x/a", "//webhooks//***/a"),
        ("/WebHooks/k7Qm2x", "/WebHooks/***"),
        ("/%77ebhooks/k7Qm2x", "/webhooks/***"),
        ("/webhooks%2Fk7Qm2x", "/webhooks/***"),
        ("/setup/k7Qm2x", "/setup/***"),
        ("/rest/records/org/1.json?access_token=k7Qm2x", "/rest/records/org/1.json"),
        ("/webhooks", "/webhooks"),
        ("/webhooks/", "/webhooks/"),
        ("/rest/records/ticket/search.json", "/rest/records/ticket/search.json"),
    ],
)
def test_secrets_in_a_path_are_hidden(path, shown):
    assert log.mask_path(path) == shown
