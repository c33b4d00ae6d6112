"""Messages with ambiguous words: a context tells them apart, in templates, scripts and Python."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import console.html.templates  # noqa: F401  adds the names that every template knows
from console.html.environment import environment
from console.html.templates import GLOBALS
from server import translation
from server.translation import N_, Catalog, N_pgettext, lazy_gettext, pgettext, shown, speaking

ROOT = Path(__file__).resolve().parent.parent
GERMAN = Catalog(
    "de", {
        "Open": "Öffnen", "status\x04Open": "Offen", "Message": "Nachricht", "{name} waits": "{name} wartet",
        "log\x04<b>All</b> of {name}": "<b>Alles</b> von {name}",
    }, script_messages=(("Open", "Öffnen</script>"),),
)  # fmt: skip


def rendered(template: str, **values: object) -> str:
    """The output of a template for a German reader."""
    with speaking(GERMAN):
        return environment().from_string(template, globals=GLOBALS).render(values)


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
        assert shown(N_("Open")) == "Öffnen"
    assert rendered("{{ message }}", message=N_pgettext(context, message)) == words
    assert rendered("{{ _(message) }}", message=N_pgettext(context, message)) == words
    assert pgettext(context, message) == message


@pytest.mark.parametrize(
    ("template", "html"),
    [
        ('{{ _("Open") }} {{ pgettext("status", "Open") }}', "Öffnen Offen"),
        ('{% trans "status" %}Open{% endtrans %}', "Offen"),
        ('{% trans "log" name=name %}<b>All</b> of {{ name }}{% endtrans %}', "<b>Alles</b> von &lt;i&gt;"),
        ("{% trans name %}{{ name }} waits{% endtrans %}", "&lt;i&gt; wartet"),
        ('{{ _("{name} waits", name=name) }}', "&lt;i&gt; wartet"),
        ("{{ mark }} {{ lazy }}", "Öffnen &lt;i&gt; wartet"),
        ('{{ _("{name} waits", name=mark) }}', "Öffnen wartet"),
        ("<p>\n   {% trans %}\n  100 % of\n   it\n{% endtrans %}\n</p>", "<p>\n100 % of it</p>"),
        ("{{ script_messages() }}", '{"Open": "Öffnen\\u003c/script>"}'),
    ],
)
def test_templates_are_translated_and_values_escaped(template: str, html: str) -> None:
    mark, lazy = N_("Open"), lazy_gettext("{name} waits", name="<i>")
    assert rendered(template, name="<i>", mark=mark, lazy=lazy) == html


def test_messages_of_templates_and_scripts_are_collected_with_their_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = '{% trans "log" name %}\n <b>All</b>\n of {{ name }}{% endtrans %}{{ ngettext("one", "more", n) }}'
    (tmp_path / "page.html").write_text(f'{template}{{{{ _("Open", x=y) }}}}{{{{ _(label) }}}}', "utf-8")
    script = tmp_path / "page.js"
    script.write_text('t("Open"); p("status", "Open", {}); p( "log" , "Message")', "utf-8")
    messages = _messages()
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    monkeypatch.setattr(messages, "TEMPLATES", tmp_path)
    assert [each[1:] for each in messages._of_templates()] == [
        ("<b>All</b> of {name}", "log"), (("one", "more"), None), ("Open", None),
    ]  # fmt: skip
    assert [each[1:] for each in messages._extracted("javascript", script, messages.SCRIPTS)] == [
        ("Open", None), ("Open", "status"), ("Message", "log"),
    ]  # fmt: skip


def _messages() -> Any:
    spec = importlib.util.spec_from_file_location("messages", ROOT / "build" / "messages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_of_a_language_keeps_contexts_apart() -> None:
    text = 'msgid "Open"\nmsgstr "Öffnen"\n\nmsgctxt "status"\nmsgid "Open"\nmsgstr "Offen"\n'
    catalog = translation.read(text, "de")
    assert (catalog.text("Open"), catalog.text("Open", "status")) == ("Öffnen", "Offen")


def test_a_translation_has_no_tag_that_its_message_lacks() -> None:
    text = 'msgid "<b>{name}</b> waits"\nmsgstr "%s wartet"\n'
    assert translation.read(text % "<b>{name}</b>", "de").messages
    for wrong in ("<script>{name}</script>", "<b onclick=x>{name}</b>", "<b>{other}</b>"):
        assert not translation.read(text % wrong, "de").messages, wrong
