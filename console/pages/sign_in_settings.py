"""People › Sign-in: providers with their client, rules and trial, and whether workers sign in with them only. The rules
are in sign_in/sign_in_provider_setup.py."""

from typing import Any

from console.html.form import Form, sentence
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages.people import SIGN_IN_TABS
from console.pages.provider_pages import begin_trial
from server.access import openid_client
from server.access.openid_client import Metadata
from server.access.sign_in_providers import ClaimRule, SignInProvider
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid
from server.sign_in import claim_rules, provider_sign_in
from server.sign_in import sign_in_provider_setup as setup
from server.sign_in.sign_in_provider_setup import FLAGS, MAX_RULES, ProviderForm
from server.translation import N_, _

BASE = "/admin/people/sign-in"
MAX_OFFERED = 200  # consequences that a rule offers; the names of others can be typed
SPARE_RULES = 3  # blank rows below the rules
FIELDS = ("label", "issuer", "client_id", "client_secret", "scopes", "domains", *FLAGS)
LABELS = {
    "label": N_("Name"),
    "issuer": N_("Issuer"),
    "client_id": N_("Client ID"),
    "client_secret": N_("Client secret"),
    "scopes": N_("Scopes"),
    "domains": N_("Create workers from these domains"),
    "group_ids": N_("Default groups"),
    "mapping": N_("Rules"),
}
TARGETS = {
    claim_rules.ADMINISTRATOR: N_("Administrator"),
    claim_rules.GROUP: N_("Member of {name}"),
    claim_rules.MANAGER: N_("Manager of {name}"),
    claim_rules.ROLE: N_("Role {name}"),
}


@dataclass(frozen=True)
class ProviderPreset:
    """A provider that many use. issuer: with placeholders in braces. steps: what to do there."""

    label: str
    issuer: str
    scopes: str
    steps: tuple[str, ...]


COPY = N_("Copy client ID and client secret into this form.")
PRESETS = {
    "google": ProviderPreset(
        "Google",
        "https://accounts.google.com",
        "openid email profile",
        (
            N_("In the Google Cloud console, open APIs & Services, Credentials."),
            N_("Create an OAuth client ID of the type Web application, and add the redirect address."),
            N_("On the consent screen, choose Internal: only people of your own organization can then sign in."),
            COPY,
        ),
    ),
    "microsoft": ProviderPreset(
        "Microsoft",
        "https://login.microsoftonline.com/{tenant}/v2.0",
        "openid email profile",
        (
            N_("In the Microsoft Entra admin center, open App registrations, New registration."),
            N_("Choose accounts in this directory only, and add the redirect address for the platform Web."),
            N_("In the issuer, enter the Directory (tenant) ID in place of the braces."),
            N_("Under Certificates & secrets, create a client secret, and copy its value."),
            N_("Under Token configuration, add the optional claims email and xms_edov to the ID token."),
            COPY,
        ),
    ),
    "keycloak": ProviderPreset(
        "Keycloak",
        "https://{host}/realms/{realm}",
        "openid email profile",
        (
            N_("In the realm, create a client of the type OpenID Connect with client authentication."),
            N_("Add the redirect address under Valid redirect URIs."),
            N_("For rules about groups, add a mapper of the type Group Membership with the claim name groups."),
            N_("To end sessions here, enter the back-channel logout address under Logout settings."),
            COPY,
        ),
    ),
    "authentik": ProviderPreset(
        "Authentik",
        "https://{host}/application/o/{slug}/",
        "openid email profile",
        (
            N_("Create an application with an OAuth2/OpenID provider of the client type Confidential."),
            N_("Add the redirect address as Strict, and choose a signing key."),
            N_("The issuer ends with the slug of the application and a slash."),
            COPY,
        ),
    ),
    "okta": ProviderPreset(
        "Okta",
        "https://{domain}.okta.com",
        "openid email profile groups",
        (
            N_("Under Applications, create an app integration: OIDC, Web Application."),
            N_("Add the redirect address under Sign-in redirect URIs, and assign the people who may sign in."),
            N_("For rules about groups, add a groups claim filter under Sign On."),
            COPY,
        ),
    ),
    "other": ProviderPreset(
        N_("Another provider"),
        "https://{issuer}",
        "openid email profile",
        (
            N_("Create a client for a web application with the authorization code flow."),
            N_("Add the redirect address, character by character."),
            COPY,
        ),
    ),
}


@page("GET", BASE, "admin")
def show_all(visit: Visit, form: Form | None = None) -> PageResponse:
    """All providers, and how workers sign in."""
    overview = setup.overview(visit.ctx)
    presets = [(key, each.label) for key, each in PRESETS.items()]
    return render(
        visit,
        "sign_in_settings.html",
        form=form or Form(),
        overview=overview,
        presets=presets,
        base=BASE,
        tabs=SIGN_IN_TABS,
    )


@page("POST", f"{BASE}/only", "proven admin")
def set_only(visit: Visit) -> PageResponse:
    """Turns passwords off or on."""
    is_only = visit.form.text("only", "") == "1"
    try:
        setup.set_only(visit.ctx, is_only)
    except HelpdeskError as error:
        return show_all(visit, Form().fail("", sentence(error.message)))
    visit.flash(
        _("Workers now sign in with a provider only.") if is_only else _("Workers may sign in by password again.")
    )
    return see(BASE)


@page("GET", f"{BASE}/new", "proven admin")
def show_new(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form of a new provider, with the steps there."""
    key = _preset(visit)
    preset = PRESETS[key]
    if form is None:
        label = preset.label if key != "other" else ""
        form = Form.from_values({"label": label, "issuer": preset.issuer, "scopes": preset.scopes})
    name = setup.free_name(visit.ctx, key if key != "other" else "oidc")
    return _form(visit, form, key, name, None)


@page("POST", f"{BASE}/new", "proven admin", creates=True)
def create(visit: Visit) -> PageResponse:
    """Adds a provider once its metadata has been read."""
    form = _sent(visit)
    key = _preset(visit)
    try:
        name = setup.free_name(visit.ctx, key if key != "other" else "oidc")
        id = setup.create(visit.ctx, name, key, form.get("issuer"), _settings(visit, form))
    except HelpdeskError as error:
        return show_new(visit, form.refuse(error, (*FIELDS, "group_ids", "mapping")))
    visit.flash(_("Provider added. Sign in on trial, then turn it on."))
    return see(f"{BASE}/{id}")


@page("GET", f"{BASE}/{{id}}", "proven admin")
def show(visit: Visit, form: Form | None = None) -> PageResponse:
    """A provider: its settings, its addresses, and the trial sign-in."""
    provider = setup.one(visit.ctx, visit.id)
    return _form(visit, form or _stored(visit, provider), provider.preset, provider.name, provider)


@page("POST", f"{BASE}/{{id}}", "proven admin")
def save(visit: Visit) -> PageResponse:
    """Changes a provider."""
    form = _sent(visit)
    try:
        provider = setup.change(visit.ctx, visit.id, _settings(visit, form))
    except Invalid as error:
        return show(visit, form.refuse(error, (*FIELDS, "group_ids", "mapping")))
    visit.flash(_("Provider {name} saved.", name=provider.label))
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/try", "proven admin")
def try_out(visit: Visit) -> PageResponse:
    """Leads to the provider, and back with the claims."""
    try:
        return begin_trial(visit, visit.id)
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
        return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/enable", "proven admin")
def enable(visit: Visit) -> PageResponse:
    """Offers a provider on the sign-in page."""
    return _changed(visit, setup.enable, N_("Workers can now sign in with {name}."))


@page("POST", f"{BASE}/{{id}}/disable", "proven admin")
def disable(visit: Visit) -> PageResponse:
    """Offers a provider no more."""
    return _changed(visit, setup.disable, N_("{name} is no longer on the sign-in page."))


@page("POST", f"{BASE}/{{id}}/delete", "proven admin")
def delete(visit: Visit) -> PageResponse:
    """Deletes a provider with its links."""
    return _changed(visit, setup.delete, N_("Provider {name} deleted."), BASE)


@page("POST", f"{BASE}/{{id}}/order", "proven admin")
def order(visit: Visit) -> PageResponse:
    """Moves a provider up or down on the sign-in page."""
    setup.move(visit.ctx, visit.id, visit.form.text("to", ""))
    return see(BASE)


def _changed(visit: Visit, change: Any, message: str, target: str = "") -> PageResponse:
    try:
        provider = change(visit.ctx, visit.id)
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
        return see(f"{BASE}/{visit.id}")
    visit.flash(_(message, name=provider.label))
    return see(target or f"{BASE}/{visit.id}")


def _preset(visit: Visit) -> str:
    key = visit.form.text("preset", "") if visit.is_post else visit.query.text("preset", "")
    return key if key in PRESETS else "other"


def _form(visit: Visit, form: Form, key: str, name: str, provider: SignInProvider | None) -> PageResponse:
    group_names = [(id, name, "") for id, name in lookup.choices(visit, "group", "sort:name")]
    targets = _targets(visit)
    present = [place for place in range(MAX_RULES) if f"claim{place}" in form.values]
    rows = max(len(present), len(provider.mapping) if provider and not present else 0) + SPARE_RULES
    metadata, problem = _metadata(visit, provider)
    return render(
        visit,
        "sign_in_provider.html",
        form=form,
        base=BASE,
        labels=LABELS,
        provider=provider,
        preset=key,
        presets=PRESETS,
        steps=PRESETS.get(key, PRESETS["other"]).steps,
        callback=setup.callback(visit.service, name),
        backchannel=setup.backchannel(visit.service, name),
        signed_out=f"{visit.service.base_url}/sign-in/out",
        groups=group_names,
        targets=list(targets)[:MAX_OFFERED],
        rows=range(min(rows, MAX_RULES)),
        metadata=metadata,
        problem=problem,
        outcome=provider_sign_in.trial_outcome(visit.ctx, provider) if provider and provider.trial_at else None,
        rights=TARGETS,
    )


def _metadata(visit: Visit, provider: SignInProvider | None) -> tuple[Metadata | None, str]:
    """The metadata of a provider, or why it cannot be read."""
    if provider is None:
        return None, ""
    try:
        return openid_client.metadata_of(visit.service, provider.issuer, visit.now), ""
    except HelpdeskError as error:
        return None, sentence(error.message)


def _targets(visit: Visit) -> dict[str, tuple[str, int]]:
    """The offered consequences of claims by their labels: target and id. Labels of equal names get their ids."""
    groups, roles = lookup.choices(visit, "group", "sort:name"), lookup.choices(visit, "role", "sort:name")
    named = ((claim_rules.ROLE, roles), (claim_rules.GROUP, groups), (claim_rules.MANAGER, groups))
    targets = {_(TARGETS[claim_rules.ADMINISTRATOR]): (claim_rules.ADMINISTRATOR, 0)}
    for target, choices in named:
        for id, name in choices:
            label = _(TARGETS[target], name=name)
            targets[label if label not in targets else lookup.numbered(id, label)] = (target, int(id))
    return targets


def _stored(visit: Visit, provider: SignInProvider) -> Form:
    values = {name: getattr(provider, name) for name in ("label", "issuer", "client_id", "scopes")}
    flags = {name: "1" if getattr(provider, name) else "" for name in FLAGS}
    form = Form.from_values(values | flags | {"domains": " ".join(provider.domains)})
    form.several["group_ids"] = [str(id) for id in provider.group_ids]
    labels = {target: label for label, target in _targets(visit).items()}
    for place, rule in enumerate(provider.mapping):
        label = labels.get((rule.target, rule.id), "")  # "" for a group or role that was deleted
        form.values |= {f"claim{place}": rule.claim, f"value{place}": rule.value, f"target{place}": label}
    return form


def _sent(visit: Visit) -> Form:
    names = [f"{part}{place}" for place in range(MAX_RULES) for part in ("claim", "value", "target")]
    present = [name for name in names if name in visit.form]
    return Form.sent(visit.form, (*FIELDS, *present), ("group_ids",))


def _settings(visit: Visit, form: Form) -> ProviderForm:
    """Raises Invalid for unknown groups."""
    known_groups = dict(lookup.choices(visit, "group"))
    if not {*form.several["group_ids"]} <= {*known_groups}:
        raise Invalid(_("choose one from the list"), field="group_ids")
    targets = _targets(visit)
    rules = []
    for place in range(MAX_RULES):
        claim, value, target = (form.text(f"{part}{place}") for part in ("claim", "value", "target"))
        if not claim and not value and not target:
            continue
        if target not in targets:
            raise Invalid(N_("mapping: choose what follows from the claim"), field="mapping")
        rules.append(ClaimRule(claim, value, *targets[target]))
    return ProviderForm(
        form.get("label"),
        form.get("client_id"),
        form.get("client_secret"),
        form.get("scopes"),
        form.get("domains"),
        tuple(map(int, form.several["group_ids"])),
        tuple(rules),
        **{name: form.get(name) == "1" for name in FLAGS},
    )
