"""Writes a large mbox file, to measure `helpdesk mail import` and to see whether it resumes after a kill:

    python -m tests.bench.mailbox FILE --messages 100000

Every message is determined by its number, so that two machines import the same. One in REPLY_EVERY begins a
conversation and the others reply to one; some are HTML, some have a file. Not part of any test.
"""

import argparse
import base64
import random
import time
from email.utils import formatdate
from pathlib import Path

from tests.bench.data import SENDERS, text

FIRST_CREATED = 1_735_000_000  # Unix seconds
REPLY_EVERY = 3  # messages of a conversation
HTML_EVERY, FILE_EVERY = 4, 10
FILE_BYTES = 20_000  # size of an attached file, before base64
APART_SECONDS, SUBJECT_CHARS = 60, 40
TOLD_SECONDS = 5  # seconds from one line of progress to the next


def main() -> None:
    """Writes the file and reports progress."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.mailbox", description=__doc__)
    parser.add_argument("file", type=Path, help="the mbox to write")
    parser.add_argument("--messages", type=int, default=100_000, help="how many; 100000")
    asked = parser.parse_args()
    told = time.monotonic()
    with asked.file.open("wb") as file:
        for number in range(asked.messages):
            file.write(message(number))
            if time.monotonic() - told > TOLD_SECONDS:
                told = time.monotonic()
                print(f"{number + 1:,} of {asked.messages:,}")
    print(f"{asked.file}: {asked.messages:,} messages, {asked.file.stat().st_size / 2**20:,.0f} MiB")


def message(number: int) -> bytes:
    """Returns the message with this number, from 0, in the form of an mbox."""
    first = number - number % REPLY_EVERY
    sender = f"person{first % SENDERS}@mail{first % 50}.example"
    moment = formatdate(FIRST_CREATED + number * APART_SECONDS)
    subject = text(random.Random(first))[:SUBJECT_CHARS]
    head = [
        f"From {sender} {time.asctime(time.gmtime(FIRST_CREATED + number * APART_SECONDS))}",
        f"From: Person {first % SENDERS} <{sender}>", "To: support@desk.example", f"Date: {moment}",
        f"Subject: {'Re: ' if number > first else ''}{subject} {first}", f"Message-ID: <{number}@mailbox.example>",
        "MIME-Version: 1.0",
    ]  # fmt: skip
    if number > first:
        head += [f"In-Reply-To: <{number - 1}@mailbox.example>", f"References: <{first}@mailbox.example>"]
    return "\n".join([*head, *_body(number, text(random.Random(number))), "", ""]).encode()


def _body(number: int, content: str) -> list[str]:
    """Returns the lines from the headers of the content on."""
    plain = ["Content-Type: text/plain; charset=utf-8", "", content]
    parts = [plain]
    if number % HTML_EVERY == 0:
        parts.append(["Content-Type: text/html; charset=utf-8", "", f"<p>{content}</p>"])
    kind = "alternative"
    if number % FILE_EVERY == 0:
        kind = "mixed"
        encoded = base64.encodebytes(random.Random(number).randbytes(FILE_BYTES)).decode().splitlines()
        parts.append([
            f'Content-Type: application/octet-stream; name="report-{number}.bin"', "Content-Transfer-Encoding: base64",
            f'Content-Disposition: attachment; filename="report-{number}.bin"', "", *encoded,
        ])  # fmt: skip
    if len(parts) == 1:
        return plain
    border = f"=-border-{number}"
    lines = [line for part in parts for line in (f"--{border}", *part)]
    return [f'Content-Type: multipart/{kind}; boundary="{border}"', "", *lines, f"--{border}--"]


if __name__ == "__main__":
    main()
