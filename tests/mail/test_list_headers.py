"""List header fields as administrators write them: accepted values, and errors with a reason."""

import pytest

from server.errors import Invalid
from server.mail.list_headers import parse

LEAVE = "List-Unsubscribe: <https://desk.example/leave?me=1&to=2%20>"


@pytest.mark.parametrize(("text", "found"), [
    ("", []),
    ("\n  \r\n", []),
    ("List-Id: <support.desk.example>", [("List-Id", "<support.desk.example>")]),
    (" LIST-ID :Pumps of the north <n.desk.example> ", [("List-Id", "Pumps of the north <n.desk.example>")]),
    ('List-Id: "Pumps, north" <n.desk.example>', [("List-Id", '"Pumps, north" <n.desk.example>')]),
    (f"{LEAVE}, <mailto:leave@desk.example?subject=leave>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click", [
        ("List-Unsubscribe", "<https://desk.example/leave?me=1&to=2%20>, <mailto:leave@desk.example?subject=leave>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    ]),
    ("List-Post: NO\nList-Help: <http://desk.example>", [("List-Post", "NO"), ("List-Help", "<http://desk.example>")]),
])  # fmt: skip
def test_lines_become_fields(text: str, found: list[tuple[str, str]]) -> None:
    assert parse(text) == tuple(found)
    assert parse("\n".join(f"{name}: {value}" for name, value in found)) == tuple(found)


@pytest.mark.parametrize(("text", "reason"), [
    ("Bcc: x@evil.example", "'Bcc' must be one of List-Id"),
    ("List-Id", "'List-Id' must be one of"),
    ("List-Id: <a.b>\nlist-id: <a.c>", "List-Id appears twice"),
    ("List-Id: <a.b>\rBcc: x@evil.example", "'Bcc' must be one of"),
    ("List-Id: <a.b>\u2028Subject: x", "'Subject' must be one of"),
    ("List-Id: <a.b>\x00", "ASCII letters, digits and signs"),
    ("List-Id: pumps.desk.example", "such as <support.desk.example>"),
    ("List-Id: <pumps>", "such as <support.desk.example>"),
    ("List-Id: Pümpen <a.b>", "ASCII"),
    ("List-Help: https://desk.example", "addresses in angle brackets"),
    ("List-Help: <javascript:alert(1)>", "addresses in angle brackets"),
    ("List-Help: <https://desk.example/a b>", "addresses in angle brackets"),
    ("List-Help: <https://desk.example/<script>>", "addresses in angle brackets"),
    ("List-Archive: NO", "addresses in angle brackets"),
    (f"List-Archive: <https://desk.example/{'x' * 500}>", "at most 500 characters"),
    ("List-Unsubscribe-Post: yes", "must be List-Unsubscribe=One-Click"),
    ("List-Unsubscribe-Post: List-Unsubscribe=One-Click", "needs a List-Unsubscribe"),
    ("List-Unsubscribe: <mailto:a@b.example>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click", "begins with https:"),
])  # fmt: skip
def test_what_is_no_field_of_a_list_is_refused(text: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text)
    assert reason in refused.value.message
