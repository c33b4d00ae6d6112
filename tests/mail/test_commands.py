"""Command lines in the content are replaced, and all other lines are unchanged."""

import pytest

from server.mail import hash_commands


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hi\n#signature", "Hi\nIda\nDepot"),
        ("Hi\n#sig\n", "Hi\nIda\nDepot\n"),
        ("Hi\n \t#signature  \nbye", "Hi\nIda\nDepot\nbye"),
        ("Hi\r\n#sig\r\nbye", "Hi\r\nIda\nDepot\nbye"),
        ("#original_message", "> was"),
        ("#sig\n#sig", "Ida\nDepot\nIda\nDepot"),
    ],
)
def test_a_line_that_is_a_command_is_replaced(content, expected):
    assert hash_commands.apply(content, "Ida\nDepot", "> was") == expected


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no command",
        "#signature please",
        "see #sig",
        "##sig",
        "# sig",
        "#Signature",
        "#SIG",
        "> #sig",
        "#signatures",
        "#cut",
        "#comment hello",
        "#start comment",
        "#end",
        "#watch",
        "#unwatch",
        "#attach logo",
        "#original_message please",
        "# A heading\n#hashtag",
        "trailing blank \r\n\n\n",
    ],
)
def test_every_other_line_stays_as_it_is(content):
    assert hash_commands.apply(content, "Ida", "> was") == content


def test_without_a_message_answered_its_line_stays():
    assert hash_commands.apply("#original_message\n#sig", "Ida", None) == "#original_message\nIda"


def test_what_is_put_in_is_not_looked_at_again():
    assert hash_commands.apply("#sig\n#original_message", "#original_message", "#sig") == "#original_message\n#sig"


def test_an_empty_signature_leaves_an_empty_line():
    assert hash_commands.apply("Hi\n#sig\nbye", "", None) == "Hi\n\nbye"
