"""The author of a forwarded mail, as mail programs write it in many languages, and ticket numbers of other
helpdesks."""

import pytest

from server.mail.forwarded import author_of
from server.mail.subject_marks import marks_in

CARL = ("Carl Customer", "carl@customer.example")
LINE = "Carl Customer <carl@customer.example>"
FORWARDS = {
    "Gmail": ("Fwd: Pump", f"Please.\n\n---------- Forwarded message ---------\nFrom: {LINE}\nDate: Tue\n"),
    "Gmail with a changed subject": ("Pump", f"---------- Forwarded message ---------\nFrom: {LINE}\nDate: Tue\n"),
    "Apple Mail": ("Fwd: Pump", f"\nBegin forwarded message:\n\n> From: {LINE}\n> Subject: Pump\n> Date: Tue\n"),
    "Thunderbird": ("Fwd: Pump", f"-------- Forwarded Message --------\nSubject: \tPump\nFrom: \t{LINE}\n"),
    "Outlook": ("FW: Pump", "________\nFrom: Carl Customer [mailto:carl@customer.example]\nSent: Tuesday\nTo: Nora\n"),
    "Outlook of today": ("FW: Pump", f"From: {LINE}\nSent: Tuesday\nTo: Nora\nSubject: Pump\n"),
    "Outlook on a phone": ("Fw: Pump", f"Get Outlook for iOS\n\n*From:* {LINE}\n*Sent:* Tuesday\n*To:* Nora\n"),
    "Outlook with a link": ("FW: Pump", f"From: {LINE[:-1]}<mailto:carl@customer.example>>\nTo: Nora\n"),
    "in German": ("WG: Pumpe", f"Bitte.\n\nVon: {LINE}\nGesendet: Dienstag\nAn: Nora\nBetreff: Pumpe\n"),
    "in French": ("TR: Pompe", f"De : {LINE}\nEnvoyé : mardi\nÀ : Nora\nObjet : Pompe\n"),
    "in Spanish": ("RV: Bomba", f"De: {LINE}\nEnviado el: martes\nPara: Nora\nAsunto: Bomba\n"),
    "in Chinese": ("转发: 泵", f"发件人：{LINE}\n日期：星期二\n收件人：Nora\n"),
    "a line that was broken": ("Fwd: Pump", "From: Carl Customer\n <carl@customer.example>\nDate: Tue\n"),
    "behind the number of a list": ("[desk] Fwd: Pump", f"From: {LINE}\nDate: Tue\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FORWARDS))
def test_the_author_of_a_forwarded_mail(name: str) -> None:
    assert author_of(*FORWARDS[name]) == CARL


def test_the_author_of_an_attached_mail() -> None:
    content = b"\nFrom: =?utf-8?q?Carl_Customer?= <Carl@customer.example>\nSubject: Pump\n\nIt leaks.\n"
    assert author_of("Pump", "See the file.", [b"", content]) == CARL


@pytest.mark.parametrize("subject, text", [
    ("Re: Pump", f"Yes.\n\nFrom: {LINE}\nSent: Tuesday\nTo: Nora\n"), ("Fwd: Pump", "Dear all,\nfrom: nobody at all\n"),
    ("Fwd: Pump", ""), ("Fwd: Pump", f"From: {LINE}\n"), ("Pump", f"Forwarded to {LINE}"),
])  # fmt: skip
def test_mail_that_is_not_forwarded_has_no_original_author(subject: str, text: str) -> None:
    assert author_of(subject, text) is None


def test_a_name_that_imitates_an_address_is_left_out() -> None:
    text = 'From: "boss@company.example" <eve@evil.example>\nDate: Tue\n'
    assert author_of("Fwd: Pump", text) == ("", "eve@evil.example")


@pytest.mark.parametrize("subject, marks", [
    ("Re: [70012345] order of pumps", ["[70012345]"]), ("[Ticket#2026112410000123] x", ["[Ticket#2026112410000123]"]),
    ("[SUPPORT-123] x", ["[SUPPORT-123]"]), ("(PROJ-123) x", ["(PROJ-123)"]), ("(#4711) x", ["(#4711)"]),
    ("##RE-123## x", ["##RE-123##"]), ("{ticket 4711} x", ["{ticket 4711}"]), ("Case #00123: x", ["Case #00123"]),
    ("x [ ref:_00D0.5003:ref ]", ["[ ref:_00D0.5003:ref ]"]), ("INC0012345 x", ["INC0012345"]),
    ("x CAS-12345-A1B2C3", ["CAS-12345-A1B2C3"]),
    ("[70012345] [70012345] [1234] [5678] [9012]", ["[70012345]", "[1234]", "[5678]"]),
    ("Re: [Boat] 3 pumps", []), ("Invoice 12345", []), ("[" * 300, []), ("[1" * 300, []), ("", []),
])  # fmt: skip
def test_numbers_of_other_helpdesks(subject: str, marks: list[str]) -> None:
    assert marks_in(subject) == marks
