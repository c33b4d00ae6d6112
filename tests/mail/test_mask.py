import random
from datetime import date

import pytest

from server.errors import Invalid
from server.mail.mask import DEFAULT_PATTERN, LETTERS, masks_in, matches, new_mask

MASK = "JKQ-75671-699"


@pytest.mark.parametrize(
    ("subject", "found"),
    [
        (f"Re: [#{MASK}] Boat", [MASK]),
        (f"[Desk #{MASK}] x", [MASK]),
        ("Boat [#jkq-75671-699]", [MASK]),
        (f"AW: [Foo Bar #{MASK}] y", [MASK]),
        (f"[#{MASK} ] z", [MASK]),
        (f"[ #{MASK}] z", [MASK]),
        (f"[a #nosuch] [b #{MASK}]", [MASK, "NOSUCH"]),
        (f"[b #{MASK}] [a #nosuch]", ["NOSUCH", MASK]),
        (f"[b #{MASK}] [list]", [MASK]),
        (f"[#1 #{MASK}]", [f"1 #{MASK}", f"1#{MASK}"]),
        ("[Desk #JKQ-75\t671-699] folded", ["JKQ-75 671-699".replace(" ", "\t"), MASK]),
        ("Re: \uff3bDesk \uff03jkq\uff0d75671\uff0d699\uff3d", [MASK]),
        ("Re: [#JKQ\u201175671\u2013699]", [MASK]),
        (f"Re: [\u2068#{MASK}\u2069]", [MASK]),
        (f"[list [b #{MASK}]", [MASK]),
        (f"[#{MASK}] [#{MASK}]", [MASK]),
        (f"[{MASK}] z", []),
        (f"#{MASK} z", []),
        (f"(#{MASK})", []),
        (f"Ticket {MASK}", []),
        (f"[#{MASK}", []),
        (f"#{MASK}]", []),
        ("[#] [# ]", []),
        ("[#" + "x" * 300 + "]", []),
        ("", []),
    ],
)
def test_masks_in_a_subject(subject, found):
    assert masks_in(subject) == found


def test_a_subject_full_of_brackets_gives_some_masks():
    assert masks_in("[" * 50_000 + "[#a]" * 3) == ["A"]
    assert len(masks_in("".join(f"[#{number}]" for number in range(1_000)))) == 20


@pytest.mark.parametrize(
    ("pattern", "regex"),
    [
        (DEFAULT_PATTERN, "LLL-NNNNN-NNN"),
        ("{Desk}-YMD-CCC", "{Desk}-YMD-CCC"),
        ("NNNN", "NNNN"),
    ],
)
def test_new_masks_fit_their_pattern(pattern, regex):
    rand = random.Random(3)
    drawn = [new_mask(pattern, rand) for _ in range(300)]
    assert all(matches(mask, regex) and mask == mask.upper() for mask in drawn)
    assert len(set(drawn)) > 200


def test_parts_of_a_pattern():
    assert new_mask("{NLY}Y/M/D-N", random.Random(1), date(2026, 3, 7)).startswith("NLY2026/03/07-")


def test_letters_have_no_o_and_digits_no_zero():
    drawn = "".join(new_mask("CCCCCCCCCC", random.Random(seed)) for seed in range(200))
    assert "O" not in drawn and "0" not in drawn


def test_offensive_words_are_drawn_again():
    class Scripted:
        words = iter(("ASS", "KEY"))

        def getrandbits(self, bits: int) -> int:
            return sum(
                LETTERS.index(letter) * len(LETTERS) ** place for place, letter in enumerate(next(self.words), 1)
            )

    assert new_mask("LLL", Scripted()) == "KEY"


@pytest.mark.parametrize("pattern", ["", "{LLL}", "Y-M-D", "{open LLL"])
def test_ambiguous_ticket_patterns_are_refused(pattern):
    with pytest.raises(Invalid):
        new_mask(pattern)


@pytest.mark.parametrize(
    ("mask", "is_match"),
    [(MASK, True), (MASK.lower(), True), ("JKO-75671-699", False), ("JKQ-75071-699", False), ("JKQ-75671-6990", False)],
)
def test_matches(mask, is_match):
    assert matches(mask) is is_match
