"""Internationalized host names, wherever one is encoded: outgoing mail, outgoing requests, DNS queries."""

from email import message_from_bytes
from email.policy import default

import pytest

from server.host_names import ascii_host
from server.mail.mail_bytes import ascii_address, new_message_id
from server.outbound import dns, urls
from server.outbox.signing import ascii_domain
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer

# Under IDNA 2003 the first four would be domains of others.
NAMES = {
    "faß.example": "xn--fa-hia.example",
    "straße.example": "xn--strae-oqa.example",
    "καλός-δρόμος.example": "xn----ylbkvgivogf7he.example",
    "نامه\u200cای.example": "xn--mgba3gch31f060k.example",
    "münchen.example": "xn--mnchen-3ya.example",
    "MÜNCHEN.example": "xn--mnchen-3ya.example",
    "例え。テスト": "xn--r8jz45g.xn--zckzah",
    "i\u2764.example": "xn--i-7iq.example",
    "_dmarc.straße.example": "_dmarc.xn--strae-oqa.example",
    "fass.example": "fass.example",
    "xn--fa-hia.example": "xn--fa-hia.example",
}
NO_NAMES = ["ü" * 70 + ".example", "\u2764" * 70 + ".example", "-ü.example", "\u0300ü.example"]


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_a_name_is_encoded_the_same_everywhere(name: str, expected: str) -> None:
    assert ascii_host(name) == expected
    assert ascii_address(f"user@{name}") == f"user@{expected}"
    assert new_message_id(name).endswith(f"@{expected}")
    assert ascii_domain(name) == expected.lower()
    assert str(dns._name(name)).rstrip(".") == expected.lower()
    if not name.startswith("_"):
        assert urls.parsed(f"https://{name}/x").host == expected.lower()


@pytest.mark.parametrize("name", NO_NAMES)
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(UnicodeError):
        ascii_host(name)
    assert ascii_address(f"user@{name}") == f"user@{name}"  # and the mail requires SMTPUTF8


@pytest.mark.parametrize(("name", "expected"), list(NAMES.items())[:3])
def test_mail_goes_to_the_domain_as_written(desk: Post, smtp: SmtpServer, name: str, expected: str) -> None:
    desk.compose(to=f"user@{name}")
    _, recipients, raw = smtp.take()
    assert recipients == (f"user@{expected}",)
    assert message_from_bytes(raw, policy=default)["To"] == f"user@{expected}"
