"""The cost of a contact form in that of parsing the same email: by the processor time of the server per request, which
includes what it does after the responses, and by rate.

Forms are sent as a browser does, with a token of its own each, which a page of the form has given out before the half
begins. Their checks all run; only the limits for one network and for a short stay are off, since all forms come from
this machine at once. Halves alternate, with as many requests each."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from html import unescape
from itertools import count
from statistics import median

from tests.bench.load import COUNTER, Measured
from tests.bench.process import Server
from tests.bench.rules import idle
from tests.bench.scenarios import SENDER_NAME, SUBJECT, Desk, brand_id, create_record, mail_text, parsed

REQUESTS, ROUNDS = 300, 7
CLIENTS = (1, 16)
MOST_TIMES = 1.2  # the most processor time of a form, as a multiple of that of parsing the same email
PATH, BOUNDARY = "/help-center/contact/bench", "bench-0b7e1f4a"
_TOKEN = re.compile(r'name="token" value="([^"]*)"')
_senders = count(1)  # each writes once: an address may send few forms an hour

Run = Callable[[list[str], int, int], Measured]


@dataclass(frozen=True)
class Half:
    """One half of a round. cpu_us: processor time of the server per request."""

    per_second: float
    cpu_us: float


def lines(desk: Desk, server: Server, run: Run) -> Iterator[str]:
    """Yields the lines to print. run: sends requests once each over a number of clients, and expects a status."""
    groups = desk.answer(desk.get("/rest/records/group/search.json", limit="1"))["results"]
    fields = {"name": "Write to us", "slug": "bench", "brand_id": str(brand_id(desk)), "is_on": "1", "has_files": "1"}
    create_record(desk, "contact_form", fields | {"group_id": str(groups[0]["id"])})
    yield f"{'tickets':>8} {'clients':>7}  {'contact form':<16} {'forms/s':>8} {'mails/s':>8} {'us each':>16}"
    _half(server, run, _forms(desk), 1, 303)  # the first requests of a server take longer
    _half(server, run, _mails(desk), 1, 200)
    for clients in CLIENTS:
        rounds = []
        for number in range(ROUNDS):
            if number % 2:
                mails = _half(server, run, _mails(desk), clients, 200)
                rounds.append((_half(server, run, _forms(desk), clients, 303), mails))
            else:
                forms = _half(server, run, _forms(desk), clients, 303)
                rounds.append((forms, _half(server, run, _mails(desk), clients, 200)))
        yield line(desk.tickets, clients, rounds)


def line(tickets: int, clients: int, rounds: list[tuple[Half, Half]]) -> str:
    """Returns one row. rounds: pairs (forms, emails)."""
    cpu, rate = (
        median(form.cpu_us / max(mail.cpu_us, 1e-9) for form, mail in rounds),
        median(form.per_second / max(mail.per_second, 1e-9) for form, mail in rounds),
    )
    forms, mails = ([median(getattr(each[side], name) for each in rounds) for name in ("per_second", "cpu_us")]
                    for side in (0, 1))  # fmt: skip
    return (
        f"{tickets:>8} {clients:>7}  {'':<16} {forms[0]:>8.0f} {mails[0]:>8.0f} {forms[1]:>7.0f} {mails[1]:>8.0f}  "
        f"{cpu:.2f} times the processor time of parse, at most {MOST_TIMES:.2f}: "
        f"{'ok' if cpu <= MOST_TIMES else 'MISSED'}; {rate:.2f} of its rate"
    )


def _half(server: Server, run: Run, requests: list[str], clients: int, status: int) -> Half:
    before = idle(server)
    measured = run(requests, clients, status)
    return Half(measured.per_second, (idle(server) - before) / len(requests) * 1e6)


def _sender() -> str:
    return f"bench-writer-{next(_senders)}@example.com"


def _mails(desk: Desk) -> list[str]:
    now = formatdate()
    return [parsed(desk, _sender(), now) for _ in range(REQUESTS)]


def _forms(desk: Desk) -> list[str]:
    """Opens the form as often as it is sent."""
    return [_form(desk, desk.answer(desk.get(PATH))["page"]) for _ in range(REQUESTS)]


def _form(desk: Desk, page: str) -> str:
    token = _TOKEN.search(page)
    assert token is not None, page[:2000]
    fields = {
        "token": unescape(token[1]),
        "website": "",
        "proof": "",
        "name": SENDER_NAME,
        "email": _sender(),
        "subject": SUBJECT,
        "message": mail_text(),
    }
    parts = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    body = f"{''.join(parts)}--{BOUNDARY}--\r\n"
    assert COUNTER in body
    return (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{desk.port}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
