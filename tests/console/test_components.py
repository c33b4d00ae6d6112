"""The components that templates are built from: their list, and the escaping of their values."""

import re

import pytest
from markupsafe import Markup

from console.html import ui
from console.html.environment import TEMPLATES
from console.html.form import Form
from console.html.templates import MACROS

HOSTILE = "<i>&\"'"
FORM = Form({"name": HOSTILE}, {"many": [HOSTILE]}, {"name": HOSTILE, "many": HOSTILE})
OPTIONS = [(HOSTILE, HOSTILE)]
RENDERED = {
    "field": lambda: ui.field(FORM, "name", HOSTILE, hint=HOSTILE, placeholder=HOSTILE, data_x=True, title=None),
    "area": lambda: ui.area(FORM, "name", HOSTILE, hint=HOSTILE),
    "editor": lambda: ui.editor(FORM, "name", HOSTILE, mistakes=[(1, HOSTILE)], hint=HOSTILE),
    "choice": lambda: ui.choice(FORM, "name", HOSTILE, OPTIONS, HOSTILE),
    "chooser": lambda: ui.chooser(FORM, "name", HOSTILE, ui.ChooserOptions("worker", None, HOSTILE), blank=HOSTILE),
    "ticks": lambda: ui.ticks(FORM, "many", HOSTILE, [(HOSTILE, HOSTILE, HOSTILE)], HOSTILE),
    "tick": lambda: ui.tick(FORM, "name", HOSTILE, HOSTILE),
    "summary": lambda: ui.summary(FORM, {"name": HOSTILE}),
    "badge": lambda: ui.badge("ok", HOSTILE),
    "breakable": lambda: ui.breakable(HOSTILE),
    "copy": lambda: ui.copy(HOSTILE, HOSTILE),
    "secret": lambda: ui.secret(HOSTILE, HOSTILE, "id"),
    "snippet": lambda: ui.snippet(HOSTILE, HOSTILE),
    "empty": lambda: ui.empty(HOSTILE, "/x", HOSTILE, "/y", HOSTILE),
    "link": lambda: ui.link("/x?" + HOSTILE, HOSTILE, said=HOSTILE),
    "name": lambda: ui.name(HOSTILE),
    "muted": lambda: ui.muted(HOSTILE),
    "code": lambda: ui.code(HOSTILE),
}


def test_every_macro_is_in_the_table_of_components() -> None:
    found = {
        path.stem: " ".join(re.findall(r"{% macro ([a-z]\w*)\(", path.read_text("utf-8")))
        for path in (TEMPLATES / MACROS).glob("*.html")
    }
    assert found == ui.MACROS
    with pytest.raises(AttributeError):
        ui.no_such_component  # noqa: B018


@pytest.mark.parametrize("name", RENDERED)
def test_a_component_escapes_its_values(name: str) -> None:
    html = RENDERED[name]()
    assert isinstance(html, Markup)
    assert "<i>" not in html and "&amp;amp;" not in html and "&lt;i&gt;&amp;" in html
    for value in re.findall(r'="([^"]*)"', html):
        assert "<" not in value


def test_given_markup_stays_markup() -> None:
    assert ui.link("/x", html=ui.code("<i>")) == '<a href="/x"><code>&lt;i&gt;</code></a>'
    assert ui.row(ui.badge("ok", "<b>"), Markup("<hr>")).endswith("<hr></div>")


def test_attributes_of_a_control() -> None:
    form = Form({}, {}, {"name": "wrong"})
    given = {"data_first_field": True, "id": "own", "class_": "wide", "maxlength": 9, "title": None, "hidden": False}
    assert ui.control(form, "name", "hint", given, type="text") == (
        ' name="name" aria-describedby="own-error own-help" aria-invalid="true" type="text" id="own"'
        ' data-first-field class="wide" maxlength="9"'
    )
    assert ui.control(Form(), "name", "", {}) == ' name="name" id="name"'
