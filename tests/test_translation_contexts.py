"""Messages whose words have several meanings: each is known by its context, in templates, scripts and Python."""

from pathlib import Path

import pytest

from console.html import script_words, template_words
from server import translation
from server.translation import N_, Catalog, N_pgettext, pgettext, shown, speaking

GERMAN = Catalog("de", {"Open": "Öffnen", "status\x04Open": "Offen", "Message": "Nachricht"})


@pytest.mark.parametrize(
    ("context", "message", "words"),
    [
        ("status", "Open", "Offen"),
        ("other", "Open", "Öffnen"),
        ("log", "Message", "Nachricht"),
        ("log", "Gone", "Gone"),
    ],
)
def test_a_message_is_looked_up_in_its_context_first(context: str, message: str, words: str) -> None:
    with speaking(GERMAN):
        assert pgettext(context, message) == words
        assert shown(N_pgettext(context, message)) == words
        assert template_words.Spoken().text(N_pgettext(context, message)) == words
        assert shown(N_("Open")) == "Öffnen"
    assert pgettext(context, message) == message


def test_templates_name_the_context_in_a_comment() -> None:
    source = "<td>{# context: status #}Open</td><td>Open</td><p>{# context: log #}<b>All</b> of it</p>"
    assert template_words.messages(source) == ["status\x04Open", "Open", "log\x04<1>All</1> of it"]
    assert "'Open', { }, [], 'status'" in template_words.translated(source)


def test_scripts_name_the_context_first() -> None:
    assert script_words.messages('t("Open"); p("status", "Open", {}); p( "log" , "Message")') == [
        "Open", "status\x04Open", "log\x04Message",
    ]  # fmt: skip


def test_a_file_of_a_language_keeps_contexts_apart(tmp_path: Path) -> None:
    text = 'msgid "Open"\nmsgstr "Öffnen"\n\nmsgctxt "status"\nmsgid "Open"\nmsgstr "Offen"\n'
    catalog = translation.read(text, "de")
    assert (catalog.text("Open"), catalog.text("Open", "status")) == ("Öffnen", "Offen")
