"""Logos of brands: which pictures are accepted by their content, and how they are served."""

import base64
import struct
from collections.abc import Iterator

import pytest

from tests.api.fields_by_kind import png
from tests.console.browser import WIDE
from tests.service import Api, Server, people

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"'
SVG = f'<?xml version="1.0"?>\n{HEAD}><style>.a{{fill:url(#g)}}</style><g id="g"><path d="M0 0h8v8z"/></g></svg>'
DRAWN = (
    "(kind) => { const canvas = document.createElement('canvas'); canvas.width = canvas.height = 64; "
    "canvas.getContext('2d').fillRect(9, 9, 40, 40); return canvas.toDataURL(kind); }"
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    server = Server(tmp_path_factory.mktemp("logos") / "data")
    made = server.set_up()
    people(made)
    made.ids["brand"] = made.create("brand", name="Kite Pumps", is_public=1).ok()["id"]
    yield made
    assert server.stop() == 0


def uri(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def jpeg(width: int, height: int) -> bytes:
    return b"\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc0\x00\x0b\x08" + struct.pack(">HHB", height, width, 3) + b"\x00" * 9


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HHB", width, height, 0) + b"\x00" * 9


def webp(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00" + sides


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (png(64, 64), "image/png"),
        (jpeg(64, 500), "image/jpeg"),
        (gif(50, 64), "image/gif"),
        (webp(500, 64), "image/webp"),
        (SVG.encode(), "image/svg+xml"),
        (b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd">' + f"{HEAD}/>".encode(), "image/svg+xml"),
    ],
    ids=["png", "jpeg", "gif", "webp", "svg", "svg with a doctype"],
)
def test_a_logo_is_served_as_what_it_is(api, content, kind):
    api.update("brand", api.ids["brand"], image=uri(content, "image/x-anything")).ok()
    url = api.record("brand", api.ids["brand"]).ok()["_image_url"]
    address = f"/help-center/logo-{url.rpartition('=')[2]}"
    for path in (address, f"{address}.png"):
        served = api.get(path).response
        assert served.status_code == 200 and served.content == content and served.headers["Content-Type"] == kind
        assert served.headers["X-Content-Type-Options"] == "nosniff"
        assert served.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        assert "script-src" not in served.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (png(49, 64), "50 to 500 pixels"),
        (jpeg(64, 501), "50 to 500 pixels"),
        (gif(1, 1), "50 to 500 pixels"),
        (webp(4000, 64), "50 to 500 pixels"),
        (b"BM" + b"\x40\x00\x00\x00" * 20, "is not a PNG, JPEG, GIF, WebP or SVG picture"),
        (b"\xff\xd8\xff", "is not a PNG, JPEG, GIF, WebP or SVG picture"),
        (b"", "is not a PNG, JPEG, GIF, WebP or SVG picture"),
        (SVG.encode("utf-16"), "is not a PNG, JPEG, GIF, WebP or SVG picture"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 1_000_001, "at most 1000000 bytes"),
        (SVG.encode() + b" " * 200_000, "at most 200000 bytes"),
        (b"<html><svg/></html>", "is not a valid SVG picture"),
        (b"<svg/>", "is not a valid SVG picture"),
        (f"{HEAD}>".encode(), "is not a valid SVG picture"),
        (f"{HEAD}><script>x()</script></svg>".encode(), "contains <script>"),
        (f"{HEAD}><a href='#x'/></svg>".encode(), "contains <a>"),
        (f"{HEAD}><foreignObject/></svg>".encode(), "contains <foreignObject>"),
        (f"{HEAD}><set attributeName='href' to='javascript:x()'/></svg>".encode(), "contains <set>"),
        (f"{HEAD}><h:script xmlns:h='http://www.w3.org/1999/xhtml'/></svg>".encode(), "contains <script>"),
        (f"{HEAD} onload='x()'/>".encode(), "contains onload"),
        (f"{HEAD}><g OnClick='x()'/></svg>".encode(), "contains OnClick"),
        (f"{HEAD}><use href='https://evil.example/a.svg#x'/></svg>".encode(), "contains href"),
        (
            f"{HEAD}><use xmlns:l='http://www.w3.org/1999/xlink' l:href=' data:image/svg+xml,x'/></svg>".encode(),
            "contains href",
        ),
        (f"{HEAD}><style>@import 'x';</style></svg>".encode(), "contains @import"),
        (f"{HEAD}><g style='fill:u\\72l(//x)'/></svg>".encode(), "contains fill"),
        (f"{HEAD}><g fill='url(https://evil.example/x)'/></svg>".encode(), "contains url"),
        (f"<?xml-stylesheet href='x.css'?>{HEAD}/>".encode(), "contains <?xml-stylesheet?>"),
        (f"<!DOCTYPE svg [<!ENTITY a 'aaaa'>]>{HEAD}>&a;</svg>".encode(), "contains <!DOCTYPE"),
        ((HEAD + ">" + "<g>" * 70 + "</g>" * 70 + "</svg>").encode(), "at most 64 elements inside each other"),
        ((HEAD + ">" + "<g/>" * 5001 + "</svg>").encode(), "at most 5000 elements"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_any_other_file_is_refused_with_its_reason(api, content, problem):
    before = api.record("brand", api.ids["brand"]).ok()["_image_url"]
    refused = api.update("brand", api.ids["brand"], image=uri(content))
    assert refused.status == 422 and refused["errors"][0]["field"] == "image", refused.response.text
    assert problem in refused["message"]
    assert api.record("brand", api.ids["brand"]).ok()["_image_url"] == before


def test_other_records_have_png_pictures_only(api):
    refused = api.update("group", api.ids["support"], image=uri(SVG.encode()))
    assert refused.status == 422 and "is not a PNG picture" in refused["message"]
    assert "data:image/png" in api.update("group", api.ids["support"], image=uri(jpeg(64, 64), "image/jpeg"))["message"]


def test_a_browser_shows_each_format_and_runs_nothing(chromium, api):
    with chromium.page(api.url, WIDE) as page:
        page.goto("about:blank")
        logos = [page.evaluate(DRAWN, kind) for kind in ("image/png", "image/jpeg", "image/webp")]
        for logo in [*logos, uri(SVG.encode())]:
            api.update("brand", api.ids["brand"], image=logo).ok()
            page.goto(f"{api.url}/help-center/")
            picture = page.locator("header img")
            picture.evaluate("each => each.decode()")
            assert picture.evaluate("each => each.naturalWidth") > 0
        page.goto(api.url + str(page.locator("header img").get_attribute("src")))
        assert page.evaluate("document.contentType") == "image/svg+xml"
