"""A browser without scripts, for tests of hostile input: cookies, forms with their tokens, no redirects."""

import html
import re
from typing import Any
from urllib.parse import urlsplit

import requests

from tests.service import PASSWORD

SECONDS = 60
MOST_LOADS = 20_000  # loads of a page while the test waits for the service


# Elements next to whose tags browsers show no white space.
_BLOCKS = (
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure "
    "footer form h[1-6] head header hr html iframe legend li link main meta nav ol optgroup option p "
    "section style summary table tbody td tfoot th thead title tr ul"
).replace(" ", "|")
# Parts that stay unchanged: elements that preserve white space, and values of attributes.
_VERBATIM = re.compile(r'<(pre|textarea|script|style)\b.*?</\1>|(?<==)"[^"]*"', re.DOTALL)
_HELD = "\ue000"
_BLANKS = re.compile(r"[ \t\r\n]+")
_END_OF_TAG = re.compile(r"(<[^<>]*) >")
_AT_BLOCKS = re.compile(rf" ?(</?(?:{_BLOCKS})(?: [^<>]*)?>) ?")
_IN_BUTTONS = re.compile(r"(<(?:button|select)(?: [^<>]*)?>) | (</(?:button|select)>)")


def compact(page: str) -> str:
    """Returns a page without the white space that no browser shows, so that tests do not depend on line breaks in
    templates.

    >>> compact("<dl>\\n <dt  id='a'\\n>x\\n y</dt> <dd>1</dd></dl><b>a</b> <i>b</i><pre> \\n</pre>")
    "<dl><dt id='a'>x y</dt><dd>1</dd></dl><b>a</b> <i>b</i><pre> \\n</pre>"
    """
    held: list[str] = []
    page = _VERBATIM.sub(lambda found: held.append(_first_line(found[0])) or _HELD, page)  # type: ignore[func-returns-value]
    page = _AT_BLOCKS.sub(r"\1", _END_OF_TAG.sub(r"\1>", _BLANKS.sub(" ", page)))
    page = _IN_BUTTONS.sub(lambda found: found[1] or found[2], page)
    left = iter(held)
    return re.sub(_HELD, lambda _: next(left), page)


def _first_line(text: str) -> str:
    """Returns an element with its own tag on one line; its content is unchanged."""
    tag, end, content = text.partition(">")
    return _BLANKS.sub(" ", tag) + end + content if text.startswith("<") else text


class _Session(requests.Session):
    """A session whose pages are compacted by compact()."""

    def request(self, *args: Any, **options: Any) -> requests.Response:  # type: ignore[override]
        response = super().request(*args, **options)
        if response.headers.get("Content-Type", "").startswith("text/html") and not options.get("stream"):
            response._content = compact(response.text).encode(response.encoding or "utf-8")
        return response


class Visitor:
    """A person with a browser."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session: requests.Session = _Session()
        self.session.trust_env = False

    def get(self, path: str, **options: Any) -> requests.Response:
        return self.session.get(self.url + path, timeout=SECONDS, allow_redirects=False, **options)

    def post(self, path: str, form: Any = None, **options: Any) -> requests.Response:
        """Posts a form unchanged, without a token."""
        return self.session.post(self.url + path, data=form, timeout=SECONDS, allow_redirects=False, **options)

    def token(self, page: str) -> str:
        """Returns the token in the forms of a page."""
        found = re.search(r'name="_xsrf" value="([0-9a-f]+)"', self.get(page).text)
        assert found is not None, page
        return found[1]

    def send(self, path: str, form: dict[str, Any] | None = None, page: str = "") -> requests.Response:
        """Submits the form of a page, by default of the page with the same path."""
        return self.post(path, {**(form or {}), "_xsrf": self.token(page or path)})

    def sign_in(self, email: str = "nora@desk.example", password: str = PASSWORD, **more: str) -> requests.Response:
        return self.send("/login", {"email": email, "password": password, **more})

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies of a browser in the same session, which does not show the message of an earlier form."""
        return {each.name: str(each.value) for each in self.session.cookies if each.name != "toast"}

    @property
    def is_in(self) -> bool:
        """Returns whether the account page opens."""
        return self.get("/account").status_code == 200


def text_of(page: str) -> str:
    """Returns the text of a page, without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def loaded(visitor: Visitor, path: str, words: str) -> str:
    """Returns the text of a page once it contains these words. Each load is a request, so that the service, which
    may be down for a while, can proceed."""
    for _ in range(MOST_LOADS):
        try:
            response = visitor.get(path)
        except OSError:  # a connection that the service closed before it read the request
            continue
        assert response.status_code in (200, 503), (response.status_code, response.headers)
        if response.status_code == 503:
            assert response.headers["Retry-After"]
        elif words in (text := text_of(response.text)):
            return text
    raise AssertionError(f"'{words}' is not on {path}: {text_of(response.text)}")


def place(answer: requests.Response) -> str:
    """Returns the target of a redirect: path and query; the whole address if it is another host."""
    parts = urlsplit(answer.headers["Location"])
    return parts.geturl() if parts.netloc or parts.scheme else answer.headers["Location"]


def value(page: str, name: str) -> str:
    """Returns the value of a field."""
    field = re.search(rf'<input[^>]*\bname="{name}"[^>]*>', page)
    assert field is not None, name
    found = re.search(r'\bvalue="([^"]*)"', field[0])
    return html.unescape(found[1]) if found else ""
