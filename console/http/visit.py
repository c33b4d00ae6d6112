"""One request of a page: the session, the submitted form, and the message for the next page."""

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from console.http import cookies
from server import times
from server.access import sessions
from server.access.actor import Actor
from server.access.known_devices import KNOWN_SECONDS
from server.access.service_actor import own_context
from server.access.sessions import Session
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import NotFound, TooLarge
from server.first_start import setup
from server.people import form_drafts
from server.people.preferences import Preferences
from server.records import catalogs
from server.sign_in import provider_sign_in, security
from server.sign_in.sign_in import NewSession, Peer
from server.translation import Words, _, shown
from server.upkeep import verdict
from server.upkeep.verdict import Verdict
from server.web.endpoint_call import id_of
from server.web.params import Params, decode_form, decode_multipart, decode_query
from server.web.site import Request, content_type
from server.web.streams import wants_events

FORM_TOKEN = "_xsrf"
MAX_NEXT_CHARS = 4000  # authorization requests of apps are long
PART = "X-Part"  # a header of requests by swap.js
AHEAD = "X-Ahead"  # a header of requests for a page that may never be shown
LOCATION = "X-Location"  # a header of responses to swap.js: the page that follows a form
BY_ITSELF = "X-Live"  # a header of requests by live.js
TOAST_SECONDS = 60  # lifetime of the cookie with a message
MAX_TOLD_CHARS = 200  # longer messages are truncated
MAX_UNDO_CHARS = 400  # a larger undo form is stored on the server rather than in the cookie
# A path on this host: not //host, not /\host, no control characters.
_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*\Z")
_TAG_CHARS = 40
FORM_ID_CHARS = 16  # the random id of a form follows the tag


@dataclass
class Visit:
    """A request of a page.

    session: None for a visitor who is not signed in. secret: the value of the session or visit cookie, "" for none yet.

    cookies: the Set-Cookie headers of the response. was_ours: whether the form had the token of the session that this
    request began with. message: the message for the next page, with the form that undoes the act. has_created: whether
    the response itself is the result of the form, rather than a redirect to it."""

    service: Service
    request: Request
    now: int
    arguments: dict[str, str] = field(default_factory=dict)
    session: Session | None = None
    preferences: Preferences = field(default_factory=Preferences)
    secret: str = ""
    cookies: list[str] = field(default_factory=list)
    was_ours: bool = False
    message: tuple[str, str, dict[str, str | list[str]]] | None = None
    has_created: bool = False

    @property
    def is_secure(self) -> bool:
        """Whether browsers use https."""
        return self.service.base_url.startswith("https://")

    @property
    def is_post(self) -> bool:
        return self.request.method == "POST"

    @property
    def is_by_itself(self) -> bool:
        """Whether a script polls for news without the person: such requests do not extend a session."""
        headers = self.request.headers
        return not self.is_post and (BY_ITSELF in headers or wants_events(headers.get("Accept", "")))

    @property
    def is_part(self) -> bool:
        """Whether swap.js requests a part of the page: the frame around the page is left out."""
        return PART in self.request.headers

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def shown_path(self) -> str:
        """The path with the query."""
        return self.with_query(self.path)

    def with_query(self, path: str) -> str:
        """Another path with the query of this one."""
        return f"{path}?{self.request.query}" if self.request.query else path

    def address(self, **changes: str) -> str:
        """The address of this page with other parameters; blank ones are left out."""
        present = {name: self.query.text(name, "") for name in self.query.names()}
        query = urlencode({name: text for name, text in (present | changes).items() if text})
        return f"{self.path}?{query}" if query else self.path

    @property
    def referring_path(self) -> str:
        """The page that the request came from, if the browser sends it and it is on this host; else the start page."""
        parts = self.request.headers.get("Referer", "").split("/", 3)
        is_ours = len(parts) == 4 and parts[2] == self.request.headers.get("Host")
        return own_path(f"/{parts[3]}") if is_ours else "/"

    @property
    def id(self) -> int:
        """The id in the path."""
        return id_of(self.arguments["id"])

    @property
    def record_id(self) -> int:
        """The id in the path, 0 for a path without one, such as the path of a new record."""
        return self.id if "id" in self.arguments else 0

    @cached_property
    def language(self) -> str:
        """The locale of the worker, else the preferred one of the browser, such as `de_CH`."""
        if self.session is not None and self.session.actor.language:
            return self.session.actor.language
        return catalogs.languages(self.service).accepted(self.request.headers.get("Accept-Language", ""))

    @property
    def peer(self) -> Peer:
        return Peer(self.request.client, self.request.headers.get("User-Agent", ""), self._cookie(cookies.DEVICE))

    @property
    def who(self) -> Session:
        """The session. Raises NotFound for a visitor who is not signed in."""
        if self.session is None:
            raise NotFound(_("you are not signed in"))
        return self.session

    @property
    def actor(self) -> Actor:
        return self.who.actor

    @cached_property
    def ctx(self) -> Context:
        """The context for operations: of the signed-in worker, else of the service itself."""
        own = own_context(self.service)
        if self.session is None or self.session.waits_for_code:
            return own
        actor = self.session.actor
        return Context(self.service, actor, self.now, times.zone(actor.timezone or "UTC"), self.request.id)

    @cached_property
    def verdict(self) -> Verdict:
        """The health of the service, for administrators; for others an empty verdict."""
        if self.session is None or not self.session.actor.is_admin:
            return Verdict(())
        return verdict.current(self.service, self.now)

    @property
    def recent_verdict(self) -> Verdict:
        """The same, at most a few seconds old outside of the settings: its state and text, not its findings."""
        is_admin = self.session is not None and self.session.actor.is_admin
        is_fresh = self.path == "/" or self.path.startswith(("/admin", "/settings", "/setup"))
        return verdict.recent(self.service, self.now) if is_admin and not is_fresh else self.verdict

    @property
    def is_in_the_clear(self) -> bool:
        """Whether the connection can be overheard, of which every page warns administrators."""
        is_admin = self.session is not None and self.session.actor.is_admin
        return is_admin and setup.is_in_the_clear(self.service.settings)

    @cached_property
    def query(self) -> Params:
        """The parameters of the query."""
        return Params(decode_query(self.request.query) if self.request.query else {})

    @cached_property
    def form(self) -> Params:
        """The submitted form, with its files if it is multipart. Raises Malformed, TooLarge."""
        if content_type(self.request) == "multipart/form-data":
            return Params(decode_multipart(self.request.body, self.request.headers.get("Content-Type", "")))
        return Params(decode_form(self.request.body))

    # -- forms of ours ----------------------------------------------------------------------------------------------

    @property
    def form_token(self) -> str:
        """The token of a form: a tag of the cookie, which other sites cannot read, and a random id."""
        return self.tag("form") + secrets.token_hex(FORM_ID_CHARS // 2)

    @property
    def form_id(self) -> str:
        """The random id of the submitted form; "" if it has none."""
        id = self.form.text(FORM_TOKEN, "")[_TAG_CHARS:]
        return id if len(id) == FORM_ID_CHARS else ""

    def has_form_token(self) -> bool:
        """Whether the submitted form has the token of this session or visit."""
        tag = self.form.text(FORM_TOKEN, "")[:_TAG_CHARS]
        is_right = bool(self.secret) and hmac.compare_digest(tag.encode(), self.tag("form").encode())
        return self.was_ours or is_right

    def require_secret(self) -> None:
        """Sets a visit cookie if nobody is signed in, so that a form can be tied to it."""
        if not self.secret:
            self.secret = secrets.token_urlsafe(32)
            self._set_cookie(cookies.VISIT, self.secret)

    def tag(self, purpose: str) -> str:
        """A keyed digest (HMAC) that can only be computed with the cookie."""
        return hmac.new(self.secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:_TAG_CHARS]

    # -- sessions ---------------------------------------------------------------------------------------------------

    def set_session(self, id: str, is_kept: bool | None = None) -> None:
        """Sets the session cookie. is_kept: whether it outlives the browser; None to leave that as it is."""
        if is_kept is None:
            is_kept = self.session is not None and self.session.idle_seconds >= self._most_seconds
        self._set_cookie(cookies.SESSION, id, self._most_seconds if is_kept else None)
        self._set_cookie(cookies.VISIT, "", 0)
        self.secret = id

    def sign_in(self, session: NewSession, is_kept: bool | None = None) -> None:
        """Sets the cookies of a new session and of a known device. is_kept: as in set_session."""
        self.set_session(session.session_id, is_kept)
        if session.known:
            self._set_cookie(cookies.DEVICE, session.known, KNOWN_SECONDS)

    def begin(self, session: NewSession, is_kept: bool | None = None) -> None:
        """Continues this request in a new session, which its form has just created."""
        self.was_ours = self.has_form_token()
        self.sign_in(session, is_kept)
        self.session = self.service.store.read(lambda tx: sessions.check(tx, session.session_id, self.now))
        self.__dict__.pop("ctx", None)

    def drop_session(self) -> None:
        """Removes the session cookie."""
        self._set_cookie(cookies.SESSION, "", 0)

    @property
    def _most_seconds(self) -> int:
        return self.service.settings.session_days * 86400

    @property
    def closed_groups(self) -> list[str]:
        """The groups of the rail that are collapsed in this browser."""
        return cookies.read(self.request.headers.get("Cookie", ""), cookies.RAIL, False).split(".")

    @property
    def hides_list(self) -> bool:
        """Whether the worker wants a ticket without its list beside it, in this browser."""
        return cookies.read(self.request.headers.get("Cookie", ""), cookies.PANES, False) == "ticket"

    def _cookie(self, kind: str) -> str:
        return cookies.read(self.request.headers.get("Cookie", ""), kind, self.is_secure)

    def _set_cookie(self, kind: str, value: str, seconds: int | None = None) -> None:
        self.cookies.append(cookies.write(kind, value, self.is_secure, seconds))

    def session_id(self) -> str:
        """The value of the session cookie."""
        return self._cookie(cookies.SESSION)

    def visit_id(self) -> str:
        """The value of the visit cookie."""
        id = self._cookie(cookies.VISIT)
        return id if len(id) <= sessions.MAX_ID_CHARS else ""

    def lacks_second_factor(self) -> bool:
        """Whether the worker must set up a second factor and has not done so; not after signing in with a provider that
        asks for one."""
        is_lacking = security.lacks_second_factor(self.service, self.actor.worker_id, self.now)
        return is_lacking and not provider_sign_in.has_asked_for_code(self.service, self.who)

    # -- the next page ----------------------------------------------------------------------------------------------

    @property
    def next(self) -> str:
        """The page after a form: `next` of the form or query if it is a path on this host, else the start page."""
        path = (self.form if self.is_post else self.query).text("next", "") or self.query.text("next", "")
        return own_path(path)

    def flash(self, text: Words, undo: str = "", /, **fields: str | list[str]) -> None:
        """Shows a message on the next page. undo: the path of a form that undoes the act; fields: its fields."""
        message = shown(text)[:MAX_TOLD_CHARS]
        self.message = message, undo, fields
        draft_name = ""
        if len(json.dumps(fields)) > MAX_UNDO_CHARS and self.session is not None:
            draft_name = f"undo:{secrets.token_hex(8)}"  # too large for a cookie
            try:
                form_drafts.save(self.ctx, draft_name, _pairs(fields))
            except TooLarge:
                undo = draft_name = ""
            fields = {}
        payload = json.dumps([message, undo, fields, draft_name], ensure_ascii=False)
        payload = payload.encode("utf-8", "replace").decode()
        signed = f"{self.tag(payload)}{payload}"
        self._set_cookie(cookies.TOAST, signed, TOAST_SECONDS)

    @cached_property
    def toast(self) -> dict[str, Any] | None:
        """The message from the previous page, {text, undo, fields: pairs}; it is shown once."""
        signed = self._cookie(cookies.TOAST)
        if not signed or AHEAD in self.request.headers:
            return None
        self._set_cookie(cookies.TOAST, "", 0)
        tag, payload = signed[:_TAG_CHARS], signed[_TAG_CHARS:]
        if not self.secret or not hmac.compare_digest(tag.encode(), self.tag(payload).encode()):
            return None
        text, undo, fields, draft_name = json.loads(payload)
        pairs = _pairs(fields)
        if draft_name and self.session is not None:
            draft = form_drafts.load(self.ctx, draft_name)
            form_drafts.drop(self.ctx, draft_name)
            undo, pairs = (undo, [*draft.fields]) if draft is not None else ("", [])
        return {"text": text, "undo": undo, "fields": pairs}

    def is_first(self, hint: str) -> bool:
        """Whether the worker has not seen a hint about keys yet. Scripts report when it was shown."""
        has_none = self.session is None or self.session.waits_for_code or not self.preferences.has_keys
        return not has_none and hint not in self.preferences.hints


def _pairs(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, each) for name, value in fields.items() for each in ([value] if isinstance(value, str) else value)]


def own_path(path: str) -> str:
    """Returns the path if it is on this host, else the start page.

    >>> own_path("/account?tab=1"), own_path("//evil.example"), own_path("/\\\\evil.example"), own_path("https:x")
    ('/account?tab=1', '/', '/', '/')
    """
    return path if len(path) <= MAX_NEXT_CHARS and _OWN_PATH.match(path) else "/"
