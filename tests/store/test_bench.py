"""The foundations of `make bench`: data identical to what the service would have written, and the comparison of two
runs.

Tests do not measure speed."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from server import app
from server.settings import load
from tests import databases
from tests.bench import contact, runs
from tests.bench.__main__ import NAMES
from tests.bench.data import RARE_WORD, samples
from tests.bench.load import Load, Measured, Plan
from tests.bench.loading import load_tickets
from tests.bench.process import ROOT, Server
from tests.bench.report import Result, same_lines
from tests.bench.scenarios import SCENARIOS
from tests.bench.watched import Hold, Holds, longer

COUNT = 120


def test_data_that_is_put_in_at_once_is_sound_counted_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in databases.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    load_tickets(tmp_path, COUNT)
    settings = load({"data": str(tmp_path)}, dict(databases.environment(tmp_path)))
    assert app.check(settings) == []
    expected = [(each.number, each.status, each.size) for each in samples(COUNT)]
    last = samples(COUNT)
    *_, newest = last
    with databases.opened(tmp_path) as connection:

        def rows(text: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(text).fetchall()]

        assert rows("SELECT id, status_id, num_messages FROM ticket ORDER BY id") == expected
        assert rows("SELECT sum(n) FROM ticket_summary") == [(COUNT,)]
        assert rows(
            "SELECT count(*), max(message.id) FROM message JOIN ticket ON ticket.id = ticket_id "
            "WHERE message.id BETWEEN initial_message_id AND latest_message_id"
        ) == [(sum(size for _, _, size in expected), newest.first_message + newest.size - 1)]
        assert rows("SELECT count(*) FROM contact JOIN address ON address.id = email_id") == [(500,)]
    service = app.open_service(settings)
    try:
        message = service.registry.type("message")
        assert message.text is not None
        found = service.store.read(lambda tx: _found(tx, message.text, RARE_WORD))
        made = service.store.write(lambda tx: tx.insert(message.table, {"ticket_id": 1}))
    finally:
        service.store.close()
    assert found == [each.first_message for each in samples(COUNT) if RARE_WORD in each.messages()[0]]
    assert made == newest.first_message + newest.size


def _found(tx: Any, text: Any, word: str) -> list[int]:
    from server.store.fulltext import match
    from server.store.statements import slot

    table = text.sql
    rows = tx.rows(lambda: table.select(table.rowid).where(match(text, slot(0))).order_by(table.rowid), (f'"{word}"',))
    return [row[0] for row in rows]


def test_calls_by_assistants_are_compared_with_those_by_rest() -> None:
    by_name = {each.name: each for each in SCENARIOS}
    assert all(each.same_as in by_name for each in SCENARIOS if each.same_as)
    costs = {"rest-note": 100.0, "mcp-note": 131.0, "rest-search": 100.0, "mcp-search": 90.0, "read": 1.0}
    results = [
        Result(by_name[name], 1000, 16, [(Measured(), Measured(server_us=microseconds))] * 3)
        for name, microseconds in costs.items()
    ]
    lines = same_lines(results)
    assert ["1.31 times" in lines[0], "0.90 times" in lines[1]] == [True, True] and len(lines) == 2
    assert lines[0].endswith("MISSED") and lines[1].endswith("ok")


def result(ratios: list[float], failed: str = "") -> Result:
    rounds = [(Measured(per_second=1000), Measured(per_second=1000 * ratio)) for ratio in ratios]
    return Result(SCENARIOS[0], 1000, 16, rounds, failed=failed)


@pytest.mark.parametrize(
    ("ratios", "failed", "worse"),
    [
        ([0.5, 0.5, 0.5], "", 0),
        ([0.47, 0.46, 0.45], "", 1),
        ([0.48, 0.3, 0.3], "", 0),  # one round is within 5 %
        ([0.3, 0.3], "", 0),  # two rounds are too few for a verdict
        ([], "no answer", 1),
        ([0.6, 0.7, 0.8], "", 0),
    ],
)
def test_a_line_is_worse_when_three_rounds_say_so(tmp_path: Path, ratios: list[float], failed: str, worse: int) -> None:
    file = tmp_path / "runs" / "earlier.json"
    runs.written(file, [result([0.4, 0.5, 0.6])], [], [])
    lines, count = runs.compared([result(ratios, failed)], runs.read(file))
    assert count == worse
    assert ("WORSE" in lines[-1]) == bool(worse)


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", json.dumps({"lines": [{"scenario": "read"}]})):
        file = tmp_path / "other.json"
        file.write_text(text)
        with pytest.raises(SystemExit, match="is not the JSON file of a run"):
            runs.read(file)
    with pytest.raises(SystemExit, match="is not the JSON file of a run"):
        runs.read(tmp_path / "missing.json")


def test_the_longest_hold_by_processor_time_and_by_the_clock_may_be_two() -> None:
    one, other = Hold(5, "a", 9, "a"), Hold(3, "b", 40, "b")
    found = longer(Holds(one, Hold()), Holds(other, Hold()))
    assert found.loop == Hold(5, "a", 40, "b") and found.writer == Hold()


def test_each_line_is_described() -> None:
    text = (ROOT / "tests" / "README.md").read_text("utf-8").partition("## Lines of the bench")[2]
    described = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", text, re.MULTILINE))
    assert list(described) == NAMES
    assert {each.name: each.title for each in SCENARIOS}.items() <= described.items()


def test_a_contact_form_is_compared_with_an_email_by_processor_time_and_by_rate() -> None:
    rounds = [(contact.Half(80.0, forms), contact.Half(100.0, 1000.0)) for forms in (1100.0, 1190.0, 9000.0)]
    line = contact.line(2000, 16, rounds)
    assert "1.19 times the processor time of parse, at most 1.20: ok; 0.80 of its rate" in line
    assert "MISSED" in contact.line(2000, 16, [(contact.Half(80.0, 1210.0), contact.Half(100.0, 1000.0))])


def test_requests_that_are_sent_once_end_with_the_last_response(tmp_path: Path) -> None:
    requests = ["GET /a HTTP/1.1\r\nHost: x\r\n\r\n"] * 7
    (tmp_path / "answers.json").write_text('{"a": {}}', "utf-8")
    with Server([sys.executable, "-m", "tests.bench.bare", str(tmp_path / "answers.json")], tmp_path / "log") as bare:
        measured = Load(Plan(bare.port, requests, clients=3, seconds=60, is_once=True)).run()
        refused = Load(Plan(bare.port, requests, clients=3, seconds=60, is_once=True, status=303)).run()
    assert (measured.requests, measured.sent, measured.bad) == (7, 7, 0)
    assert refused.bad == 7 and refused.first_bad.startswith("HTTP/1.1 200")
