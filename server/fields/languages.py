"""The known locales: a language, optionally with a script and a region, such as `en_US` or `zh_Hant_TW`.

Any region is valid with any language: people live everywhere."""

import re
from functools import cache
from importlib import resources

# ISO 639-1, then three-letter languages in common use on computers.
_LANGUAGES = frozenset(
    """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et
eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk
kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny
oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
agq ast asa bas bem ber bez bho brx byn ccp ceb cgg chr ckb cmn crh csb doi dsb dje dua dyo ebu ewo fil fur gez gsw guz
hak haw hif hne hsb jgo jmc kab kam kde kea kgp khq kkj kln kok ksb ksf ksh lag lij lkt lrc lzh luo luy mag mai mas mer
mfe mgh mgo mhr mni mua mzn nan naq nds niu nmg nnh nso nus nyn pap pcm prg quz raj rof rwk sah saq sat sbp seh ses shi
shn sid smn szl tcy teo tig tpi twq tzm vai vun wae wal xog yav yrl yue zgh
""".split()
)
_SCRIPTS = frozenset(
    "Adlm Arab Beng Cher Cyrl Deva Grek Guru Hans Hant Hebr Jpan Kore Latn Mong Olck Tfng Vaii".split()
)
_AREAS = frozenset(("001", "150", "419"))  # the world, Europe, Latin America
_PARTS = re.compile(r"([a-z]{2,3})(?:[_-]([A-Z][a-z]{3}))?(?:[_-]([A-Z]{2}|[0-9]{3}))?")


def is_known(locale: str) -> bool:
    """Returns whether a locale is known.

    >>> is_known("de"), is_known("en_US"), is_known("es-419"), is_known("xx_US"), is_known("en_QQ")
    (True, True, True, False, False)
    """
    parts = _PARTS.fullmatch(locale)
    if parts is None:
        return False
    language, script, region = parts.groups()
    return language in _LANGUAGES and (script is None or script in _SCRIPTS) and (region is None or _is_region(region))


def _is_region(code: str) -> bool:
    return code in _AREAS or code in _countries()


@cache
def _countries() -> frozenset[str]:
    """Returns the country codes of ISO 3166 from the time zone data, and XK, the code in common use for Kosovo."""
    table = resources.files("tzdata") / "zoneinfo" / "iso3166.tab"
    lines = table.read_text("utf-8").splitlines()
    return frozenset(line[:2] for line in lines if not line.startswith("#")) | {"XK"}
