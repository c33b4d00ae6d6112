"""The kinds of connected services that have a form, with the fields of a service and of its accounts. Other kinds are
edited as JSON."""

from datetime import date
from typing import Any

from console.forms.controls import Control
from console.html.form import Form
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, Required
from server.outbound import limits, oauth_discovery, oauth_providers, request_signing, urls
from server.outbound.oauth_providers import GOOGLE, GRAPH, MAIL, MICROSOFT, OTHER
from server.translation import N_, Words, _

PREFIX = "p_"  # names of controls for params, which may equal those of fields
STORED = N_("Stored. Leave blank to keep it.")
SECRET = N_("Never shown again.")
PLAIN = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
JSON = "json"
FURTHER = N_("Addresses of the provider")


def _line(name: str, label: Words, hint: Words = "", heading: Words = "", **attributes: Any) -> Control:
    return Control(
        f"{PREFIX}{name}",
        label,
        hint,
        "line",
        attributes={**PLAIN, "maxlength": 2048, **attributes},
        is_own=True,
        heading=heading,
    )


def _secret(name: str, label: Words, heading: Words = "") -> Control:
    return Control(
        f"{PREFIX}{name}", label, SECRET, "password", attributes={"maxlength": 4000}, is_own=True, heading=heading
    )


BASE_URL = _line("base_url", N_("Use only below"), N_("Requests to other addresses are refused. Blank: anywhere."))
CLIENT = (
    _line("client_id", N_("Client id"), required=True),
    _secret("client_secret", N_("Client secret")),
    Control(
        f"{PREFIX}client_secret_expires",
        N_("Client secret expires on"),
        N_("Administrators are notified 30, 7 and 1 days before."),
        "date",
        is_own=True,
    ),
)
ENDPOINTS = (
    _line("authorization_url", N_("Consent page"), N_("Blank: the usual one."), FURTHER),
    _line("token_url", N_("Token address"), N_("Blank: the usual one.")),
    _line("userinfo_url", N_("User info address"), N_("Blank: the usual one.")),
    _line("issuer", N_("Issuer"), N_("Blank: the usual one.")),
    BASE_URL,
)
TOKENS = (_secret("refresh_token", N_("Refresh token")), _secret("access_token", N_("Access token")))


@dataclass(frozen=True)
class ServiceKind:
    """A kind. extension_id: of its services. provider: of oauth_providers, for OAuth 2. service, account: the controls
    of params. folded: names of controls that are collapsed at first."""

    name: str
    extension_id: str
    label: Words
    about: Words
    service: tuple[Control, ...]
    account: tuple[Control, ...]
    provider: str = ""
    folded: tuple[str, ...] = ()

    @property
    def is_oauth(self) -> bool:
        return self.extension_id == request_signing.OAUTH2


KINDS: tuple[ServiceKind, ...] = (
    ServiceKind(
        GOOGLE,
        request_signing.OAUTH2,
        "Google",
        N_("Mailboxes of Gmail and Google Workspace"),
        (
            *CLIENT,
            *ENDPOINTS,
            _line(
                "scope",
                N_("Further scope"),
                N_("For accounts that are used for other things than mail. Separated by blanks."),
            ),
        ),
        TOKENS,
        GOOGLE,
        ("p_authorization_url", "p_token_url", "p_userinfo_url", "p_issuer", "p_base_url", "p_scope"),
    ),
    ServiceKind(
        MICROSOFT,
        request_signing.OAUTH2,
        "Microsoft 365",
        N_("Mailboxes of Exchange Online and Outlook"),
        (
            _line(
                "tenant",
                N_("Tenant"),
                N_("The directory id, or one of its domains. Blank: accounts of any organization."),
                maxlength=100,
            ),
            *CLIENT,
            *ENDPOINTS,
            _line(
                "scope",
                N_("Further scope"),
                N_("For accounts that are used for other things than mail. Separated by blanks."),
            ),
        ),
        TOKENS,
        MICROSOFT,
        ("p_authorization_url", "p_token_url", "p_userinfo_url", "p_issuer", "p_base_url", "p_scope"),
    ),
    ServiceKind(
        "oauth2",
        request_signing.OAUTH2,
        "OAuth 2",
        N_("Another provider that asks a person for consent, or gives tokens to this program itself"),
        (
            _line(
                "issuer",
                N_("Issuer"),
                N_("Such as https://login.example. With it, the addresses below are found; they can also be entered."),
            ),
            _line(
                "authorization_url",
                N_("Consent page"),
                N_("Blank without consent: tokens are then requested with the client secret alone."),
            ),
            _line("token_url", N_("Token address"), ""),
            _line("userinfo_url", N_("User info address"), N_("Says whose account it is. May be blank.")),
            _line("scope", N_("Scope"), N_("Separated by blanks.")),
            *CLIENT,
            Control(
                f"{PREFIX}client_authentication",
                N_("Client authentication"),
                "",
                "choice",
                is_own=True,
                options=[("", N_("Usual")), ("basic", N_("In the header (Basic)")), ("body", N_("In the body"))],
            ),
            BASE_URL,
        ),
        TOKENS,
        OTHER,
    ),
    ServiceKind(
        "api_key",
        request_signing.API_KEY,
        N_("API key"),
        N_("A key in a header or in the query of each request"),
        (
            Control(
                f"{PREFIX}location",
                N_("Where the key is sent"),
                "",
                "choice",
                is_own=True,
                options=[("header", N_("In a header")), ("query", N_("In the query"))],
            ),
            _line("name", N_("Name of header or parameter"), N_("Blank: x-api-key."), maxlength=200),
            BASE_URL,
        ),
        (_secret("api_key", N_("API key")),),
    ),
    ServiceKind(
        "bearer",
        request_signing.BEARER,
        N_("Bearer token"),
        N_("A fixed token in the Authorization header"),
        (_line("token_type", N_("Word before the token"), N_("Blank: Bearer."), maxlength=50), BASE_URL),
        (_secret("token", N_("Token")),),
    ),
    ServiceKind(
        "basic",
        request_signing.BASIC,
        "HTTP Basic",
        N_("A user name and a password"),
        (BASE_URL,),
        (_line("username", N_("User name"), maxlength=255), _secret("password", N_("Password"))),
    ),
    ServiceKind(
        "aws",
        request_signing.AWS,
        "Amazon Web Services",
        N_("Requests that are signed with an access key"),
        (
            _line("region", N_("Region"), N_("Such as eu-central-1."), maxlength=100),
            _line("service", N_("Service"), N_("Such as s3."), maxlength=100),
            BASE_URL,
        ),
        (
            _line("access_key_id", N_("Access key id"), maxlength=200),
            _secret("secret_access_key", N_("Secret access key")),
            _secret("session_token", N_("Session token")),
        ),
    ),
)
BY_NAME = {each.name: each for each in KINDS}
PARAMS = Control("params", N_("Settings as JSON"), N_("Never shown again. They replace all stored ones."), "json")
URLS = ("base_url", "authorization_url", "token_url", "userinfo_url", "issuer")
SECURE = ("authorization_url", "token_url", "userinfo_url", "issuer")  # secrets are sent there


def kind_of(extension_id: str, params: object) -> ServiceKind | None:
    """Returns the kind of a stored service, None for one that is edited as JSON."""
    provider = str(params.get("provider") or "") if isinstance(params, dict) else ""
    if extension_id == request_signing.OAUTH2 and provider in (GOOGLE, MICROSOFT):
        return BY_NAME[provider]
    return next((each for each in KINDS if each.extension_id == extension_id and each.provider in ("", OTHER)), None)


def plain_values(controls: tuple[Control, ...], params: object) -> dict[str, str]:
    """Returns the stored params as a form shows them, without secrets."""
    stored = params if isinstance(params, dict) else {}
    return {each.name: str(stored.get(_key(each)) or "") for each in controls if each.kind != "password"}


def is_stored(control: Control, params: object) -> bool:
    """Returns whether a secret is stored."""
    return control.kind == "password" and isinstance(params, dict) and bool(params.get(_key(control)))


def submitted_params(controls: tuple[Control, ...], params: object, form: Form) -> dict[str, Any]:
    """Returns stored params with the submitted ones; a blank secret keeps the stored one."""
    result = dict(params) if isinstance(params, dict) else {}
    for each in controls:
        key, text = _key(each), form.get(each.name)
        text = text if each.kind == "password" else text.strip()
        if text:
            result[key] = text
        elif each.kind != "password":
            result.pop(key, None)
    return result


def service_params(ctx: Context, kind: ServiceKind, old: object, form: Form) -> dict[str, Any]:
    """Returns the params of a service from its form. Requests the addresses of an issuer, which blocks.

    Raises Invalid at the field that is wrong."""
    params = submitted_params(kind.service, old, form)
    _check_addresses(params)
    expires = params.get("client_secret_expires", "")
    if expires:
        try:
            date.fromisoformat(expires)
        except ValueError:
            raise Invalid(_("enter a date"), field=f"{PREFIX}client_secret_expires") from None
    if not kind.is_oauth:
        return params
    params["provider"] = kind.provider
    if not params.get("client_id"):
        raise Required(_("enter the client id"), field=f"{PREFIX}client_id")
    if params.get("issuer") and kind.provider == OTHER:
        _discover(ctx, params)
    try:
        complete = oauth_providers.with_defaults({name: str(value) for name, value in params.items()})
    except Invalid as error:
        raise Invalid(error.message, field=f"{PREFIX}tenant") from error
    if not complete.get("token_url"):
        raise Required(_("enter the token address, or an issuer"), field=f"{PREFIX}token_url")
    _require_secret_again(complete, old, form)
    return params


def _check_addresses(params: dict[str, Any]) -> None:
    for name in URLS:
        if not params.get(name):
            continue
        try:
            if name in SECURE:
                oauth_discovery.secure_url(str(params[name]))
            else:
                urls.parsed(str(params[name]))
        except Invalid as error:
            raise Invalid(error.message, field=f"{PREFIX}{name}") from error


def _discover(ctx: Context, params: dict[str, Any]) -> None:
    """Fills blank addresses from the metadata of the issuer."""
    wanted = {"authorization_url": "authorization_endpoint", "token_url": "token_endpoint"}
    if all(params.get(name) for name in wanted):
        return
    try:
        metadata = oauth_discovery.fetch_metadata(params["issuer"], limits(ctx.service.settings))
        for name, key in (*wanted.items(), ("userinfo_url", "userinfo_endpoint")):
            if not params.get(name) and isinstance(metadata.get(key), str):
                params[name] = str(oauth_discovery.secure_url(metadata[key]))
    except HelpdeskError as error:
        raise Invalid(error.message, field=f"{PREFIX}issuer") from error
    params["issuer"] = metadata["issuer"]
    if metadata.get("authorization_response_iss_parameter_supported") is True:
        params["requires_iss"] = "1"


def _require_secret_again(params: dict[str, str], old: object, form: Form) -> None:
    """Raises Required if a stored secret would be sent to another host than before."""
    before = old if isinstance(old, dict) else {}
    if not before.get("client_secret") or form.get(f"{PREFIX}client_secret"):
        return
    was = oauth_providers.with_defaults({name: str(value) for name, value in before.items()}).get("token_url", "")
    if was and urls.parsed(was).origin != urls.parsed(params["token_url"]).origin:
        raise Required(
            _("enter the client secret again: it would be sent to another host"), field=f"{PREFIX}client_secret"
        )


def purposes(params: object) -> list[tuple[str, Words]]:
    """Returns the purposes that accounts of a service can be connected for, with their labels."""
    stored = {name: str(value) for name, value in params.items()} if isinstance(params, dict) else {}
    offered = oauth_providers.provider_of(stored).scopes
    result: list[tuple[str, Words]] = []
    if MAIL in offered:
        result.append((MAIL, N_("Mail by IMAP and SMTP")))
    if GRAPH in offered:
        result.append((GRAPH, N_("Mail by Microsoft Graph")))
    if stored.get("scope") or not offered:
        result.append(("other", N_("The scope of the service")))
    return result


def _key(control: Control) -> str:
    return control.name.removeprefix(PREFIX)
