"""One request of a visitor: the brand, the language and the path that it names. Only pages of customers read a cookie,
in customer_cookies.py."""

from dataclasses import field
from functools import cached_property
from urllib.parse import quote, urlencode

from server.context import Context, Service
from server.dataclass import dataclass
from server.help_center import article_links
from server.help_center.public_library import Library, PublicArticle, PublicCategory, Shelf
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.web.params import Params, Upload, decode_form, decode_multipart, decode_query
from server.web.site import Request, content_type


@dataclass
class Visitor:
    """A request. prefix: the beginning of all paths, "" at the host of a help center. path: below prefix and language,
    with a slash at its beginning. preview: the code of a preview of a brand that is not public."""

    ctx: Context
    request: Request
    library: Library
    prefix: str
    language: str
    path: str
    preview: str = ""
    arguments: dict[str, str] = field(default_factory=dict)

    @property
    def service(self) -> Service:
        return self.ctx.service

    @property
    def brand(self) -> BrandProfile:
        return self.library.brand

    @property
    def shelf(self) -> Shelf:
        return self.library.shelf(self.language)

    @cached_property
    def query(self) -> Params:
        return Params(decode_query(self.request.query) if self.request.query else {})

    @cached_property
    def form(self) -> Params:
        """The submitted form, with its files if it is multipart. Raises Malformed, TooLarge."""
        if content_type(self.request) == "multipart/form-data":
            return Params(decode_multipart(self.request.body, self.request.headers.get("Content-Type", "")))
        return Params(decode_form(self.request.body))

    def uploads(self, name: str) -> list[Upload]:
        """The files of a form field whose name ends in []."""
        sent = self.form.tree.get(name)
        return [each for each in (sent if isinstance(sent, list) else [sent]) if isinstance(each, Upload)]

    @property
    def is_post(self) -> bool:
        return self.request.method == "POST"

    @property
    def person(self) -> tuple[str, str]:
        """Network address and browser, which distinguish visitors for a while."""
        return self.request.client, self.request.headers.get("User-Agent", "")[:300]

    # -- addresses -----------------------------------------------------------------------------------------------------

    @cached_property
    def origin(self) -> str:
        """The public address of the help center, independent of the host in the request."""
        return brands.address(self.service, self.brand)

    def place(self, path: str, language: str = "", **query: str) -> str:
        """The path of a page in a language, by default the language of the request."""
        return self.prefix + self._below(path, language or self.language, query)

    def url(self, path: str, language: str = "", **query: str) -> str:
        """The same as a whole address."""
        return self.origin + self._below(path, language or self.language, query)

    def _below(self, path: str, language: str, query: dict[str, str]) -> str:
        return f"{brands.language_prefix(self.brand, language)}{path}{f'?{urlencode(query)}' if query else ''}"


def article_path(article: PublicArticle) -> str:
    """The path of an article below prefix and language."""
    return article_links.article_path(article.id, article.slug)


def category_path(category: PublicCategory) -> str:
    """The path of a category below prefix and language."""
    return f"/c/{category.id}-{quote(category.slug, safe=article_links.SAFE)}"
