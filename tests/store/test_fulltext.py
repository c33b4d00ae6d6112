"""The full-text index: how words of users become queries, and which records match."""

import sys

import pytest

from server.store import fulltext
from server.store.database import Store
from server.store.fulltext import MAX_INDEXED_CHARS, words_query
from server.store.statements import slot
from tests.store.conftest import WORDS

TEXTS = {
    1: {"name": "Garden pump", "notes": "The pump leaks at the valve, says ana@larch.example."},
    2: {"name": "Cellar", "notes": "Flooded again; the pump is silent. Order #AB-12345-678."},
    3: {"name": "Überlauf", "notes": "Ça coule. Grüße aus Köln, Łódź, Ελλάδα und Москва."},
    4: {"name": "日本語", "notes": "mixed 日本語 text"},
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pump", '"pump"'),
        ("pump leak", '"pump" "leak"'),
        ("leak*", '"leak"*'),
        ("le*", '"le"*'),
        ("l*", '"l"*'),
        ("*", None),
        ("", None),
        ("   ", None),
        ("the", None),
        ("of the", None),
        ("be* the", '"be"*'),  # "Bella" matches while the word is being typed
        ("THE pump", '"pump"'),
        ("ab", None),
        ("abc", '"abc"'),
        ("x" * 83, f'"{"x" * 83}"'),
        ("x" * 84, None),
        ("ana@larch.example", '"ana larch example"'),
        ("AB-12345-678", '"AB 12345 678"'),
        ("it's", '"it s"'),
        ('pump" OR "x', '"pump"'),
        ("pump NOT leak", '"pump" "NOT" "leak"'),  # ordinary words, never operators
        ("NEAR(pump leak)", '"NEAR pump" "leak"'),
        ("{name}:pump", '"name pump"'),
        ("^pump", '"pump"'),
        ("pump\x00leak", '"pump leak"'),
        ("---", None),
        ("Köln", '"Koln"'),
        ("退款", '"退款"'),  # two characters form a word in this script
        ("订单号是4711", '"订单 单号 号是 是 4711"'),
        ("茶", '"茶"*'),
        ("や*", '"や"*'),
    ],
)
def test_words_become_a_query(words: str, expected: str | None) -> None:
    assert words_query(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("the pump leaks", '"the pump leaks"'),
        ("pump", '"pump"'),
        ("to be or not", '"to be or not"'),
        ("to be or", None),
        ("of the", None),
        ("", None),
        ('say "pump"', '"say pump"'),
        ("the pu*", '"the pu"*'),
        ("be*", '"be"*'),
    ],
)
def test_a_phrase_keeps_its_common_words(words: str, expected: str | None) -> None:
    assert words_query(words, is_phrase=True) == expected


def test_one_column_can_be_asked_alone() -> None:
    assert words_query("pump leak", column="name") == '{name} : ("pump" "leak")'


@pytest.fixture
def found(store: Store):
    """The ids that match some words."""

    def index(tx) -> None:
        for id, parts in TEXTS.items():
            fulltext.index(tx, WORDS, id, parts)

    store.write(index)

    def look(words: str, is_phrase: bool = False, column: str = "") -> list[int]:
        query = words_query(words, is_phrase, column)
        assert query is not None
        table = WORDS.sql
        return sorted(
            row[0]
            for row in store.read(
                lambda tx: tx.rows(lambda: table.select(table.rowid).where(fulltext.match(WORDS, slot(0))), (query,))
            )
        )

    return look


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("pump", [1, 2]),
        ("PUMP", [1, 2]),
        ("pump leaks", [1]),
        ("leak", []),
        ("leak*", [1]),
        ("ana@larch.example", [1]),
        ("larch", [1]),
        ("AB-12345-678", [2]),
        ("uberlauf", [3]),
        ("Überlauf", [3]),
        ("grusse", [3]),
        ("grüße", [3]),
        ("москва", [3]),
        ("ΕΛΛΆΔΑ", [3]),
        ("日本語", [4]),
        ("absent", []),
        ("NEAR(pump leak)", []),
    ],
)
def test_words_find_records(found, words: str, ids: list[int]) -> None:
    assert found(words) == ids


# Both databases must return the same for each case: the parts of a record, then words with whether they match.
ALIKE: list[tuple[dict[str, str], str, bool, str, bool]] = [
    # (texts, words, is_phrase, column, is a match)
    ({"notes": "the pump, which leaks"}, "pump leaks", True, "", False),
    ({"notes": "the pump; leaks"}, "pump leaks", True, "", True),
    ({"name": "pump", "notes": "leaks"}, "pump leaks", True, "", False),  # no phrase spans two parts
    ({"name": "pump", "notes": "leaks"}, "pump leaks", False, "", True),
    ({"name": "pump", "notes": "leaks"}, "pump leaks", False, "notes", False),
    ({"name": "pump", "notes": "leaks"}, "leaks", False, "notes", True),
    ({"notes": "to be or not to be"}, "to be or not", True, "", True),
    ({"notes": "to be or not to be"}, "or not to", True, "", True),
    ({"notes": "pumping"}, "pump", False, "", False),
    ({"notes": "pumping"}, "pump*", False, "", True),
    ({"notes": "pumping"}, "PUM*", False, "", True),
    ({"notes": "the pumping starts"}, "the pum*", True, "", True),
    ({"notes": "the starts pumping"}, "the pum*", True, "", False),
    ({"notes": "café"}, "cafe", False, "", True),
    ({"notes": "cafe\u0301"}, "CAFÉ", False, "", True),
    ({"notes": "Ångström"}, "angstrom", False, "", True),
    ({"notes": "Straße"}, "strasse", False, "", True),
    ({"notes": "STRASSE"}, "straße", False, "", True),
    ({"notes": "Łódź"}, "lodz", False, "", True),
    ({"notes": "Ærø"}, "aero", False, "", True),
    ({"notes": "МОСКВА"}, "москва", False, "", True),
    ({"notes": "日本語 text"}, "日本語", False, "", True),
    ({"notes": "日本語"}, "日本*", False, "", True),
    ({"notes": "ana.maria+list@larch.example"}, "ana.maria+list@larch.example", False, "", True),
    ({"notes": "ana.maria@larch.example"}, "maria@larch", False, "", True),
    ({"notes": "ana@larch.example"}, "larch ana", True, "", False),
    ({"notes": "order_no 17"}, "order", False, "", True),
    ({"notes": "order_no 17"}, "order_no", False, "", True),
    ({"notes": "v2.10.3"}, "2.10", False, "", False),
    ({"notes": "v2.10.3"}, "v2.10", False, "", True),
    ({"notes": "it's O'Neill's"}, "o'neill", False, "", True),
    ({"notes": "back\\slash 'quoted' \"twice\""}, "slash quoted twice", False, "", True),
    ({"notes": "a & b | c ! d <-> e:*"}, "a & b | c ! d <-> e:*", False, "", True),
    ({"notes": "nul\x00byte"}, "nul byte", True, "", True),
    ({"notes": "x" * 83}, "x" * 83, False, "", True),
    ({"notes": "³ m² ½ Ⅳ ٣٤"}, "٣٤", True, "", True),
    ({"notes": "٣٤"}, "34*", False, "", True),
    ({"notes": "m²"}, "m2*", False, "", True),
    ({"name": "退款问题", "notes": "你好，我想申请退款，订单号是 4711。"}, "退款", False, "", True),
    ({"notes": "你好，我想申请退款，订单号是 4711。"}, "申请退款", False, "", True),
    ({"notes": "你好，我想申请退款，订单号是 4711。"}, "订单号", False, "", True),
    ({"notes": "你好，我想申请退款"}, "款", False, "", True),
    ({"notes": "你好，我想申请退款"}, "退订", False, "", False),
    ({"notes": "你好，我想申请退款"}, "请申", False, "", False),
    ({"notes": "订单号是4711的"}, "订单号是4711", False, "", True),
    ({"notes": "订单号4711"}, "4711", False, "", True),
    ({"notes": "見積書の件、サンドボックス修正テスト"}, "見積書", False, "", True),
    ({"notes": "見積書の件、サンドボックス修正テスト"}, "サンドボックス", False, "", True),
    ({"notes": "見積書の件、サンドボックス修正テスト"}, "ﾃｽﾄ", False, "", True),  # half width
    ({"notes": "お世話に\nなっております"}, "世話になって", False, "", True),  # the mail program broke the line
    ({"notes": "カス"}, "ガス", False, "", False),
    ({"notes": "안녕하세요. 환불요청합니다"}, "환불", False, "", True),
    ({"notes": "안녕하세요. 환불요청합니다"}, "환불요청", False, "", True),
    ({"notes": "안녕하세요. 환불 요청합니다"}, "환불 요청", True, "", True),
    ({"notes": "ขอคืนเงินค่าสินค้า"}, "คืนเงิน", False, "", True),
    ({"notes": "ขอคืนเงินค่าสินค้า"}, "เงินคืน", False, "", False),
    ({"notes": "ສະບາຍດີ"}, "ບາຍ", False, "", True),
    ({"notes": "ជំរាបសួរ"}, "រាប", False, "", True),
    ({"notes": "हिन्दी में"}, "हिन्दी", False, "", True),
    ({"notes": "हिन्दी में"}, "हान्दा", False, "", False),
    ({"notes": "صَبَاحُ الخَيْر"}, "صباح الخير", False, "", True),
    ({"notes": "مـــرحبا"}, "مرحبا", False, "", True),
    ({"notes": "שָׁלוֹם"}, "שלום", False, "", True),
    ({"notes": "Ёлка"}, "елка", False, "", True),
    ({"notes": "Νίκος"}, "ΝΙΚΟΣ", False, "", True),
    ({"notes": "ｆｕｌｌ ｗｉｄｔｈ"}, "full width", False, "", True),
    ({"notes": "ﬁnal"}, "final", False, "", True),
    ({"notes": "ſtop"}, "stop", False, "", True),
    ({"notes": "İstanbul"}, "istanbul", False, "", True),
    ({"notes": "istanbul"}, "İSTANBUL", False, "", True),
    ({"notes": "Dampf\u00adschiff"}, "Dampfschiff", False, "", True),
    ({"notes": "Windows™ läuft"}, "windows", False, "", True),
]


@pytest.mark.parametrize(("texts", "words", "is_phrase", "column", "is_found"), ALIKE)
def test_words_are_found_alike(
    store: Store, found, texts: dict[str, str], words: str, is_phrase: bool, column: str, is_found: bool
) -> None:
    store.write(lambda tx: fulltext.index(tx, WORDS, 9, texts))
    if words_query(words, is_phrase, column) is None:
        assert not is_found
    else:
        assert (9 in found(words, is_phrase, column)) == is_found


def test_every_letter_is_found_by_its_other_case(store: Store, found) -> None:
    """Covers the case folding of all of Unicode with either store."""
    letters = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).casefold() != chr(code)]
    letters = [each for each in letters if words_query(f"q{each}q") is not None]
    parts = [letters[start : start + 100] for start in range(0, len(letters), 100)]
    assert len(letters) > 1400

    def index(tx) -> None:
        for id, part in enumerate(parts, 1000):
            fulltext.index(tx, WORDS, id, {"notes": " ".join(f"q{letter}q" for letter in part)})

    store.write(index)
    for id, part in enumerate(parts, 1000):
        assert id in found(" ".join(f"q{letter.casefold()}q" for letter in part))
        assert id in found(" ".join(f"q{letter}q" for letter in part))


def test_a_phrase_finds_words_in_their_order(found) -> None:
    assert found("pump is silent", is_phrase=True) == [2]
    assert found("silent is pump", is_phrase=True) == []


def test_a_column_finds_its_own_words_only(found) -> None:
    assert found("pump", column="name") == [1]


def test_a_changed_text_is_found_by_its_new_words_only(store: Store, found) -> None:
    store.write(lambda tx: fulltext.index(tx, WORDS, 1, {"name": "Tank"}))
    assert found("tank") == [1] and found("garden") == [] and found("pump") == [2]


def test_a_removed_text_is_not_found(store: Store, found) -> None:
    store.write(lambda tx: fulltext.remove(tx, WORDS, 1))
    assert found("pump") == [2]


def test_words_of_a_failed_write_are_not_found(store: Store, found) -> None:
    def failing(tx) -> None:
        fulltext.index(tx, WORDS, 9, {"name": "unheard"})
        raise ValueError

    with pytest.raises(ValueError):
        store.write(failing)
    assert found("unheard") == []


def test_only_the_beginning_of_a_long_text_is_indexed(store: Store, found) -> None:
    store.write(lambda tx: fulltext.index(tx, WORDS, 5, {"notes": "first " + "x" * MAX_INDEXED_CHARS + " last"}))
    assert found("first") == [5] and found("last") == []


def test_a_sound_index_has_no_problems(store: Store, found) -> None:
    assert store.read(lambda tx: fulltext.problems(tx, WORDS)) == []


def test_the_file_is_sound_to_a_reader_that_searched_before_others_wrote(store: Store, found) -> None:
    for number in range(40):
        assert found("pump") == [1, 2]
        store.write(lambda tx, id=number + 5: fulltext.index(tx, WORDS, id, {"name": f"tank {id} " + "valve " * 400}))
        assert store.check() == []
