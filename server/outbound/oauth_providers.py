"""Providers of accounts that are connected with their consent: endpoints, and the scopes of each purpose.

A connected service names its provider. Values of its own params come before those declared here, so that an endpoint
can be corrected before a new version has it."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from server.dataclass import dataclass
from server.errors import Invalid
from server.late_pattern import late_pattern
from server.translation import N_, Words

GOOGLE, MICROSOFT, OTHER = "google", "microsoft", "other"
Purpose = Literal["mail", "graph", "other"]
MAIL: Purpose = "mail"  # IMAP, POP3 and SMTP
GRAPH: Purpose = "graph"  # mail by Microsoft Graph
GENERAL: Purpose = "other"  # the scope of the service
PURPOSES: tuple[Purpose, ...] = (MAIL, GRAPH, GENERAL)
IDENTITY = ("openid", "email", "profile", "offline_access")  # scopes that give access to no data
COMMON = "common"  # the tenant of Microsoft for accounts of any organization
_TENANT = late_pattern(r"[A-Za-z0-9][A-Za-z0-9.-]{0,99}\Z")
_LOGIN = "https://login.microsoftonline.com/{tenant}"


@dataclass(frozen=True)
class OAuthProvider:
    """A provider. params: defaults for those of a connected service; {tenant} stands for its tenant. scopes: by
    purpose. authorize: further parameters of an authorization request. renews_with_scope: whether a renewal names the
    scopes again. console: the page where an administrator registers this service."""

    label: Words
    params: Mapping[str, str] = field(default_factory=dict)
    scopes: Mapping[Purpose, tuple[str, ...]] = field(default_factory=dict)
    authorize: Mapping[str, str] = field(default_factory=dict)
    renews_with_scope: bool = False
    console: str = ""


PROVIDERS: dict[str, OAuthProvider] = {
    # https://developers.google.com/identity/protocols/oauth2/web-server, https://developers.google.com/workspace/gmail/imap/xoauth2-protocol
    GOOGLE: OAuthProvider(
        "Google",
        {
            "issuer": "https://accounts.google.com",
            "authorization_url": "https://accounts.google.com/o/oauth2/v2/auth",
            "token_url": "https://oauth2.googleapis.com/token",
            "userinfo_url": "https://openidconnect.googleapis.com/v1/userinfo",
            "client_authentication": "body",
        },
        {MAIL: ("https://mail.google.com/", "openid", "email")},
        # Google sends a refresh token only with both.
        {"access_type": "offline", "prompt": "consent"},
        console="https://console.cloud.google.com/auth/clients",
    ),
    # https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow,
    # https://learn.microsoft.com/exchange/client-developer/legacy-protocols/how-to-authenticate-an-imap-pop-smtp-application-by-using-oauth
    MICROSOFT: OAuthProvider(
        "Microsoft 365",
        {
            "authorization_url": f"{_LOGIN}/oauth2/v2.0/authorize",
            "token_url": f"{_LOGIN}/oauth2/v2.0/token",
            "userinfo_url": "https://graph.microsoft.com/oidc/userinfo",
            "client_authentication": "body",
        },
        {
            MAIL: (
                "https://outlook.office.com/IMAP.AccessAsUser.All",
                "https://outlook.office.com/SMTP.Send",
                "offline_access",
                "openid",
                "email",
                "profile",
            ),
            GRAPH: (
                "https://graph.microsoft.com/Mail.ReadWrite",
                "https://graph.microsoft.com/Mail.ReadWrite.Shared",
                "https://graph.microsoft.com/Mail.Send",
                "https://graph.microsoft.com/Mail.Send.Shared",
                "offline_access",
                "openid",
                "email",
                "profile",
            ),
        },
        {"prompt": "select_account"},
        renews_with_scope=True,
        console="https://entra.microsoft.com/#view/Microsoft_AAD_RegisteredApps/ApplicationsListBlade",
    ),
    OTHER: OAuthProvider(N_("Another provider")),
}


def with_defaults(values: Mapping[str, str]) -> dict[str, str]:
    """Returns the params of a connected service, with the defaults of its provider. Raises Invalid for a tenant that
    does not fit into an address."""
    tenant = values.get("tenant") or COMMON
    if not _TENANT.match(tenant):
        raise Invalid("the tenant must be its id or one of its domains, such as contoso.example", field="tenant")
    defaults = provider_of(values).params
    return {name: text.replace("{tenant}", tenant) for name, text in defaults.items()} | {
        name: text for name, text in values.items() if text or name not in defaults
    }


def provider_of(values: Mapping[str, str]) -> OAuthProvider:
    """Returns the provider that the params of a connected service name; OTHER for any other name."""
    return PROVIDERS.get(values.get("provider", ""), PROVIDERS[OTHER])


def scopes_for(values: Mapping[str, str], purpose: Purpose) -> tuple[str, ...]:
    """Returns the scopes to request: the provider's for this purpose, or else the ones of the service."""
    return provider_of(values).scopes.get(purpose) or tuple(values.get("scope", "").split())


def missing_scopes(requested: tuple[str, ...], granted: str) -> list[str]:
    """Returns the requested scopes that were not granted. Those of identity do not count, and a provider may name a
    scope with or without the address of its resource.

    >>> missing_scopes(("https://mail.google.com/", "openid"), "openid https://mail.google.com/")
    []
    >>> missing_scopes(("https://graph.microsoft.com/Mail.Send", "x"), "mail.send profile")
    ['x']
    """
    names = {_name(each) for each in re.split(r"[ ,]+", granted) if each}
    return [each for each in requested if each not in IDENTITY and _name(each) not in names]


def _name(scope: str) -> str:
    return scope.lower().rstrip("/").rpartition("/")[2]
