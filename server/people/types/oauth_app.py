"""OAuth apps: programs with a client id, a secret and scopes that act for workers. access/ has the tokens."""

from contextlib import suppress
from typing import Any

from server import contexts
from server.access import families
from server.errors import Invalid
from server.fields import Bit, Id, Name, Text, Timestamp, UpdatedAt, Url
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.shared import callbacks, scopes
from server.record_types.shared.secrets import digest, random_text
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.store.tables import Column, Index

ID_CHARS, SECRET_CHARS = 32, 64


class OAuthApp(RecordType):
    """A program that acts for workers who consented, within its scopes.

    Only a hash of the secret is stored; a generated secret is returned once, by the request that created it. The former
    secret works until `overlap_until`, so that it can be changed without an interruption."""

    uri, context = "oauth_app", contexts.OAUTH_APP
    label_names = ("OAuth App", "OAuth Apps")
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "callback_url": Text(
            "Where the app receives the result of a sign-in; several addresses, one per line. For an app "
            "that only uses the token generator, any value is accepted except plain http to another "
            "machine, a fragment, and schemes that lead to no app, such as javascript: and data:.",
            65535,
            required=True,
            exact=True,
            filter_note="Where the app receives the result of a sign-in.",
        ),
        "client_id": Text(
            "Public identifier; 32 random lower-case letters and digits when omitted. Blank leaves it unchanged.",
            unique=True,
            auto="generated",
            blank_ok=True,
            match="prefix",
        ),
        "client_secret": Text(
            "Secret; 64 random lower-case letters and digits when omitted. Blank on a change creates "
            "a new one. Returned only once.",
            auto="generated",
            exact=True,
            stored=False,
        ),
        "is_device_flow": Bit(
            "Workers may sign in to the app with a code on another device (RFC 8628), as for command lines.",
            origin="ours",
            filter=None,
        ),
        "is_pkce_required": Bit(
            "Sign-ins must use a code challenge; public apps always must.", origin="ours", filter=None
        ),
        "is_public": Bit(
            "The app cannot keep a secret, for example because it runs in a browser.", origin="ours", filter=None
        ),
        "name": Name("Name of the integration; also the label."),
        "overlap_until": Timestamp(
            "When the previous secret stops working; 0 for when the next one is created. `now` ends it.",
            origin="ours",
            filter=None,
        ),
        "scopes": Text(
            "YAML map of scope ids to label, endpoints and, for the worker's own records only, `records: own`; one "
            "scope `api` for everything when omitted.",
            scopes.MAX_CHARS,
            auto="built_in",
            exact=True,
            filter=None,
        ),
        "service_worker_id": Id(
            "Worker the app acts as with the grant client_credentials; 0 for none. A public app cannot have one.",
            "worker",
            zero_ok=True,
            origin="ours",
            filter=None,
            nested="service_worker",
            nested_note="Worker the app acts as by itself.",
        ),
        "updated_at": UpdatedAt(),
        "url": Url("Home page of the app.", filter_note="Home page of the app; null for none."),
    }
    columns = (
        Column("client_secret_hash", "TEXT"),
        Column("previous_secret_hash", "TEXT"),
        Column("document_until"),  # Unix seconds when the metadata document expires, 0 without one
    )
    indexes = (Index(("client_id",), "the app of a token request", unique=True),)
    bumps = {"access": ()}
    subtotals = Subtotals(search=("fieldset", "links"))

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Parses the scopes before the write, because the YAML parser is slow. The result is cached; the write reports
        errors to callers with the right to see them."""
        text = fields.get("scopes")
        if isinstance(text, str) and text:
            with suppress(Invalid):
                scopes.parse(text)
        return super().before(fields)

    def prepare(self, change: Change, writing: Writing) -> None:
        new = change.new
        if "callback_url" in new:
            _refuse_unfit(new["callback_url"])
        if change.is_create and not new.get("scopes"):
            new["scopes"] = scopes.DEFAULT
        elif "scopes" in new:
            scopes.parse(new["scopes"])
        if not new.get("client_id"):
            new["client_id"] = change.was("client_id") or random_text(ID_CHARS)
        if new.get("is_public"):
            new.setdefault("service_worker_id", 0)
        if change.value("is_public") and change.value("service_worker_id"):
            raise Invalid(
                "service_worker_id: a public app cannot prove who it is, so it acts only for workers who signed in",
                field="service_worker_id",
            )
        self._secret(change)
        # Also before a change: a later time must not restore a secret that has expired.
        until = change.value("overlap_until")
        is_over = "previous_secret_hash" not in new and 0 < change.was("overlap_until") <= writing.now
        if is_over or 0 < until <= writing.now:
            new["previous_secret_hash"] = ""

    def after_write(self, change: Change, writing: Writing) -> None:
        if not change.is_create and change.changes("service_worker_id"):
            families.end(writing.tx, families.of_service_worker(change.id), writing.now)

    def _secret(self, change: Change) -> None:
        """Removes the secret of a public app; creates one for other apps if it is missing or requested."""
        new = change.new
        if change.value("is_public"):
            new["client_secret_hash"] = new["previous_secret_hash"] = ""
            return
        present = change.was("client_secret_hash")
        sent = change.extras.get("client_secret")
        if sent is None and present:
            return
        secret = sent or random_text(SECRET_CHARS)
        if not sent:
            change.extras["shown_once"] = {"client_secret": secret}
        new["client_secret_hash"] = digest(secret)
        if present != new["client_secret_hash"]:
            new["previous_secret_hash"] = present
            new.setdefault("overlap_until", 0)


def _refuse_unfit(text: str) -> None:
    """Raises Invalid for a callback that no login can redirect to, or that would expose the code to others."""
    for place, line in enumerate(text.splitlines(), 1):
        reason = callbacks.refusal(line.strip())
        if reason:
            raise Invalid(f"callback_url: line {place} {reason}", field="callback_url")
