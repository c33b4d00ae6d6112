"""DNS entries of the domains that mail is sent from, queried from a name server of the tests."""

from collections.abc import Iterator

import pytest

from server.errors import Unavailable
from server.mailroom.mail_dns import of_domain
from tests.outbound.test_dns import MAIL, NameServer, answering, record

TXT, MX = 16, 15
POLICY = b"v=DMARC1; p=reject"
OWN = b"v=spf1 include:provider.example -all"


@pytest.fixture
def server() -> Iterator[NameServer]:
    opened = NameServer()
    yield opened
    opened.close()


def text(entry: bytes) -> bytes:
    return record(TXT, bytes([len(entry)]) + entry)


def says(server: NameServer, own: list[bytes], policies: list[bytes], exchanges: int) -> dict[str, tuple[str, str]]:
    """Returns {kind: (entry, advice)} for x.example with these entries."""

    def answer(question: bytes) -> bytes:
        if question[-4:-2] == MX.to_bytes(2, "big"):
            return answering(*[record(MX, b"\x00\x0a" + MAIL)] * exchanges)(question)
        return answering(*map(text, policies if b"\x06_dmarc" in question else own))(question)

    server.answer = answer
    return {each.kind: (each.found, each.advice) for each in of_domain("x.example", [server.address])}


def test_a_domain_with_correct_entries(server: NameServer) -> None:
    told = says(server, [b"something else", OWN], [POLICY], 1)
    assert told["SPF"] == (OWN.decode(), "") and told["DMARC"] == (POLICY.decode(), "")
    assert told["MX"] == ("mail.x.example", "") and "DKIM" not in told


@pytest.mark.parametrize(("own", "policies", "exchanges", "kind", "advice"), [
    ([], [POLICY], 1, "SPF", "add a TXT entry at x.example"),
    ([b"v=spf10 -all"], [POLICY], 1, "SPF", "add a TXT entry"),
    ([OWN, OWN], [POLICY], 1, "SPF", "combine them into one"),
    ([b"v=spf1 +all"], [POLICY], 1, "SPF", "lets every server send"),
    ([OWN], [], 1, "DMARC", "_dmarc.x.example"),
    ([OWN], [POLICY, POLICY], 1, "DMARC", "keep one"),
    ([OWN], [POLICY], 0, "MX", "cannot arrive"),
], ids=[
    "no SPF", "malformed SPF", "two SPF entries", "SPF of every server", "no DMARC", "two DMARC entries", "no MX",
])  # fmt: skip
def test_missing_entries_are_reported_with_advice(
    server: NameServer, own: list[bytes], policies: list[bytes], exchanges: int, kind: str, advice: str
) -> None:
    told = says(server, own, policies, exchanges)
    assert advice in told[kind][1]
    assert [each for each in ("SPF", "DMARC", "MX") if told[each][1]] == [kind]


def test_names_that_cannot_be_resolved() -> None:
    assert "only on this machine" in of_domain("localhost", [])[0].advice
    assert "not a name that can be looked up" in of_domain(f"{'x' * 70}.example", [("127.0.0.1", 9)])[0].advice
    with pytest.raises(Unavailable, match="no name server responds"):
        of_domain("x.example", [])
