"""Permitted hosts: every spelling of an address outside the public internet is refused."""

import socket

import pytest

from server import app, outbound
from server.errors import HelpdeskError, Invalid, Rejected
from server.outbound.allowlist import allowed, is_public
from server.outbound.urls import parsed
from server.settings import load

# Hosts as spelled in an address, with their meaning.
REFUSED = """
    127.0.0.1                   127.1                       127.0.1                     127.255.255.254
    2130706433                  0x7f000001                  0x7f.0.0.1                  0x7f.1
    017700000001                0177.0.0.1                  0177.1                      0X7F.0x0.0x0.0x1
    0x7f.0.0.0x1                127.0.0.1.                  0                           0.0.0.0
    00000177.0.0.1              127.0.0.01                  4294967295                  1.1.1.1.1
    １２７.０.０.１             127。0。0。1                ①②⑦.0.0.1                   localhost
    localhost.                  LOCALHOST                   ｌocalhost                  10.0.0.1
    10.255.255.255              172.16.0.1                  172.31.255.255              192.168.1.1
    169.254.169.254             0xa9fea9fe                  2852039166                  0251.0376.0251.0376
    100.64.0.1                  100.100.100.200             192.0.0.192                 168.63.129.16
    198.18.0.1                  192.0.2.1                   203.0.113.9                 224.0.0.1
    255.255.255.255             240.0.0.1                   134744072                   0x08080808
    [::]                        [::1]                       [0:0:0:0:0:0:0:1]           [::127.0.0.1]
    [::ffff:127.0.0.1]          [::ffff:7f00:1]             [::ffff:10.0.0.1]           [::ffff:0:127.0.0.1]
    [::ffff:8.8.8.8]            [64:ff9b::7f00:1]           [64:ff9b::10.0.0.1]         [64:ff9b:1::1]
    [2002:7f00:1::]             [2002:a00:1::1]             [2001:0:4136:e378::1]       [2001::7f00:1]
    [fe80::1]                   [fe80::1%25eth0]            [fe80::1%eth0]              [fc00::1]
    [fd00:ec2::254]             [fd20:ce::254]              [ff02::1]                   [ff0e::1]
    [2001:db8::1]               [100::1]                    [5f00::1]                   [::1]evil.example
    [127.0.0.1]                 [v1.127]                    127.0.0.1%00.example        127.0.0.1%2f.example
    user@127.0.0.1              a:b@127.0.0.1               8.8.8.8@127.0.0.1           127.0.0.1\\.example
    %31%32%37.0.0.1             127.0.0.1\t                 127.0.0\n.1                 127 .0.0.1
"""


def hosts() -> list[str]:
    found = [each for line in REFUSED.split("\n    ") for each in line.split("  ") if each.strip(" ")]
    return [each.strip(" ") for each in found]


@pytest.mark.parametrize("host", hosts())
def test_no_spelling_reaches_what_is_not_on_the_open_internet(host):
    with pytest.raises((Invalid, Rejected)):
        outbound.send(outbound.request(f"http://{host}/"), outbound.limits())


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "localhost", "１２７.0.0.1", "0"])
def test_nothing_listens_in_vain_for_what_was_refused(host, peer):
    with pytest.raises(HelpdeskError):
        outbound.send(outbound.request(f"http://{host}:{peer.port}/"), outbound.limits())
    assert peer.connections == 0


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "100.128.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.254", "2606:4700::1111",
     "2a00:1450:4001::1", "2400:cb00::1"],
)  # fmt: skip
def test_the_open_internet_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["10.0.0.7"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::a00:1"],
        ["fe80::1%2"],
        ["8.8.8.8", "10.0.0.7"],
        ["2606:4700::1111", "::1"],
        ["8.8.8.8", "8.8.4.4", "8.8.4.5", "8.8.4.6", "8.8.4.7", "192.168.0.1"],
    ],
)
def test_a_name_is_refused_for_any_of_its_addresses(answers):
    with pytest.raises(Rejected) as refused:
        outbound.send(outbound.request("http://shop.example/"), outbound.limits(), lambda *_, **__: named(answers))
    assert "shop.example" in refused.value.message and "outbound_allow" in refused.value.message


def named(addresses: list[str]) -> list[tuple[object, ...]]:
    """A result of socket.getaddrinfo."""
    return [
        (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80))
        for each in addresses
    ]


@pytest.mark.parametrize(
    ("setting", "host", "address", "lets"),
    [
        ("10.0.0.0/8", "erp.example", "10.2.3.4", True),
        ("10.0.0.0/8", "erp.example", "11.2.3.4", True),  # is public
        ("10.0.0.0/8", "erp.example", "192.168.0.1", False),
        ("10.0.0.0/8", "erp.example", "::ffff:10.2.3.4", False),
        ("10.0.0.9/8", "erp.example", "10.2.3.4", True),
        ("127.0.0.1", "localhost", "127.0.0.1", True),
        ("127.0.0.1", "localhost", "127.0.0.2", False),
        ("127.0.0.1", "localhost", "::1", False),
        ("localhost", "localhost", "127.0.0.2", True),
        ("LocalHost.", "localhost", "::1", True),
        ("erp.example", "other.example", "10.2.3.4", False),
        ("fd00::/8", "erp.example", "fd00::7", True),
        ("64:ff9b::/96", "erp.example", "64:ff9b::808:808", True),
    ],
)
def test_the_setting_lets_networks_addresses_and_names_be(setting, host, address, lets):
    assert allowed([setting]).lets(host, address) is lets


@pytest.mark.parametrize(
    "wrong", ["", "10.0.0.0/33", "erp.example:80", "http://erp.example", "10.0.0", "a b", "*.x", "::g"]
)
def test_a_wrong_entry_of_the_setting_is_named(wrong):
    with pytest.raises(Invalid) as refused:
        allowed([wrong])
    assert refused.value.details["field"] == "outbound_allow" and f"'{wrong}'" in refused.value.message


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("http://shop.example", "http://shop.example/"),
        ("HTTP://Shop.Example:80/A", "http://shop.example/A"),
        ("https://shop.example:443", "https://shop.example/"),
        ("https://shop.example:8443/?", "https://shop.example:8443/"),
        ("https://shop.example?a=1#b", "https://shop.example/?a=1"),
        (" https://shop.example./x ", "https://shop.example/x"),
        ("https://bücher.example/ä b", "https://xn--bcher-kva.example/%C3%A4%20b"),
        ("https://shop.example/100%?q=a%20b&c[]=ü|", "https://shop.example/100%25?q=a%20b&c%5B%5D=%C3%BC%7C"),
        ("http://[2606:4700:0::1111]:81/", "http://[2606:4700::1111]:81/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://a_b-c.example/", "http://a_b-c.example/"),
    ],
)
def test_addresses_have_one_form(text, read):
    assert str(parsed(text)) == read


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("notaurl", "not http or https"),
        ("", "not http or https"),
        ("//shop.example/", "not http or https"),
        ("ftp://shop.example/", "not http or https"),
        ("htps://shop.example/", "did you mean 'https'?"),
        ("file:///etc/passwd", "not http or https"),
        ("gopher://shop.example/", "not http or https"),
        ("javascript:1", "not http or https"),
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://:80/", "no host"),
        ("http:shop.example", "no host"),
        ("http://shop.example:0/", "port 0"),
        ("http://shop.example:65536/", "host or port"),
        ("http://shop.example:eighty/", "host or port"),
        ("http://shop.example:80:90/", "host or port"),
        ("http://[::1/", "host or port"),
        ("http://[]/", "host"),
        ("http://-a.example/", "not a host name"),
        ("http://a..example/", "not a host name"),
        ("http://" + "a" * 64 + ".example/", "not a host name"),
        ("http://" + "a." * 130 + "example/", "not a host name"),
        ("http://shop!.example/", "not a host name"),
        ("http://256.1.1.1/", "IPv4"),
        ("http://ann:secret@shop.example/", "name or password"),
        ("http://shop.example/\r\nHost: evil", "line break"),
        ("http://shop.example/\x00", "line break"),
        ("http://shop.example\\@evil.example/", "backslash"),
        ("http://shop.example/\ud800", "control character"),
        ("http://shop.example/" + "a" * 2048, "2,068 characters, at most 2,048"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text, words):
    with pytest.raises(Invalid) as refused:
        parsed(text)
    assert words in refused.value.message
    assert "secret" not in refused.value.message
    assert refused.value.message.isprintable()


def test_errors_do_not_show_the_query():
    with pytest.raises(Invalid) as refused:
        parsed("ftp://shop.example/?key=s3cret")
    assert "s3cret" not in refused.value.message


def test_a_wrong_setting_stops_the_start(tmp_path):
    settings = load({"outbound_allow": "10.0.0.0/8, 10.0.0.0/99"}, {}, tmp_path)
    with pytest.raises(Invalid) as refused:
        app.open_service(settings)
    assert "outbound_allow: '10.0.0.0/99'" in refused.value.message
    assert list(tmp_path.iterdir()) == []
