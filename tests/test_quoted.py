"""Folding of mail text on the page of a ticket: quotations and signatures are folded, and nothing is left out."""

import random

import pytest

from server.markup import quoted
from tests import quotations

SAID, QUOTE, SIGNATURE = "said", "quote", "signature"
names = pytest.mark.parametrize
# Lines that mail programs put above quotations, collected in the languages of their users.
ATTRIBUTIONS = [
    "On Mon, Mar 2, 2026 at 9:14 AM Ida Berg <ida@kite.example> wrote:",
    "On 2 March 2026 at 09:14:55, Ida Berg (ida@kite.example) wrote:",
    "Am 02.03.26 um 09:14 schrieb Ida Berg:",
    "Ida Berg <ida@kite.example> schrieb am Mo. 2. März 2026 um 09:14:",
    "Le lun. 2 mars 2026 à 09:14, Ida Berg <ida@kite.example> a écrit :",
    "El lun, 2 mar 2026 a las 9:14, Ida Berg (<ida@kite.example>) escribió:",
    "Il giorno lun 2 mar 2026 alle ore 09:14 Ida Berg <ida@kite.example> ha scritto:",
    "Em seg., 2 de mar. de 2026 às 09:14, Ida Berg <ida@kite.example> escreveu:",
    "Op ma 2 mrt 2026 om 09:14 schreef Ida Berg <ida@kite.example>:",
    "Den mån 2 mars 2026 kl 09:14 skrev Ida Berg <ida@kite.example>:",
    "pon., 2 mar 2026 o 09:14 Ida Berg <ida@kite.example> napisał(a):",
    "пн, 2 мар. 2026 г. в 09:14, Ida Berg <ida@kite.example>:",
    "2026年3月2日(月) 9:14 Ida Berg <ida@kite.example>:",
    "Ida Berg <ida@kite.example> 于2026年3月2日周一 09:14写道\uff1a",
    "2026년 3월 2일 (월) 오전 9:14, Ida Berg <ida@kite.example>님이 작성:",
    "On Mon, Mar 2, 2026 at 9:14 AM Ida Berg\n<ida@kite.example> wrote:",
]
# The headers of a quoted mail as Outlook and others write them below the reply, and the lines above them.
BELOW = [
    "-----Original Message-----\nFrom: Ida Berg\nSent: Monday, March 2, 2026 9:14 AM\nTo: Support\nSubject: Pump",
    "-----Ursprüngliche Nachricht-----\nVon: Ida Berg\nGesendet: Montag, 2. März 2026\nAn: Support\nBetreff: Pumpe",
    "________________________________\nFrom: Ida Berg\nSent: Monday\nTo: Support\nSubject: Pump",
    "From: Ida Berg <ida@kite.example>\nSent: Monday\nTo: Support\nSubject: Pump",
    "*From:* Ida Berg <ida@kite.example>\n*Sent:* Monday\n*To:* Support\n*Subject:* Pump",
    "Von: Ida Berg <ida@kite.example>\nGesendet: Montag\nAn: Support\nBetreff: Pumpe",
    "Von: Ida Berg\nGesendet: Montag, 2. März 2026 09:14\nAn: Support\nBetreff: Pumpe",  # not an address
    "De : Ida Berg <ida@kite.example>\nEnvoyé : lundi\nÀ : Support\nObjet : Pompe",
    "Från: Ida Berg <ida@kite.example>\nSkickat: måndag\nTill: Support\nÄmne: Pump",
    "От: Ida Berg <ida@kite.example>\nОтправлено: понедельник\nКому: Support\nТема: Насос",
    "发件人\uff1aIda Berg <ida@kite.example>\n发送时间\uff1a2026年3月2日\n收件人\uff1aSupport\n主题\uff1a水泵",
]
# Texts that look like quotations but stay unfolded.
ALL_SAID = [
    "",
    "\n\n",
    "Three things:\n1. one\n2. two",
    "Name: Ana Lund\nEmail: ana@kite.example\nPhone: 555 0100\nMessage: It leaks.",  # the form of a web site
    "New enquiry\n\nFirst name: Ana\nReply to: ana@kite.example\nOrder: 12",
    "From: Oslo\nTo: Bergen\nDate: 5 May",  # a travel itinerary
    "a -> b => c",
    "see --\nand below",
    "--- a/pump.c\n+++ b/pump.c",
    "______ sign here ______",
    "Hello,\n\nhe wrote at 10:00:\nthat it leaks",
    "Sent from my office: two boxes.\nPlease confirm.",
]


def kinds(text: str) -> list[tuple[str, str]]:
    return [(kind, part) for kind, part in quoted.parts(text) if part.strip()]


@names("line", ATTRIBUTIONS)
def test_the_line_that_says_who_wrote_it_goes_with_the_quote(line: str) -> None:
    quote = f"{line}\n> Is it?\n>\n> Ida"
    assert kinds(f"Yes.\n\n{quote}") == [(SAID, "Yes.\n"), (QUOTE, quote)]
    assert kinds(f"Yes.\n\n{line}\n\n> Is it?")[1] == (QUOTE, f"{line}\n\n> Is it?"), "with a blank line between"


@names("head", BELOW)
def test_a_mail_that_was_put_below_is_one_quote_to_its_end(head: str) -> None:
    assert kinds(f"Yes.\n{head}\n\nIs it?\n\nIda") == [(SAID, "Yes."), (QUOTE, f"{head}\n\nIs it?\n\nIda")]


@names("program", list(quotations.TEXT))
def test_a_reply_of_every_program_is_folded(program: str) -> None:
    parts = kinds(quotations.TEXT[program])
    assert [part.strip() for kind, part in parts if kind == SAID] == ["Thank you."]
    assert parts[-1][0] == QUOTE and parts[-1][1].endswith("Old words")


@names("text", ALL_SAID)
def test_what_only_looks_like_it_is_not_folded(text: str) -> None:
    assert {kind for kind, _ in quoted.parts(text)} <= {SAID}


@names(("text", "expected"), [
    ("Yes.\n-- \nAna\nKite Ltd", [(SAID, "Yes."), (SIGNATURE, "-- \nAna\nKite Ltd")]),
    ("Yes.\n--\nAna", [(SAID, "Yes."), (SIGNATURE, "--\nAna")]),
    ("Yes.\n-- \nAna\n> Is it?", [(SAID, "Yes."), (SIGNATURE, "-- \nAna"), (QUOTE, "> Is it?")]),
    ("> Is it?\nYes.\n> And that?\nNo.", [(QUOTE, "> Is it?"), (SAID, "Yes."), (QUOTE, "> And that?"), (SAID, "No.")]),
    (">> Older\n> Old\nNew", [(QUOTE, ">> Older\n> Old"), (SAID, "New")]),
    ("> one\n\n> two", [(QUOTE, "> one\n\n> two")]),
    ("I think so\n> Is it?", [(SAID, "I think so"), (QUOTE, "> Is it?")]),
    ("> Is it?", [(QUOTE, "> Is it?")]),
])  # fmt: skip
def test_quotes_answers_between_them_and_signatures(text: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(text) == expected


def test_the_parts_put_together_are_the_text() -> None:
    """Random lines in random order, with the line ends of all systems."""
    chance = random.Random(7)
    lines = ["", " ", "-- ", "> a", ">", "said", "he wrote:", *(each for head in BELOW for each in head.split("\n"))]
    for _ in range(2000):
        text = "\n".join(chance.choices(lines, k=chance.randrange(12)))
        for whole in (text, text.replace("\n", "\r\n"), text.replace("\n", "\r")):
            assert "\n".join(part for _, part in quoted.parts(whole)) == whole


@names("line", ["> ", "a:\n> ", "\n> ", "-- \n", "From: a@b.example\n", ":\n\n", "_" * 30, "-" * 3 + "a", "> \n\n"])
def test_time_grows_with_the_text_alone(line: str) -> None:
    """The run would not end if any step were quadratic."""
    text = line * (200_000 // len(line))
    assert "\n".join(part for _, part in quoted.parts(text)) == text
