import mailbox

import pytest

from server.errors import Invalid
from server.mail.mailbox_files import count, kind_of, messages

ONE = b"From: a@b\nSubject: one\n\nFirst.\n"
TWO = b"From: c@d\nSubject: two\n\nSecond.\n"
LINE = b"From ann@kite.example Fri Nov 20 10:00:00 2026\n"


def check(path, kind, expected):
    assert kind_of(path) == kind
    assert list(messages(path)) == expected
    assert count(path) == len(expected)


def test_one_message(tmp_path):
    (tmp_path / "a.eml").write_bytes(ONE)
    check(tmp_path / "a.eml", "message", [ONE])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_mbox(tmp_path, end):
    raw = LINE + ONE + b"\n" + LINE + TWO + b"\n"
    (tmp_path / "box").write_bytes(raw.replace(b"\n", end))
    check(tmp_path / "box", "mbox", [ONE.replace(b"\n", end), TWO.replace(b"\n", end)])


def test_mbox_without_a_last_empty_line(tmp_path):
    (tmp_path / "box").write_bytes(LINE + ONE + b"\n" + LINE + TWO[:-1])
    check(tmp_path / "box", "mbox", [ONE, TWO[:-1]])


def test_escaped_lines_are_restored_and_sentences_do_not_separate(tmp_path):
    body = b"Subject: x\n\n>From here\n>>From there\n> From quoted\n\nFrom now on.\nFrom ann@x 10:00 2026\n"
    (tmp_path / "box").write_bytes(LINE + body + b"\n" + LINE + TWO)
    restored = body.replace(b"\n>From here\n>>From", b"\nFrom here\n>From")
    check(tmp_path / "box", "mbox", [restored, TWO])


@pytest.mark.parametrize(
    "line",
    [b"From - Fri Nov 20 10:00:00 2026", b"From MAILER-DAEMON", b"From a@b.example", b"From a@b Fri Nov 20 10:00 2026",
     b"From 1234@xxx Fri Nov 20 10:00:00 +0000 2026"],
)  # fmt: skip
def test_separators(tmp_path, line):
    (tmp_path / "box").write_bytes(line + b"\n" + ONE + b"\n" + line + b"\n" + TWO)
    check(tmp_path / "box", "mbox", [ONE, TWO])


def test_an_mbox_that_python_wrote(tmp_path):
    box = mailbox.mbox(tmp_path / "box")
    for raw in (ONE, TWO, b"Subject: x\n\nFrom the start\n"):
        box.add(raw)
    box.close()
    check(tmp_path / "box", "mbox", [ONE, TWO, b"Subject: x\n\nFrom the start\n"])


def test_maildir(tmp_path):
    for part in ("cur", "new", "tmp"):
        (tmp_path / part).mkdir()
    (tmp_path / "new" / "3").write_bytes(TWO)
    (tmp_path / "cur" / "2:2,S").write_bytes(ONE)
    (tmp_path / "cur" / ".hidden").write_bytes(b"x")
    (tmp_path / "tmp" / "1").write_bytes(b"half")
    check(tmp_path, "maildir", [ONE, TWO])


def test_folder_of_files(tmp_path):
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "z.eml").write_bytes(TWO)
    (tmp_path / "b" / "c" / "1.EML").write_bytes(ONE)
    (tmp_path / "b" / "empty.eml").write_bytes(b"")
    (tmp_path / "b" / "notes.txt").write_bytes(b"x")
    check(tmp_path, "folder", [TWO, ONE])


def test_empty_things(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    check(tmp_path / "empty", "message", [])
    (tmp_path / "none").mkdir()
    check(tmp_path / "none", "folder", [])


@pytest.mark.parametrize("function", [kind_of, count, lambda path: list(messages(path))])
def test_a_path_that_is_not_there_is_named(tmp_path, function):
    with pytest.raises(Invalid, match="nowhere"):
        function(tmp_path / "nowhere")


def test_a_message_too_long_is_cut_one_byte_past_the_limit(tmp_path):
    (tmp_path / "a.eml").write_bytes(ONE)
    assert list(messages(tmp_path / "a.eml", 20)) == [ONE[:21]]


def test_long_mbox_messages_are_cut(tmp_path):
    (tmp_path / "box").write_bytes(LINE + ONE * 50 + b"\n" + LINE + b"Subject: x\n\n")
    assert list(messages(tmp_path / "box", 20)) == [(ONE * 50)[:21], b"Subject: x\n"]
