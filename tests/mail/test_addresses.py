import email.header

import pytest

from server.errors import Invalid
from server.mail.addresses import NamedAddress, format_address, matches_pattern, parse_all, parse_list, the_one, valid


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a@b.example", [("", "a@b.example")]),
        ("Ann Kite <a@b.example>", [("Ann Kite", "a@b.example")]),
        ('"Kite, Ann; Dr." <a@b.example>, c@d.example', [("Kite, Ann; Dr.", "a@b.example"), ("", "c@d.example")]),
        ("a@b.example; c@d.example", [("", "a@b.example"), ("", "c@d.example")]),
        ("a@b.example (Ann (the boss) Kite)", [("Ann (the boss) Kite", "a@b.example")]),
        ("(first) a@b.example", [("first", "a@b.example")]),
        ("Team: a@b.example, Bob <c@d.example>;, e@f.example",
         [("", "a@b.example"), ("Bob", "c@d.example"), ("", "e@f.example")]),
        ("undisclosed-recipients:;", []),
        ('"say \\"hi\\"" <a@b.example>', [('say "hi"', "a@b.example")]),
        ('"unclosed <a@b.example>, c@d.example', [("unclosed", "a@b.example"), ("", "c@d.example")]),
        ("(unclosed a@b.example", [("unclosed", "a@b.example")]),
        ("Ann a@b.example", [("Ann", "a@b.example")]),
        ("<a@b.example", [("", "a@b.example")]),
        ("< a@b.example >", [("", "a@b.example")]),
        ("<mailto:a@b.example>", [("", "a@b.example")]),
        ("mailto:a@b.example", [("", "a@b.example")]),
        ("<@relay.example,@x.example:a@b.example>", [("", "a@b.example")]),
        ("=?utf-8?q?Z=C3=B6e=2C_A?= <z@b.example>", [("Zöe, A", "z@b.example")]),
        ('"=?utf-8?q?Z=C3=B6e?=" <z@b.example>', [("Zöe", "z@b.example")]),
        ("=?utf-8?q?a=0D=0Ab?= <z@b.example>", [("a b", "z@b.example")]),
        ('"x a@b.example"@c.example', [("", '"x a@b.example"@c.example')]),
        ('"a b"@c.example', [("", '"a b"@c.example')]),
        ('Ann <"a b"@c.example>', [("Ann", '"a b"@c.example')]),
        ('"ann"@b.example', [("", "ann@b.example")]),
        ('"Ann Kite" a@b.example', [("Ann Kite", "a@b.example")]),
        ('"c@d.example" a@b.example', [("c@d.example", "a@b.example")]),
        ('"a@b.example"', [("", "a@b.example")]),
        ('"Ann"', []),
        ("a (work) @ (home) b.example", [("work", "a@b.example")]),
        ("a(work)@b.example, c@d.example", [("work", "a@b.example"), ("", "c@d.example")]),
        ("Ann @b.example", []),
        ("Ann <a(work)@(home)b.example>", [("Ann", "a@b.example")]),
        ("a@[192.0.2.1]", [("", "a@[192.0.2.1]")]),
        ("Ann <a@[IPv6:2001:db8::1]>", [("Ann", "a@[IPv6:2001:db8::1]")]),
        ('"valid@a.example" <evil@b.example>', [("valid@a.example", "evil@b.example")]),
        ("Doe, John <j@b.example>", [("John", "j@b.example")]),
        ("root@localhost", [("", "root@localhost")]),
        ("<>", []),
        ("", []),
        (",;,;", []),
        ("no address here", []),
    ],
)  # fmt: skip
def test_lists(text, expected):
    assert parse_list(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Ann@b.example ", "ann@b.example"),
        ("Ann Kite <Ann@b.example>", "ann@b.example"),
        ('"Kite, Ann" <a@b.example>', "a@b.example"),
        ("<a@b.example>", "a@b.example"),
        ("a@b.example (Ann)", "a@b.example"),
        ("a@b.example <a@b.example>", "a@b.example"),
        ('Ann <"a b"@c.example>', '"a b"@c.example'),
        ("a@b.example, c@d.example", None),
        ("Ann <a@b.example>, Bob <c@d.example>", None),
        ("Ann <a@b.example> <c@d.example>", None),
        ("Kite, Ann <a@b.example>", None),
        ("Ann <a@b.example> c@d.example", None),
        ("Ann a@b.example", None),
        ("Ann <a>", None),
        ("<>", None),
        ("", None),
    ],
)
def test_the_one_address_of_a_text(text, expected):
    assert the_one(text) == expected


def test_a_list_ends_at_its_limit():
    text = ", ".join(f"u{number}@x.example" for number in range(700))
    assert len(parse_list(text)) == 500
    assert parse_list(text, limit=2) == [NamedAddress("", "u0@x.example"), NamedAddress("", "u1@x.example")]
    assert parse_list("A <a@b>", limit=0) == []


@pytest.mark.parametrize(
    ("address", "is_valid"),
    [
        ("a@b", True),
        ("root@localhost", True),
        ("first.last+tag@sub.x.example", True),
        ("o'neil_{}|~!#$%&*=?^`/-@x.example", True),
        ("jürgen@x.example", True),
        ("用户@例子.example", True),
        ("a" * 64 + "@x.example", True),
        ("a" * 65 + "@x.example", False),
        ("a@" + ".".join(["b" * 63] * 3) + ".example", True),
        ("a@" + "b" * 64 + ".example", False),
        ("a@" + ".".join(["b" * 60] * 5), False),
        (".a@b", False),
        ("a.@b", False),
        ("a..b@c", False),
        ("a@-b", False),
        ("a@b-.c", False),
        ("a@b-", False),
        ("a@b..c", False),
        ("a@.b", False),
        ("a@b.", False),
        ("a b@c", False),
        ("a@b@c", False),
        ('"a b"@c', True),
        ('"a\\"b"@c', True),
        ('"a"b"@c', False),
        ('"a\nb"@c', False),
        ('"a b@c', False),
        ('""@c', True),
        ("a@[1.2.3.4]", True),
        ("a@[ipv6:2001:db8::1]", True),
        ("a@[1.2.3.400]", False),
        ("a@[2001:db8::1]", False),
        ("a@[IPv6:1.2.3.4]", False),
        ("a@[host]", False),
        ("a,b@c", False),
        ("a\n@b", False),
        ("a@b\r\nBcc: c@d", False),
        ("a\u202e@b", False),
        ("a\u00a0b@c", False),
        ("@b", False),
        ("a@", False),
        ("a", False),
        ("", False),
    ],
)
def test_valid(address, is_valid):
    assert valid(address) is is_valid


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "a@b.example"),
        ("Ann", '"Ann" <a@b.example>'),
        ('A "B" \\ C, D', '"A \\"B\\" \\\\ C, D" <a@b.example>'),
        ("Zöe", "=?utf-8?b?WsO2ZQ==?= <a@b.example>"),
    ],
)
def test_formatted(name, text):
    assert format_address(name, "a@b.example") == text
    assert parse_list(text) == [(name, "a@b.example")]


def test_long_names_become_words_that_other_programs_read():
    name = "Grüße aus Köln " * 12 + "🚲"
    text = format_address(name, "a@b.example")
    assert max(map(len, text.split())) <= 75
    words = text.rpartition(" <")[0]
    assert str(email.header.make_header(email.header.decode_header(words))) == name
    assert parse_list(text)[0].name == name


@pytest.mark.parametrize(
    ("name", "address"),
    [("a\r\nBcc: x", "a@b"), ("a\nb", "a@b"), ("a\0", "a@b"), ("", "a@b\r\nBcc: c@d"), ("A", "nobody"), ("A", "a b@c")],
)
def test_nothing_slips_into_a_header(name, address):
    with pytest.raises(Invalid):
        format_address(name, address)


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        ("ann@kite.example", True),
        ("ANN@Kite.example", True),
        ("*@kite.example", True),
        ("ann@*", True),
        ("*", True),
        ("*@other.example", False),
        ("nn@kite.example", False),
        ("ann@kite?example", False),
        ("ann@kiteXexample", False),
        (r"/@kite\.example$/", True),
        ("/^ANN/", True),
        ("/^bob/", False),
        ("/(unclosed/", False),
        ("/(a+)+$/", False),
        ("", False),
        ("  ann@*  ", True),
    ],
)
def test_exclude_patterns(pattern, is_match):
    assert matches_pattern("Ann@kite.example", pattern) is is_match


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ann@x.example; Bob <bob@x.example>", ["ann@x.example", "bob@x.example"]),
        ("ann@x.example, ", ["ann@x.example"]),
        ("friends: ann@x.example;", ["ann@x.example"]),
        ("friends:;", []),
        ("", []),
        ("'ann@x.example'", ["ann@x.example"]),
        ("'ann@x.example", ["'ann@x.example"]),
        ("o'brien'@x.example", ["o'brien'@x.example"]),
        ("ann@x.example, junk", "'junk' is not an email address; use name@host"),
        ("ann@x.example, Bob <bob>", "'Bob <bob>' is not"),
        ("ann@x.example bob@@x.example", "'bob@@x.example' is not"),
        ("a b@x", ["b@x"]),
        ("ann @x.example", "'ann @x.example' is not"),
        ('"only a name"', "'\"only a name\"' is not"),
        ("ann@x..example", "'ann@x..example' is not"),
        ("bob@x.example, Ann <ann@x", "'Ann <ann@x' is not"),
        ("<ann@x.example, bob@x.example", "'<ann@x.example, bob@x.example' is not"),
    ],
)
def test_what_somebody_wrote_is_taken_whole_or_refused_with_the_text(text, found):
    if isinstance(found, str):
        with pytest.raises(Invalid) as refused:
            parse_all(text)
        assert found in refused.value.message
    else:
        assert [each.address for each in parse_all(text)] == found
