"""Rules of style sheets become style attributes: in templates and signatures, and in received mail."""

import pytest

from server.markup import clean_html
from server.markup.losses import MAX_LOSSES, losses
from server.markup.stylesheets import MAX_COMPARISONS

LEFT = '<style>{}</style><p class="a">x</p>'


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (LEFT.format(".a { color: red }"), '<p style="color: red">x</p>'),
        (LEFT.format("p { color: red } .a { color: blue }"), '<p style="color: blue">x</p>'),
        (LEFT.format("p { color: red !important } .a { color: blue }"), '<p style="color: red">x</p>'),
        (LEFT.format("<!-- p { margin: 0cm } -->"), '<p style="margin: 0cm">x</p>'),
        (LEFT.format("/* p { color: red } */ p { color: blue }"), '<p style="color: blue">x</p>'),
        (LEFT.format(":root { --tone: red } p { color: var(--tone) }"), '<p style="color: red">x</p>'),
        (LEFT.format("@media print { p { color: red } }"), "<p>x</p>"),
        (LEFT.format("p { position: fixed; color: red }"), '<p style="color: red">x</p>'),
        (LEFT.format("p { background: url(https://x.example/t.gif) }"), "<p>x</p>"),
        (LEFT.format("@import url(https://x.example/a.css); p { color: red }"), '<p style="color: red">x</p>'),
        (LEFT.format("p {{{ color: red"), "<p>x</p>"),
        ('<style media="print">p { color: red }</style><p>x</p>', "<p>x</p>"),
        ("<!--[if mso]><style>p { color: red }</style><![endif]--><p>x</p>", "<p>x</p>"),
        ('<link rel="stylesheet" href="file:///etc/passwd"><p>x</p>', "<p>x</p>"),
        ("<style>p { color: red }</style><p style='color: blue'>x</p>", '<p style="color: blue">x</p>'),
        ("<style>body { color: red }</style><body><p>x</p></body>", '<div style="color: red"><p>x</p></div>'),
        ('<body bgcolor="#eeeeee" onload="x()"><p>x</p>', '<div style="background-color: #eeeeee"><p>x</p></div>'),
        ("<body class='b'><p>x</p></body>", "<p>x</p>"),
        ("<style>p { color: red }</style><p title='a > b'>&lt;body&gt;</p>",
         '<p title="a &gt; b" style="color: red">&lt;body&gt;</p>'),
        ("<style>p { color: red }", ""),
    ],
)  # fmt: skip
def test_rules_become_attributes(html: str, expected: str) -> None:
    assert clean_html(html) == expected


def test_a_look_gives_way_to_rules_and_attributes() -> None:
    html = '<style>.a { color: red }</style><p class="a">x</p><p style="color: green">y</p><p>z</p>'
    assert clean_html(html, look="p { color: blue }") == (
        '<p style="color: red">x</p><p style="color: green">y</p><p style="color: blue">z</p>'
    )


@pytest.mark.parametrize(
    "html",
    [
        "<style>" + "*{color:red}" * 20_000 + "</style>" + "<b>x</b>" * 20_000,
        "<style>b{color:red}</style>" + "<b>" * 150_000 + "x",
        "<style>" + ":not(" * 50_000 + "b" + ")" * 50_000 + "{color:red}</style><b>x</b>",
        "<style>" + "@media x{" * 50_000 + "</style><b>x</b>",
        "<style>:root{--a0:xxxxxxxx;" + "".join(f"--a{n}:var(--a{n - 1}) var(--a{n - 1});" for n in range(1, 60))
        + "}b{color:var(--a59)}</style><b>x</b>",
        "<body " + "a=1 " * 100_000 + "><b>x</b>",
        "<style" * 100_000 + "<b>x</b>",
        "<!--" * 100_000 + "<b>x</b>",
    ],
    ids=range(8),
)  # fmt: skip
def test_hostile_sheets_end_neither_the_process_nor_its_patience(html: str) -> None:
    assert "red" not in clean_html(html) or html.count("{") * html.count("<b>") <= MAX_COMPARISONS
    assert len(losses(html)) <= MAX_LOSSES


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>x</p>", []),
        ("<html><head><title>t</title><meta charset=utf-8></head><body><p class=a id=b>x</p></body></html>", []),
        ("<style>.a { color: red; display: none; mso-x: 1 }</style>", ["display: none", "mso-x: 1"]),
        ("<style>@font-face { src: url(x) } @media (min-width: 1px) { p { float: left } } p { color: red }</style>",
         ["@font-face", "@media (min-width: 1px)"]),
        ("<style>a:hover, .b { color: red }</style>", ["a:hover, .b"]),
        ("<p style='float: left; color: red'>x</p>", ["float: left"]),
        ("<video></video><p onclick=x()>x</p>", ["<video>", "onclick on <p>"]),
        ("<!--[if mso]><p>x</p><![endif]-->", ["<!--[if mso]>"]),
        ("<style>:root { --a: red } p { color: var(--a) }</style>", ["color: var(--a)"]),
    ],
)  # fmt: skip
def test_what_a_template_loses(html: str, expected: list[str]) -> None:
    assert losses(html) == expected
