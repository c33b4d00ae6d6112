"""One request of a page: who it is, what was sent, what the next page is to be told."""

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import field
from functools import cached_property
from typing import Any

from console.http import cookies
from server import times
from server.access import second_factor, sessions
from server.access.actor import Actor
from server.access.known_devices import KNOWN_SECONDS
from server.access.service_actor import own_context
from server.access.sessions import Session
from server.context import Context, Service
from server.dataclass import dataclass
from server.desk import speech
from server.errors import NotFound, TooLarge
from server.first_start import setup
from server.people import form_drafts
from server.people.preferences import Preferences
from server.people.sign_in import NewSession, Peer
from server.store.transaction import Transaction
from server.translation import Words, _, shown
from server.upkeep import verdict
from server.upkeep.verdict import Verdict
from server.web.call import id_of
from server.web.params import Params, decode_form, decode_multipart, decode_query
from server.web.site import Request, content_type
from server.web.streams import wants_events

FORM_TOKEN = "_xsrf"
MAX_NEXT_CHARS = 4000  # requests of apps for consent are long
PART = "X-Part"  # a header of requests that swap.js makes
LOCATION = "X-Location"  # of answers to them: where a form that was done leads to
BY_ITSELF = "X-Live"  # a header of requests that live.js makes
TOAST_SECONDS = 60  # that a message waits for its page
MAX_TOLD_CHARS = 200  # of a message; a longer one is cut
MAX_UNDO_CHARS = 400  # of what undoes it, in the cookie; more of it is kept on the server
# A path of ours: not //host, not /\host, no control characters.
_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*\Z")
_TAG_CHARS = 40
FORM_ID_CHARS = 16  # of the number of a form, behind the tag


@dataclass
class Visit:
    """session: of who is signed in, None for nobody. secret: of the session or visit cookie, "" for none yet.

    cookies: the Set-Cookie headers of the answer. was_ours: whether the form carried the token of the session that this
    request began with. message: that of the next page, with what undoes it. has_created: whether the
    page that is shown is the result of the form, and not one that it leads to."""

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
        """Whether browsers reach the service by https."""
        return self.service.base_url.startswith("https://")

    @property
    def is_post(self) -> bool:
        return self.request.method == "POST"

    @property
    def is_by_itself(self) -> bool:
        """Whether the page asks for what is new, and not the person: that does not keep a login alive."""
        headers = self.request.headers
        return not self.is_post and (BY_ITSELF in headers or wants_events(headers.get("Accept", "")))

    @property
    def is_part(self) -> bool:
        """Whether swap.js asks, which shows one part of the page: what stands around the page is not needed."""
        return PART in self.request.headers

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def shown_path(self) -> str:
        """The path with its query."""
        return f"{self.path}?{self.request.query}" if self.request.query else self.path

    @property
    def referring_path(self) -> str:
        """The page that the request came from, if it is ours and told; else the start."""
        parts = self.request.headers.get("Referer", "").split("/", 3)
        is_ours = len(parts) == 4 and parts[2] == self.request.headers.get("Host")
        return own_path(f"/{parts[3]}") if is_ours else "/"

    @property
    def id(self) -> int:
        """The id in the path."""
        return id_of(self.arguments["id"])

    @cached_property
    def language(self) -> str:
        """The locale of who is signed in, else what the browser asks for: `de_CH`."""
        if self.session is not None and self.session.actor.language:
            return self.session.actor.language
        return speech.languages(self.service).accepted(self.request.headers.get("Accept-Language", ""))

    @property
    def peer(self) -> Peer:
        return Peer(self.request.client, self.request.headers.get("User-Agent", ""), self._cookie(cookies.DEVICE))

    @property
    def who(self) -> Session:
        """The session of a page that is not for anyone. Raises NotFound where there is none."""
        if self.session is None:
            raise NotFound(_("nobody is signed in"))
        return self.session

    @property
    def actor(self) -> Actor:
        return self.who.actor

    @cached_property
    def ctx(self) -> Context:
        """What operations are done in: by the worker who is signed in, else by the service itself."""
        own = own_context(self.service)
        if self.session is None or self.session.waits_for_code:
            return own
        actor = self.session.actor
        return Context(self.service, actor, self.now, times.zone(actor.timezone or "UTC"), self.request.id)

    @cached_property
    def verdict(self) -> Verdict:
        """How the service is, for administrators; for others there is nothing to say."""
        if self.session is None or not self.session.actor.is_admin:
            return Verdict(())
        return verdict.of(self.service, self.now)

    @property
    def is_in_the_clear(self) -> bool:
        """Whether others may read along, which administrators are told on every page."""
        is_admin = self.session is not None and self.session.actor.is_admin
        return is_admin and setup.is_in_the_clear(self.service.settings)

    @cached_property
    def query(self) -> Params:
        """What stands behind the question mark."""
        return Params(decode_query(self.request.query) if self.request.query else {})

    @cached_property
    def form(self) -> Params:
        """The form that was sent, with files if it is of that kind. Raises Malformed, TooLarge."""
        if content_type(self.request) == "multipart/form-data":
            return Params(decode_multipart(self.request.body, self.request.headers.get("Content-Type", "")))
        return Params(decode_form(self.request.body))

    # -- forms of ours ----------------------------------------------------------------------------------------------

    @property
    def form_token(self) -> str:
        """What a form carries: the tag of the cookie, which other sites cannot read, and a number of its own."""
        return self.tag("form") + secrets.token_hex(FORM_ID_CHARS // 2)

    @property
    def form_id(self) -> str:
        """The number of the form that was sent; "" where it has none."""
        given = self.form.text(FORM_TOKEN, "")[_TAG_CHARS:]
        return given if len(given) == FORM_ID_CHARS else ""

    def has_form_token(self) -> bool:
        """Whether the form that was sent carries the token of this session or visit."""
        given = self.form.text(FORM_TOKEN, "")[:_TAG_CHARS]
        is_right = bool(self.secret) and hmac.compare_digest(given.encode(), self.tag("form").encode())
        return self.was_ours or is_right

    def require_secret(self) -> None:
        """Give somebody who is not signed in a cookie, so that a form can be tied to it."""
        if not self.secret:
            self.secret = secrets.token_urlsafe(32)
            self.cookies.append(cookies.write(cookies.VISIT, self.secret, self.is_secure))

    def tag(self, purpose: str) -> str:
        """A text that only somebody with the cookie can know."""
        return hmac.new(self.secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:_TAG_CHARS]

    # -- sessions ---------------------------------------------------------------------------------------------------

    def set_session(self, id: str, is_kept: bool | None = None) -> None:
        """Let the browser hold a session. is_kept: when the browser is closed, too; None as it is now."""
        if is_kept is None:
            is_kept = self.session is not None and self.session.idle_seconds >= self._most_seconds
        self.cookies.append(cookies.write(cookies.SESSION, id, self.is_secure, self._most_seconds if is_kept else None))
        self.cookies.append(cookies.write(cookies.VISIT, "", self.is_secure, 0))
        self.secret = id

    def sign_in(self, made: NewSession, is_kept: bool | None = None) -> None:
        """Let the browser hold a new session, and that its worker has signed in there. is_kept: as in set_session."""
        self.set_session(made.session_id, is_kept)
        if made.known:
            self.cookies.append(cookies.write(cookies.DEVICE, made.known, self.is_secure, KNOWN_SECONDS))

    def begin(self, made: NewSession, is_kept: bool | None = None) -> None:
        """Go on in another session within this request: its form was sent with what gave the session."""
        self.was_ours = self.has_form_token()
        self.sign_in(made, is_kept)
        self.session = self.service.store.read(lambda tx: sessions.check(tx, made.session_id, self.now))
        self.__dict__.pop("ctx", None)

    def drop_session(self) -> None:
        """Let the browser forget the session."""
        self.cookies.append(cookies.write(cookies.SESSION, "", self.is_secure, 0))

    @property
    def _most_seconds(self) -> int:
        return self.service.settings.session_days * 86400

    @property
    def closed_groups(self) -> list[str]:
        """The groups of the rail that this browser shows closed."""
        return cookies.read(self.request.headers.get("Cookie", ""), cookies.RAIL, False).split(".")

    def _cookie(self, kind: str) -> str:
        return cookies.read(self.request.headers.get("Cookie", ""), kind, self.is_secure)

    def session_id(self) -> str:
        """The id that the browser sent."""
        return self._cookie(cookies.SESSION)

    def visit_id(self) -> str:
        """What the browser of somebody who is not signed in sent."""
        found = self._cookie(cookies.VISIT)
        return found if len(found) <= sessions.MAX_ID_CHARS else ""

    def lacks_second_factor(self) -> bool:
        """Whether the worker who is signed in must have a second factor and has none yet."""
        id, workers = self.actor.worker_id, self.service.registry.type("worker")

        def read(tx: Transaction) -> bool:
            row = tx.get(workers.table, id)
            is_required = row is not None and bool(workers.record(row)["is_mfa_required"])
            return is_required and not second_factor.is_on(tx, id)

        return self.service.store.read(read)

    # -- the next page ----------------------------------------------------------------------------------------------

    @property
    def next(self) -> str:
        """Where to go when a form is done: `next` of form or query, if it is a path of ours, else the start."""
        given = (self.form if self.is_post else self.query).text("next", "") or self.query.text("next", "")
        return own_path(given)

    def tell(self, text: Words, undo: str = "", /, **fields: str | list[str]) -> None:
        """Show a message on the next page. undo: the path of a form that takes back what was done, with its fields."""
        message = shown(text)[:MAX_TOLD_CHARS]
        self.message = message, undo, fields
        kept = ""
        if len(json.dumps(fields)) > MAX_UNDO_CHARS and self.session is not None:
            kept = f"undo:{secrets.token_hex(8)}"  # too much for a cookie
            try:
                form_drafts.keep(self.ctx, kept, _pairs(fields))
            except TooLarge:
                undo = kept = ""
            fields = {}
        told = json.dumps([message, undo, fields, kept], ensure_ascii=False)
        told = told.encode("utf-8", "replace").decode()
        signed = f"{self.tag(told)}{told}"
        self.cookies.append(cookies.write(cookies.TOAST, signed, self.is_secure, TOAST_SECONDS))

    @cached_property
    def toast(self) -> dict[str, Any] | None:
        """The message that the page before left, {text, undo, fields: pairs}; it is shown once."""
        signed = self._cookie(cookies.TOAST)
        if not signed:
            return None
        self.cookies.append(cookies.write(cookies.TOAST, "", self.is_secure, 0))
        tag, told = signed[:_TAG_CHARS], signed[_TAG_CHARS:]
        if not self.secret or not hmac.compare_digest(tag.encode(), self.tag(told).encode()):
            return None
        text, undo, fields, kept = json.loads(told)
        pairs = _pairs(fields)
        if kept and self.session is not None:
            draft = form_drafts.of(self.ctx, kept)
            form_drafts.drop(self.ctx, kept)
            undo, pairs = (undo, [*draft.fields]) if draft is not None else ("", [])
        return {"text": text, "undo": undo, "fields": pairs}


def _pairs(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, each) for name, value in fields.items() for each in ([value] if isinstance(value, str) else value)]


def own_path(given: str) -> str:
    """The path when it leads to a page of ours, else the start.

    >>> own_path("/account?tab=1"), own_path("//evil.example"), own_path("/\\\\evil.example"), own_path("https:x")
    ('/account?tab=1', '/', '/', '/')
    """
    return given if len(given) <= MAX_NEXT_CHARS and _OWN_PATH.match(given) else "/"
