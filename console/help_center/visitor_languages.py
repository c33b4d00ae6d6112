"""Languages of the help center: names, preferences of browsers, and dates."""

from datetime import UTC, datetime

from server import locales
from server.help_center.public_library import Library, language_in
from server.translation import preferred_tags

NAMES = {
    "ar": "العربية",
    "bg": "Български",
    "ca": "Català",
    "cs": "Čeština",
    "da": "Dansk",
    "de": "Deutsch",
    "el": "Ελληνικά",
    "en": "English",
    "es": "Español",
    "et": "Eesti",
    "fa": "فارسی",
    "fi": "Suomi",
    "fr": "Français",
    "he": "עברית",
    "hi": "हिन्दी",
    "hr": "Hrvatski",
    "hu": "Magyar",
    "id": "Indonesia",
    "is": "Íslenska",
    "it": "Italiano",
    "ja": "日本語",
    "ko": "한국어",
    "lt": "Lietuvių",
    "lv": "Latviešu",
    "ms": "Melayu",
    "nb": "Norsk",
    "nl": "Nederlands",
    "nn": "Nynorsk",
    "no": "Norsk",
    "pl": "Polski",
    "pt": "Português",
    "ro": "Română",
    "ru": "Русский",
    "sk": "Slovenčina",
    "sl": "Slovenščina",
    "sr": "Српски",
    "sv": "Svenska",
    "th": "ไทย",
    "tr": "Türkçe",
    "uk": "Українська",
    "vi": "Tiếng Việt",
    "zh": "中文",
}


def own_name(tag: str, others: tuple[str, ...] = ()) -> str:
    """The name of a language in itself, with its region where another one differs by that only.

    >>> own_name("de"), own_name("pt-BR", ("pt-BR", "pt-PT")), own_name("xx")
    ('Deutsch', 'Português (BR)', 'xx')
    """
    language, _, rest = tag.partition("-")
    name = NAMES.get(language, tag)
    is_alone = sum(each.partition("-")[0] == language for each in others) < 2
    return name if is_alone or not rest or name == tag else f"{name} ({rest})"


def preferred(header: str, library: Library) -> str:
    """The language with articles that an Accept-Language prefers, by default the first one."""
    for tag in preferred_tags(header):
        language = language_in(library.brand, tag if "-" in tag else tag.lower())
        if language and is_written(library, language):
            return language
    return library.first_language


def is_written(library: Library, language: str) -> bool:
    """Whether there is an article in a language."""
    return any(each.language == language for each in library.shelf(language).articles.values())


def long_day(language: str, seconds: int) -> str:
    """A day with its year, in UTC. seconds: Unix seconds."""
    at, locale = datetime.fromtimestamp(seconds, UTC), locales.of(language)
    if locale.order == "ymd":
        return f"{at:%Y-%m-%d}"
    return f"{locale.day(at)}{', ' if locale.order == 'mdy' else ' '}{at.year}"
