"""Unicode's full case folding as a function of PostgreSQL, which has none before version 18.

For most letters it equals lower case by ICU. The about 300 others are replaced afterwards; texts without them, nearly
all, are only scanned."""

from collections.abc import Iterable

from server.store.collation import DOUBLE, SINGLE

_LETTERS = [chr(code) for code in range(0xFFFE) if not 0xD800 <= code < 0xE000]  # beyond, folding equals lower case
# Includes the capital sigma, since its lower case depends on its place in the word.
_SPECIAL = [each for each in _LETTERS if each.lower() != each.casefold() or each == "\u03a3"]
_FOLDED = {each: each.casefold() for each in _SPECIAL if each.lower() == each}


def _replaced_all(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    for each, replacement in pairs:
        text = f"replace({text}, '{each}', '{replacement}')"
    return text


def _sort_text() -> str:
    """Returns the expression of collation.sort_text() for a text that is already folded and tailored."""
    apart = "regexp_replace(normalize(value, NFKD), '[\u0300-\u036f]', '', 'g')"
    single = f"translate({apart}, '{''.join(SINGLE)}', '{''.join(SINGLE.values())}')"
    return _replaced_all(single, DOUBLE.items())


def _replaced() -> str:
    single = {each: folded for each, folded in _FOLDED.items() if len(folded) == 1}
    text = f"translate(lower(value COLLATE \"und-x-icu\"), '{''.join(single)}', '{''.join(single.values())}')"
    return _replaced_all(text, ((each, folded) for each, folded in _FOLDED.items() if len(folded) > 1))


FOLDING = (
    f"""CREATE OR REPLACE FUNCTION svc_fold_special(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT {_replaced()} $$""",
    f"""CREATE OR REPLACE FUNCTION svc_fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN value ~ '[{"".join(_SPECIAL)}]' THEN svc_fold_special(value)
    ELSE lower(value COLLATE "und-x-icu") END $$""",
    f"""CREATE OR REPLACE FUNCTION svc_sort_text(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT {_sort_text()} $$""",
)
