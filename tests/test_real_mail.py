"""Mail from other programs, through the command and through the endpoint.

It has three sources: the test suite of Python, where it is installed; and the samples that `make test` unpacks: mbox
files of mailing lists from hyperkitty, and the mails of django-mailbox."""

import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from server.app import DATABASE
from server.mail import mailbox_files
from tests.service import Api, Reply, Server, command
from tests.smtp_server import SmtpServer

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / ".work" / "samples"
LIST_MAILS = SAMPLES / "hyperkitty" / "tests" / "testdata"
DJANGO_MAILS = SAMPLES / "django_mailbox" / "tests" / "messages"
PYTHON_MAILS = Path(sysconfig.get_path("stdlib"), "test", "test_email", "data")

KEPT = """
    SELECT message.id, piece.bytes FROM message JOIN blob_piece piece ON piece.blob_id = message.raw_blob_id
    ORDER BY message.id, piece.piece
"""
LIST_SENDER = b"Reply-To: list@lists.example\n"

# The readable content of these mails in any charset: (file, subject, words of the text).
READ_BY_EYE = (
    ("message_with_single_byte_encoding.eml", "Tjest", "Это сообщение имеет неправильную кодировка."),
    ("message_with_koi8r_filename_attachments.eml", "Предложения от НИУ ВШЭ на 2016 год", "уважаемые коллеги"),
    ("message_with_utf8_attachment.eml", "Odpowiedź od burmistrza na wniosek stowarzyszenia", "REDACTED"),
    ("message_with_invalid_encoding.eml", "Apply For Loans @ 2% Per Annum", "We offer loans"),
    ("attachment-2.txt", "[MM3-users]New Mailman 3 users list", "interested in Mailman 3"),
    ("bad-subject-header.txt", "(et en plus, en local…)", "Bonjour,"),
    ("payload-utf8-wrong.txt", "Wrong encoding", "Virtualization"),
)


@dataclass
class Desk:
    """A service that accepted all mails through the endpoint. `answers`: one response per mail."""

    server: Server
    api: Api
    mails: list[tuple[str, bytes]]
    answers: list[Reply]

    def answer(self, name: str) -> Reply:
        """The response to the only mail in a file."""
        return next(answer for (file, _), answer in zip(self.mails, self.answers, strict=True) if file == name)


def files() -> list[Path]:
    """All files of the corpora."""
    assert SAMPLES.is_dir(), "the samples are not there; run the tests with: make test"
    places = ((LIST_MAILS, "*.txt"), (DJANGO_MAILS, "*.eml"), (PYTHON_MAILS, "msg_*.txt"))
    return [file for folder, names in places for file in sorted(folder.glob(names))]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    server = Server(tmp_path_factory.mktemp("real-mail") / "data")
    api = server.set_up()
    mails = [(file.name, raw) for file in files() for raw in mailbox_files.messages(file)]
    yield Desk(server, api, mails, [api.parse(raw) for _, raw in mails])
    assert server.stop() == 0


def test_the_corpora_are_there() -> None:
    assert len(files()) >= 40
    assert sum(mailbox_files.kind_of(file) == "mbox" for file in files()) >= 20


def test_every_mail_is_taken_or_refused_by_rule(desk: Desk) -> None:
    for (name, raw), answer in zip(desk.mails, desk.answers, strict=True):
        assert answer.status in (200, 422), (name, answer)
        if answer.status == 422:
            assert "has no sender" in answer["message"] and not names_a_sender(raw), (name, answer)


def names_a_sender(raw: bytes) -> bool:
    """Whether a sender header has an address. Archives on the web write `ann at kite.example` instead."""
    head = re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[0]
    return re.search(rb"(?im)^(?:from|sender|reply-to|return-path):[^\n]*\S@\S", head) is not None


def test_the_bytes_are_kept_as_they_were_sent(desk: Desk) -> None:
    sent: dict[int, bytes] = {}
    for (_, raw), answer in zip(desk.mails, desk.answers, strict=True):
        if answer.status == 200:
            sent.setdefault(answer["last_message_id"], raw)  # a duplicate has the message of the first
    kept: dict[int, bytes] = {}
    database = apsw.Connection(str(desk.server.data / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    for message_id, piece in database.execute(KEPT):
        kept[message_id] = kept.get(message_id, b"") + piece
    database.close()
    assert kept == sent


@pytest.mark.parametrize(("name", "subject", "words"), READ_BY_EYE, ids=[name for name, _, _ in READ_BY_EYE])
def test_charsets_are_read_as_a_person_reads_them(desk: Desk, name: str, subject: str, words: str) -> None:
    ticket = desk.api.record("ticket", desk.answer(name).ok()["id"], "initial_message_content").ok()
    assert ticket["subject"] == subject
    assert words in ticket["initial_message_content"]


def test_names_of_files_are_read_too(desk: Desk) -> None:
    message_id = desk.answer("message_with_koi8r_filename_attachments.eml").ok()["last_message_id"]
    found = desk.api.record("message", message_id, "attachments").ok()["attachments"]
    assert {"Ведомости.pdf", "Пакет предложений 2016.pptx"} <= {each["file_name"] for each in found.values()}


def test_the_command_imports_what_the_endpoint_took(desk: Desk, tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = command("mail", "import", *map(str, files()), data=data)
    counts = [int(number) for number in re.findall(r"\d+", done.stdout.decode())]
    tickets, replies, duplicates, ignored, failed = counts
    refused = sum(answer.status == 422 for answer in desk.answers)
    ids = {answer["id"] for answer in desk.answers if answer.status == 200}
    assert (tickets, ignored, failed) == (len(ids), 0, refused)
    assert tickets + replies + duplicates + failed == len(desk.mails)
    assert done.returncode == (1 if refused else 0) and done.stderr.count(b"has no sender") == refused
    assert command("check", data=data).stdout == b"the database is intact\n"


def test_the_archive_of_a_list_with_its_sender_told_becomes_threads(tmp_path: Path) -> None:
    """Six mails of a mailing list that hide their senders; with a Reply-To address they are accepted."""
    box = tmp_path / "box"
    archive = (LIST_MAILS / "non-ascii-headers.txt").read_bytes()
    box.write_bytes(re.sub(rb"^(From \S.*\n)", rb"\1" + LIST_SENDER, archive, flags=re.MULTILINE))
    done = command("mail", "import", str(box), data=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"4 new tickets, 2 replies, 0 duplicates, 0 ignored, 0 failed\n"


def test_the_main_job_on_a_real_mail(desk: Desk) -> None:
    """Search by a word, read, reply through a mail server; the customer's reply lands on the same ticket."""
    api = desk.api
    asked = desk.answer("attachment-4.txt").ok()
    found = api.search("ticket", "messages:(content:(Mailman AND Ubuntu)) status:open").ok()
    assert asked["id"] in [each["id"] for each in found["results"]]
    read = api.record("ticket", asked["id"], "custom_,latest_message_,requesters").ok()
    assert [each["email"] for each in read["requesters"].values()] == ["user@example.com"] and read["custom"] == {}
    assert read["latest_message_id"] == asked["last_message_id"] and read["latest_message_is_outgoing"] == 0
    with SmtpServer() as mail_server:
        replies_from(api, "help@desk.example", mail_server)
        replied = api.reply(
            message_id=asked["last_message_id"], content="Which **version**?", content_format="markdown", status=1
        ).ok()
        assert (replied["status"], replied["num_messages"]) == ("waiting", 2)
        sender, recipients, raw = mail_server.take()
    assert (sender, recipients) == ("help@desk.example", ("user@example.com",))
    answered = api.parse(answer_to(raw)).ok()
    assert answered["id"] == asked["id"]
    ticket = api.record("ticket", asked["id"], "latest_message_content").ok()
    assert (ticket["status"], ticket["num_messages"]) == ("open", 3)
    assert ticket["latest_message_content"].startswith("3.0, from source.")


def replies_from(api: Api, address: str, mail_server: SmtpServer) -> None:
    """Sets an address and a mail server for replies of the first group."""
    params = {"host": mail_server.host, "port": str(mail_server.port)}
    way = api.create("mail_transport", name="Test", extension_id="core.mail.transport.smtp", params=params).ok()["id"]
    sending = api.create("address", email=address, mail_transport_id=way).ok()["id"]
    group = api.search("group", "default:yes").ok()["results"][0]["id"]
    api.update("group", group, reply_address_id=sending).ok()


def answer_to(raw: bytes) -> bytes:
    """The reply of a mail program."""
    head = raw.split(b"\r\n\r\n", 1)[0].decode("ascii")
    named = dict(re.findall(r"^(Message-I[Dd]|Subject): (.*)\r?$", head, re.MULTILINE))
    message_id = next(value for name, value in named.items() if name.startswith("Message-I"))
    lines = [
        "From: A User <user@example.com>", "To: help@desk.example", f"Subject: {named['Subject']}",
        "Message-ID: <answer@example.com>", f"In-Reply-To: {message_id.strip()}", "", "3.0, from source.", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode()
