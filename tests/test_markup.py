"""HTML of strangers, Markdown and plain text: any input yields only permitted elements, in bounded time.

Input that would take minutes if any step were quadratic needs no clock: the run would not end."""

import random
import re
from html.parser import HTMLParser

import mistune
import pytest
from mistune.core import BlockState

from server.errors import TooLarge
from server.markup import (
    MAX_HTML_BYTES,
    clean_html,
    is_colored,
    link_plain_text,
    markdown_tables,
    markdown_to_html,
    markdown_to_text,
    text_of_html,
)
from server.markup.balance import MAX_DEPTH
from server.markup.clean import ATTRIBUTES, TAGS
from server.markup.markdown_tables import MAX_TABLE_CELLS
from server.markup.readable_text import MAX_TEXT_SOURCE
from tests.telling import telling

MB = 1024 * 1024
ROWS, ROWS_END = "<table><tbody>", "</tbody></table>"
LINK_ATTRIBUTES = 'target="_blank" rel="noopener noreferrer nofollow"'
VOID = {"br", "hr", "img", "wbr", "col"}


class Reader(HTMLParser):
    """Reads a result, and fails for every forbidden element. Independent of the tested code."""

    def __init__(self, allow_remote_images=False):
        super().__init__(convert_charrefs=True)
        self.allow_remote_images = allow_remote_images
        self.links, self.images, self.words, self.styles = [], [], [], []
        self.depth = self.deepest = 0

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS
        allowed = {"rel", "target"} | ATTRIBUTES["*"] | ATTRIBUTES.get(tag, set())
        for name, value in attributes:
            assert name in allowed and not name.startswith("on"), f"{name} in <{tag}>"
            assert name not in ("id", "name", "class", "srcset", "background", "action", "formaction")
            if name in ("href", "src"):
                self.check_url(tag, name, value)
            if name == "style":
                self.check_style(value)
        if tag == "a":
            assert dict(attributes)["rel"] == "noopener noreferrer nofollow"
        if tag not in VOID:
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)

    def check_style(self, value):
        assert value and not re.search(r"[^\w #%'(),./:;-]|:\s*-|[ ,(]-[\d.]", value), value
        for declaration in value.split("; "):
            name, _, shown = declaration.partition(": ")
            assert not re.match(r"position|float|clear|z-index|transform|top|left|opacity|visibility|filter|clip", name)
            assert not re.search(r"url|expression|image|var\(|calc\(|attr\(|none none", shown), value
            assert re.fullmatch(r"(?:(?:rgb|hsl)a?\([^()]*\)|[^()])*", shown), value
        self.styles.append(value)

    def check_url(self, tag, name, value):
        url = re.sub(r"[\x00-\x20]", "", value).lower()
        if tag == "a":
            assert re.match(r"https?://|mailto:|cid:", url), value
            self.links.append(value)
        else:
            remote = ("http://", "https://") if self.allow_remote_images else ()
            assert url.startswith(("cid:", "data:image/png;", "data:image/gif;", "data:image/jpeg;", *remote)), value
            self.images.append(value)

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_data(self, data):
        self.words.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def read(result, **options):
    reader = Reader(**options)
    reader.feed(result)
    reader.close()
    return reader


def in_one_order(result):
    """Normalizes the order of two attributes: the sanitizer sets them in either order once it has dropped another
    one."""
    return result.replace('rel="noopener noreferrer nofollow" target="_blank"', LINK_ATTRIBUTES)


PAYLOADS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//x.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script\x00>alert(1)</script>",
    "<script/x>alert(1)</script >",
    "<<script>alert(1)//<</script>",
    "<img src=x onerror=alert(1)>",
    '<img src="x"onerror="alert(1)">',
    "<img/src=x/onerror=alert(1)>",
    "<img src=`x`onerror=alert(1)>",
    '<img """><script>alert(1)</script>">',
    "<img src=javascript:alert(1)>",
    "<img src='data:image/svg+xml;base64,PHN2Zz48L3N2Zz4='>",
    "<img src='data:text/html,<script>alert(1)</script>'>",
    '<img srcset="https://x.example/a 1x" lowsrc=x dynsrc=x>',
    "<a href=javascript:alert(1)>x</a>",
    "<a href='JaVaScRiPt:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href='jav&#x0A;ascript:alert(1)'>x</a>",
    "<a href='jav&Tab;ascript&colon;alert(1)'>x</a>",
    "<a href=' &#14; javascript:alert(1)'>x</a>",
    "<a href='&#106&#97&#118&#97&#115&#99&#114&#105&#112&#116:alert(1)'>x</a>",
    "<a href='&#0000106avascript:alert(1)'>x</a>",
    "<a href='javascript:123'>x</a>",
    "<a href='javascript&#58;alert(1)'>x</a>",
    "<a href='vbscript:x'>x</a>",
    "<a href='data:text/html;base64,PHNjcmlwdD4='>x</a>",
    "<a href='data:image/png;base64,AAAA'>x</a>",
    "<a href='//x.example/'>x</a>",
    "<a href='/rest/tickets/1.json'>x</a>",
    "<a href='https:x.example'>x</a>",
    "<a href='file:///etc/passwd'>x</a>",
    "<a href='\x01javascript:alert(1)'>x</a>",
    "<a href='x:y' href='javascript:alert(1)'>x</a>",
    "<a onmouseover=alert(1) href='https://x.example/'>x</a>",
    "<a href='https://x.example/' id=x name=y class=z style='x' target=_top rel=opener ping='//x'>x</a>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
    "<math href='javascript:alert(1)'>x</math>",
    "<form action=javascript:alert(1)><input type=submit></form>",
    "<form><button formaction=javascript:alert(1)>x</button></form>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)><option>x</option></select>",
    "<textarea autofocus onfocus=alert(1)></textarea><img src=x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<applet code=x></applet>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<link rel=stylesheet href=//x.example/x.css>",
    "<base href='javascript:alert(1)//'>",
    "<style>@import 'https://x.example/x.css';</style>",
    "<style>body{background:url(javascript:alert(1))}</style>",
    "<p style='background:url(https://x.example/a)'>x</p>",
    "<p style='width:expression(alert(1))'>x</p>",
    "<p style='behavior:url(x)'>x</p>",
    "<p style='background:red url(//x.example/a)'>x</p>",
    "<p style='background-color:re\\64;color:r\\65 d'>x</p>",
    "<p style='color:red;background/**/:url(//x.example/a);color:/*'>x</p>",
    '<p style=\'font-family:"a;b\\"c",url(x)\'>x</p>',
    "<p style='-moz-binding:url(x);color:expression(alert(1))'>x</p>",
    "<p style='list-style:url(x);content:url(x);cursor:url(x),auto;border-image:url(x)'>x</p>",
    "<p style='color:var(--x);--x:url(y);width:calc(9px);color:attr(title)'>x</p>",
    "<p style='color:red}*{color:blue'>x</p><p style='color:red&quot;onclick=&quot;alert(1)'>x</p>",
    "<p style='font-family:</style><script>alert(1)</script>'>x</p>",
    "<p style='@import \"//x.example\";color:red'>x</p>",
    "<body onload=alert(1) background=javascript:alert(1)>x</body>",
    "<table background=javascript:alert(1)><tr><td background='https://x.example/'>x</table>",
    "<video src=x onerror=alert(1)><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<isindex type=image src=1 onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<noembed><p title='</noembed><img src=x onerror=alert(1)>'></noembed>",
    "<title><p title='</title><img src=x onerror=alert(1)>'></title>",
    "<xmp><p title='</xmp><img src=x onerror=alert(1)>'></xmp>",
    "<p title='</p><img src=x onerror=alert(1)>'>x</p>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><?php echo 1 ?>x",
    "<!DOCTYPE html [<!ENTITY x '<script>'>]>&x;",
    "<template><script>alert(1)</script></template>",
    "<plaintext><img src=x onerror=alert(1)>",
    "<x onclick=alert(1)>x</x>",
    "<b onclick=alert(1)>x",
    "<p =onclick=alert(1) onclick\x0c=alert(1)>x",
    '<a href="https://x.example/" title="\'><script>alert(1)</script>">x</a>',
    '<img alt="<script>alert(1)</script>" src=cid:x>',
    "\ud800<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#" + "9" * 5000 + ";<b>x",
]


AROUND = ("{}", "<p>a {} b</p>", "<table><tr><td>{}", "<a href='https://x.example/'>{}</a>", "<pre>{}</pre>")


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("around", telling(AROUND, ("{}", "<table><tr><td>{}"), "every element around it"))
def test_nothing_that_acts_gets_through(payload, around):
    source = around.replace("{}", payload)
    once = clean_html(source)
    read(once)
    read(clean_html(source, allow_remote_images=True), allow_remote_images=True)
    assert in_one_order(clean_html(once)) == in_one_order(once)


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("<p style='COLOR:#FF0000;background:yellow'>", "color: #ff0000; background-color: yellow"),
        ("<p style='color: rgb(31, 73,125)!important'>", "color: rgb(31, 73,125)"),
        ("<p style='color:rgba(0 0 0 / 50%);background:none'>", "color: rgba(0 0 0 / 50%); background-color: none"),
        ("<span style='font-size:11.0pt;font-family:\"Calibri\",sans-serif;mso-fareast-language:EN-US'>",
         "font-size: 11.0pt; font-family: 'calibri',sans-serif"),
        ("<span style='font-family: 宋体'>", "font-family: 宋体"),
        ("<p style='font:italic bold 13.0px/150% \"Helvetica Neue\", Arial !important'>",
         ("font-style: italic; font-weight: bold; font-size: 13.0px; line-height: 1.5; "
          "font-family: 'helvetica neue', arial")),
        ("<p style='font: 12px Helvetica; margin: 0px'>", "font-size: 12px; font-family: helvetica; margin: 0px"),
        ("<p style='font:url(x) 12px a;font:;font:900em a;font:caption url(x)'>", "font-family: a"),
        ("<b style='font-weight:700;font-style:italic;text-decoration:none'>",
         "font-weight: 700; font-style: italic; text-decoration: none"),
        ("<p style='margin:0cm;margin-bottom:.0001pt;text-align:center;line-height:115%'>",
         "margin: 0cm; margin-bottom: .0001pt; text-align: center; line-height: normal"),
        ("<p style='line-height:1.5'>", "line-height: 1.5"),
        ("<p style='line-height:160%'>", "line-height: 1.6"),
        ("<div style='max-width:600px;width:100%;margin:0 auto;padding:4px 8px'>",
         "max-width: 600px; width: 100%; margin: 0 auto; padding: 4px 8px"),
        ("<table style='border-collapse:collapse;border:1px solid rgb(0, 0, 0)'>",
         "border-collapse: collapse; border: 1px solid rgb(0, 0, 0)"),
        ("<table style='height:40px;vertical-align:middle'>", "height: 40px; vertical-align: middle"),
        ("<img style='width:32px;height:32px;border-radius:50%'>", "width: 32px; height: 32px; border-radius: 50%"),
        ("<a style='display:inline-block;padding:9px 18px;border:1px solid blue;color:navy'>",
         "display: inline-block; padding: 9px 18px; border: 1px solid blue; color: navy"),
        # Would cover the surrounding page or other lines: removed.
        ("<p style='position:fixed;top:0;left:0;z-index:9;float:left;transform:none;color:red'>", "color: red"),
        ("<p style='margin:-9px;margin-top:-9px;text-indent:-9px;letter-spacing:-1em;color:red'>", "color: red"),
        ("<div style='height:1px;max-height:1px;overflow:hidden;color:red'>", "color: red"),
        ("<a style='padding:99px;border-top:20px solid;margin:9px;color:red'>", "color: red"),
        ("<a style='display:inline-block;display:inline;padding:9px'>", "display: inline-block; padding: 9px"),
        *((f"<p style='line-height:{low}'>", "line-height: normal") for low in ("1px", ".2", "20%", "0", "1", "900%")),
        ("<p style='margin-left:9999px;padding:201px;font-size:999px;border:99px solid;width:99999px;color:red'>",
         "color: red"),
        ("<p style='width:90vw;font-size:50vmax;margin:90%;color:red'>", "color: red"),
        # Would hide the element: removed.
        ("<p style='display:none;visibility:hidden;opacity:0;color:red'>", "color: red"),
        ("<p style='display:none'>", ""),
        ("<p style=''>", ""),
    ],
)  # fmt: skip
def test_of_style_what_is_harmless_stays(source, kept):
    result = clean_html(source + "x")
    assert read(result).styles == ([kept] if kept else [])


HIDING = [
    "<p style='font-size:0'>{}</p>", "<p style='font-size:1px'>{}</p>", "<p style='font:1px Arial'>{}</p>",
    "<div style='font-size:10px'><span style='font-size:30%'>{}</span></div>", "<p style='font-size:.1em'>{}</p>",
    "<p style='color:#fff'>{}</p>", "<p style='color:white'>{}</p>", "<font color='#fefefe'>{}</font>",
    "<p style='color:rgb(255, 255, 255)'>{}</p>", "<p style='color:rgb(100%,100%,99%)'>{}</p>",
    "<p style='color:hsl(0, 0%, 100%)'>{}</p>", "<p style='color:transparent'>{}</p>",
    "<p style='color:rgba(0,0,0,0)'>{}</p>", "<p style='color:#11223300'>{}</p>",
    "<table bgcolor='#336699'><tr><td><span style='color:#346798'>{}</span></td></tr></table>",
    "<div style='background:#111'>{}</div>", "<div style='background-color:#000'><b>{}</b></div>",
    "<div style='color:#fff;background:#333'><p style='background:snow'>{}</p></div>",
]  # fmt: skip
SHOWING = [
    "<p>{}</p>", "<p style='font-size:11px'>{}</p>", "<small><small>{}</small></small>",
    "<table bgcolor='black'><tr><td style='color:#fff'>{}</td></tr></table>",
    "<div style='background:#111'><span style='color:#eee'>{}</span></div>", "<p style='color:red'>{}</p>",
    "<p style='color:#fff;background:#0a0'>{}</p>", "<p style='color:rebeccapurple'>{}</p>",
    "<div style='color:#fff'></div>{}", "<p style='background:transparent;color:#222'>{}</p>",
]  # fmt: skip


@pytest.mark.parametrize("source", [*HIDING, *SHOWING])
def test_hidden_text_is_shown_and_other_text_keeps_its_look(source):
    cleaned = clean_html(source.replace("{}", "pay here"))
    is_shown_anew = '<span style="color: #000; background-color: #fff; font-size: 13px">pay here</span>' in cleaned
    assert is_shown_anew == (source in HIDING) and "pay here" in cleaned


@pytest.mark.exhaustive("every piece of a style")
def test_a_style_takes_time_in_proportion_to_its_length():
    for piece in ("a , ", "'a", "color:rgb(", "rgb(1 ", "border:1px ", "((", "!", ";", "9"):
        read(clean_html(f'<p style="font-family:{piece * (900_000 // len(piece))}; color: red">x</p>'))
        read(clean_html("".join(f'<p style="border:{piece * (4_000 // len(piece))}">x' for _ in range(200))))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown_and_plain_text_are_no_way_round(payload):
    read(markdown_to_html(payload))
    read(markdown_to_html(f"- [x]({payload})\n\n> ![x]({payload})\n\n`{payload}`"))
    assert "<" not in re.sub(r'<a href="[^"<>]*" target="_blank" rel="[a-z ]*">|</a>', "", link_plain_text(payload))


@pytest.mark.parametrize("url", ["javascript:x", "JAVASCRIPT:x", "data:text/html,x", "vbscript:x", "/rest", "//x.y"])
def test_links_of_markdown_have_no_other_scheme(url):
    for source in (f"[x]({url})", f"[x](<{url}>)", f"<{url}>", f"[x]\n\n[x]: {url}", f"![x]({url})"):
        assert read(markdown_to_html(source)).links == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ("<p>a <b>b <i>c</b> d</i></p>", "<p>a <b>b <i>c</i></b> d</p>"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        (
            "<table><tr><td><table><tr><td>b</table><tr><td>c</table>",
            f"{ROWS}<tr><td>{ROWS}<tr><td>b</td></tr>{ROWS_END}</td></tr><tr><td>c</td></tr>{ROWS_END}",
        ),
        ("a<br>b<hr>c", "a<br>b<hr>c"),
        ("<p>a <img src=cid:x> b</p>", '<p>a <img src="cid:x"> b</p>'),
        ("<font color=red><p>a</font>b", '<font color="red"><p>a</p></font>b'),
        ("<div><b>a</div>b", "<div><b>a</b></div>b"),
        ("<div>a</span></p></div>", "<div>a</div>"),
        ("1 < 2 & 3 > 2 &copy; &amp;lt;", "1 &lt; 2 &amp; 3 &gt; 2 © &amp;lt;"),
        ("<o:p>word</o:p><section>x</section>", "wordx"),
        ("<title>t</title><style>p{}</style>x", "x"),
        ("x <b", "x &lt;b"),
    ],
)
def test_ordinary_mail_keeps_its_shape(source, expected):
    assert clean_html(source) == expected


def test_links_open_in_a_new_tab_and_say_nothing_about_us():
    assert clean_html('<a href="https://x.example/?a=1&b=2" title="t">x</a>') == (
        '<a href="https://x.example/?a=1&amp;b=2" title="t" target="_blank" rel="noopener noreferrer nofollow">x</a>'
    )
    assert read(clean_html('<a href="mailto:a@b">x</a><a href="cid:q">y</a>')).links == ["mailto:a@b", "cid:q"]


@pytest.mark.parametrize(
    "src", ["https://x.example/a.gif", "HTTP://x.example/a", " https://x.example/a", "ht\ntp://x.example/a"]
)
def test_remote_images_are_blocked_until_asked_for(src):
    assert clean_html(f'<img alt="a" src="{src}">') == '<img alt="a">'
    assert "x.example" in clean_html(f'<img src="{src}">', allow_remote_images=True)


@pytest.mark.parametrize(
    "src", ["/files/1", "//x.example/a", "a.gif", "ftp://x.example/a", "data:image/svg+xml;base64,AA"]
)
def test_other_images_are_never_shown(src):
    assert clean_html(f'<img src="{src}">', allow_remote_images=True) == "<img>"


@pytest.mark.parametrize("src", ["cid:a@b", "data:image/png;base64,AAAA", "data:image/jpeg;base64,/9j+"])
def test_inline_images_are_shown(src):
    assert clean_html(f'<img src="{src}">') == f'<img src="{src}">'


def test_the_caller_may_say_where_an_image_is():
    asked = []

    def image_url(src):
        asked.append(src)
        return {"cid:a@b": "/files/1?a=1&b=2", "/files/3": "/files/3"}.get(src)

    html = '<img src="cid:a@b"><img src="cid:c"><img src="/files/2"><img src="/files/3"><img src="https://x.example/">'
    assert clean_html(html, image_url=image_url) == (
        '<img src="/files/1?a=1&amp;b=2"><img src="cid:c"><img><img src="/files/3"><img>'
    )
    assert asked == ["cid:a@b", "cid:c", "/files/2", "/files/3", "https://x.example/"]
    assert read(clean_html('<a href="/files/3">x</a>', image_url=image_url)).links == []


def test_html_above_its_limit_is_refused():
    assert clean_html("é" * (MAX_HTML_BYTES // 2)) == "é" * (MAX_HTML_BYTES // 2)
    with pytest.raises(TooLarge) as refused:
        clean_html("é" * (MAX_HTML_BYTES // 2) + "x")
    assert refused.value.details["limit"] == MAX_HTML_BYTES


BOMBS = {
    "divs": "<div>",
    "bold": "<b>",
    "paragraphs in spans": "<span><p></span>",
    "tables": "<table><tr><td>",
    "table rows": "<table><tr>",
    "lists": "<ul><li>",
    "open comments": "<!--",
    "half comments": "<!-",
    "open tags": "<a ",
    "open end tags": "</",
    "open quotes": "<a b='",
    "both quotes": "<a b='\"",
    "closed quotes": '<a x=">" ',
    "declarations": "<!",
    "instructions": "<?",
    "scripts": "<script>",
    "titles": "<title>x</title",
    "ampersands": "&",
    "references": "&#",
    "less than": "<",
    "end tags": "</div>",
    "misnested": "<b><div></b>",
    "links": "<a href=https://x.example>",
    "formats": "<a><b><i><p>",
    "svg": "<svg><g>",
    "selects": "<select><option>",
}


@pytest.mark.parametrize("piece", telling(BOMBS, ("tables", "open tags", "misnested"), "every kind of element"))
def test_a_quarter_of_a_megabyte_of_it_is_read_in_time(piece):
    source = piece * (MAX_HTML_BYTES // 4 // len(piece))
    text_of_html(source)
    assert read(clean_html(source)).deepest <= MAX_DEPTH * 3


def test_a_tag_with_a_hundred_thousand_attributes():
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    assert clean_html(f"<p title=t {attributes}>x") == '<p title="t">x</p>'


def test_many_different_unclosed_fonts():
    source = "".join(f"<div><font size={number}></div>" for number in range(20_000))
    assert read(clean_html(source)).deepest == 2


MARKDOWN_BOMBS = "[ ![ [a]( *a **a· >· -· ` <a _a ~~a· [![a](b) a\n |".split(" ")


@pytest.mark.parametrize("piece", telling(MARKDOWN_BOMBS, ("![", "`"), "every kind of mark"))
def test_hostile_markdown_is_read_in_time(piece):
    source = piece.replace("·", " ") * (100_000 // len(piece))
    markdown_to_text(source)
    read(markdown_to_html(source))


def test_markdown_above_its_limit_is_refused():
    with pytest.raises(TooLarge):
        markdown_to_html("a" * (MB // 2 + 1))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("**a** *b* ~~c~~", "<p><strong>a</strong> <em>b</em> <del>c</del></p>\n"),
        ("# a", "<h1>a</h1>\n"),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("```py\n<a>\n```", "<pre><code>&lt;a&gt;\n</code></pre>\n"),
        ("![a](https://x.example/a.png)", '<p><img alt="a"></p>\n'),
    ],
)
def test_markdown(source, expected):
    assert markdown_to_html(source) == expected


def test_markdown_knows_tables_and_bare_urls():
    result = markdown_to_html("|a|b|\n|-|-|\n|1|2|\n\nhttps://x.example/a?b=1&c=2")
    assert "<td>1</td>" in result
    assert read(result).links == ["https://x.example/a?b=1&c=2"]


def test_markdown_shows_images_as_its_caller_says():
    source = "![a](https://x.example/a.png) ![b](cid:b)"
    assert read(markdown_to_html(source, allow_remote_images=True), allow_remote_images=True).images == [
        "https://x.example/a.png",
        "cid:b",
    ]
    assert 'src="/files/1"' in markdown_to_html("![a](/files/9)", image_url={"/files/9": "/files/1"}.get)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain *text* [x](https://x.example)", "plain *text* [x](https://x.example)"),
        ("![a boat](https://x.example/b.png)", "a boat <https://x.example/b.png>"),
        ('![a](https://x.example/b.png "title")', "a <https://x.example/b.png>"),
        ("![](cid:b)!", "<cid:b>!"),
        ("![a]( <b> )", "a <b>"),
        ("![a] (b) ! [a](b)", "![a] (b) ! [a](b)"),
    ],
)
def test_the_text_part_of_markdown(source, expected):
    assert markdown_to_text(source) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("a\n  b\t c&nbsp;d", "a b c d"),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("a<br>b<br><br><br>c", "a\nb\n\nc"),
        ("<h1>a</h1>b<hr>c", "a\n\nb\n\n---\n\nc"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ul><li><p>a</p><ol><li>b</ol><li>c</ul>d", "- a\n  1. b\n- c\n\nd"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        (
            'see <a href="https://x.example/?b=1&amp;c=2">the <b>page</b></a>.',
            "see the page <https://x.example/?b=1&c=2>.",
        ),
        ('<a href="https://x.example/">https://x.example/</a>', "https://x.example/"),
        ('<a href="mailto:a@b.example">a@b.example</a>', "a@b.example"),
        ('<a href="https://x.example/"><img alt="logo"></a>', "logo <https://x.example/>"),
        ('<a href="https://x.example/"><img></a>', "<https://x.example/>"),
        ('<a href="javascript:x">a</a> <a href="#b">b</a>', "a b"),
        ('<a href="https://x.example/">open', "open <https://x.example/>"),
        ("<pre>a\n  b\r\nc</pre>d", "a\n  b\nc\n\nd"),
        ("<style>a{}</style><script>b<c</script><title>t</title>x<!-- c -->y", "xy"),
        ("<script>never closed", ""),
        ("1 < 2 &lt;b&gt; &#x41;&#65; <b", "1 < 2 <b> AA <b"),
        ("</ul></ol></a></pre>x", "x"),
        ("a\0b", "ab"),
        ("&#" + "9" * 5000 + ";x", "\ufffdx"),
    ],
)
def test_text_is_made_of_html(html, expected):
    assert text_of_html(html) == expected


def test_text_of_long_html_is_cut_behind_a_tag():
    text = text_of_html("<p>word</p>" * (MB // 11))
    assert set(text.split("\n\n")) == {"word"}
    assert 0 < len(text) < MAX_TEXT_SOURCE


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see https://x.example/a?b=1&c=2.", ["https://x.example/a?b=1&c=2"]),
        ("(https://x.example/a_(b)), <https://y.example>", ["https://x.example/a_(b)", "https://y.example"]),
        ("HTTP://X.example www.x.example, wwwx", ["HTTP://X.example", "http://www.x.example"]),
        ("mail ann@kite.example or a.b+c@x.example.", ["mailto:ann@kite.example", "mailto:a.b%2Bc@x.example"]),
        ("https://ida:pw@x.example/", ["https://ida:pw@x.example/"]),
        ("[https://x.example/a] https://x.example/a)b", ["https://x.example/a", "https://x.example/a"]),
        ("&lt; https://x.example/?a=&lt;&amp;b", ["https://x.example/?a=&lt;&amp;b"]),
        ('https://x.example/"onclick=alert(1)', ["https://x.example/"]),
        ("https://x.example/'onclick=1", ["https://x.example/'onclick=1"]),
        ("https://x.example/\u202egnp.exe", ["https://x.example/"]),
        ("javascript:alert(1) data:x ftp://x.example a@b x@@y https://", []),
        ("https://münchen.example/ü", ["https://münchen.example/ü"]),
    ],
)
def test_plain_text_is_linked(text, links):
    reader = read(link_plain_text(text))
    assert reader.links == links
    assert "".join(reader.words) == text


def test_long_words_are_only_escaped():
    word = "https://x.example/" + "a" * 2000
    assert link_plain_text(f"{word} <b>") == f"{word} &lt;b&gt;"


def test_long_plain_text_is_only_escaped():
    text = "<https://x.example> " * 6000
    assert link_plain_text(text) == text.replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize(
    "word_length", telling({"9": 9, "1999": 1999, "102400": 100 * 1024}, ("1999",), "words of each length")
)
@pytest.mark.parametrize(
    "piece", ["a.", "a@", "a@a.", "http://", "https://a)", "www.", "((", "a-", "www.x)))))))", "https://(a"]
)
def test_hostile_plain_text_is_linked_in_time(piece, word_length):
    word = (piece * word_length)[: word_length - 1] + " "
    read(link_plain_text(word * (100 * 1024 // len(word))))


@pytest.mark.parametrize(("head", "row"), [("|a|\n|-|\n", "||\n"), ("a|b\n-|-\n", "|\n")])
def test_tables_too_large_to_show_are_refused_before_they_are_rendered(head, row, monkeypatch):
    monkeypatch.setattr(mistune.InlineParser, "parse", lambda *_: pytest.fail("rendered"))
    with pytest.raises(TooLarge, match=f"at most {MAX_TABLE_CELLS} are rendered"):
        markdown_to_html(head + row * MAX_TABLE_CELLS)


def test_tables_of_as_many_cells_as_may_be_are_rendered(monkeypatch):
    monkeypatch.setattr(markdown_tables, "MAX_TABLE_CELLS", 4)
    assert markdown_to_html("|a|b|\n|-|-|\n|c|d|").count("</td>") == 2
    with pytest.raises(TooLarge):
        markdown_to_html("|a|b|\n|-|-|\n|c|d|\n\n|e|\n|-|")


def test_a_table_with_one_row_too_long_is_read_once(monkeypatch):
    """Each of its lines once caused another read of the table: 8,000 characters took seconds, 512 Ki hours."""
    rows = 20_000
    read = []
    get_line = BlockState.get_line
    monkeypatch.setattr(BlockState, "get_line", lambda self, pos: read.append(pos) or get_line(self, pos))
    markdown_to_html("-|-\n" * rows + "x|y|z\n")
    assert len(read) < 5 * rows


def test_tables_are_those_of_the_library():
    plain = mistune.create_markdown(plugins=["table", "strikethrough", "url"])
    lines = ["a|b", "-|-", "|a|b|", "|-|-|", "x|y|z", "-", "", "a\\|b|c", "- a|b", "|", "-|", r"a\\|b"]
    chance = random.Random(7)
    for _ in range(300):
        source = "\n".join(chance.choices(lines, (5, 5, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1), k=chance.randrange(2, 9)))
        for piece in ("<td", "<th", "<p>", "<table>"):
            assert markdown_to_html(source).count(piece) == plain(source).count(piece), source


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        ("color: #26282a", False),
        ("color: #1f2328", False),
        ("color: rgb(51, 51, 51)", False),
        ("color: #333; background-color: #f4f4f4", False),
        ("background-color: #eee", False),
        ("background-color: rgb(240, 240, 240)", False),
        ("color: windowtext", False),
        ("color: #1f497d", True),
        ("color: #305030", True),
        ("color: red", True),
        ("background-color: #ffeeee", True),
        ("background-color: #d0d0d0", True),
        ("background-color: #222", True),
    ],
)
def test_only_a_chosen_color_makes_an_email_a_colored_one(look: str, expected: bool) -> None:
    """Near black and near white are what mail programs write by themselves."""
    assert is_colored(clean_html(f'<p style="font-size: 12px; {look}">Hi</p>')) is expected
