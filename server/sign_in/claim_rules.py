"""Claims of sign-in providers, and what follows from them: the person's name and address, groups, roles, and the
administrator right. Only what a rule of the provider names is changed, and at each sign-in."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from server.access.sign_in_providers import ClaimRule, SignInProvider
from server.dataclass import dataclass
from server.errors import Conflict
from server.people import rosters
from server.printable import printable
from server.records.writing import RecordWriter

ADMINISTRATOR, GROUP, MANAGER, ROLE = TARGETS = ("administrator", "group", "group manager", "role")
MAX_VALUES = 1000  # compared values of one claim
MAX_CLAIM_CHARS = 200
MAX_SHOWN_CHARS = 300  # shown value of a claim
MAX_SHOWN_CLAIMS = 60
_LOCALE = re.compile(r"([a-z]{2})[-_]([A-Z]{2})\Z")
_FLAGS = {True: "true", False: "false"}
# Claims about the token itself, which say nothing about the person.
_OF_TOKEN = frozenset("acr amr at_hash aud auth_time azp exp iat iss jti nbf nonce rt_hash s_hash sid".split())


@dataclass(frozen=True, slots=True)
class ClaimedPerson:
    """The person behind claims. email: lower case, "" if there is none; is_verified: whether the provider vouches for
    it. account: the name to show for the account."""

    first_name: str
    last_name: str
    email: str
    is_verified: bool
    language: str
    account: str


def person_of(provider: SignInProvider, claims: Mapping[str, Any]) -> ClaimedPerson:
    """Returns the person. A provider that does not say whether an address is verified counts as saying no, unless the
    administrator trusts its addresses."""
    email = _text(claims, "email").lower()
    first, last = _text(claims, "given_name"), _text(claims, "family_name")
    if not first:
        first, _, rest = (_text(claims, "name") or email.partition("@")[0]).partition(" ")
        last = last or rest.strip()
    locale = _LOCALE.match(_text(claims, "locale"))
    account = email or _text(claims, "preferred_username") or _text(claims, "name") or str(claims.get("sub", ""))
    return ClaimedPerson(
        first[:128],
        last[:128],
        email if "@" in email else "",
        _is_verified(provider, claims),
        f"{locale[1]}_{locale[2]}" if locale else "",
        account[:MAX_CLAIM_CHARS],
    )


def _is_verified(provider: SignInProvider, claims: Mapping[str, Any]) -> bool:
    """Whether the address of the claims belongs to the person. `xms_edov` is Microsoft's word for it."""
    stated = claims.get("email_verified", claims.get("xms_edov"))
    if stated is None:
        return provider.trusts_email
    return stated in (True, "true", 1, "1")


def values_of(claims: Mapping[str, Any], name: str) -> list[str]:
    """Returns the values of a claim as texts: of the claim with this name, else along the path with dots.

    >>> values_of({"realm_access": {"roles": ["a", 1]}, "is_lead": True}, "realm_access.roles")
    ['a', '1']
    >>> values_of({"is_lead": True}, "is_lead"), values_of({"https://a.example/role": "x"}, "https://a.example/role")
    (['true'], ['x'])
    """
    value: Any = claims.get(name)
    if name not in claims:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    items = value if isinstance(value, list) else [value]
    return [text for each in items[:MAX_VALUES] if (text := _scalar(each))]


def missing_names(provider: SignInProvider, claims: Mapping[str, Any], needs_person: bool) -> bool:
    """Whether claims that a sign-in needs are missing, so that the userinfo endpoint is worth a request."""
    names = {rule.claim for rule in provider.mapping} | ({"email"} if needs_person else set())
    return any(not values_of(claims, name) for name in names)


def matches(rule: ClaimRule, claims: Mapping[str, Any]) -> bool:
    """Whether a rule applies: letters count as they are written. A rule for `*` needs any value."""
    values = values_of(claims, rule.claim)
    return bool(values) if rule.value == "*" else rule.value in values


def about_person(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the claims without those about the token itself."""
    return {name: value for name, value in claims.items() if name not in _OF_TOKEN}


def shown_claims(claims: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the claims about the person, as the page of a trial sign-in shows them."""
    names = sorted(about_person(claims))[:MAX_SHOWN_CLAIMS]
    return [(name[:MAX_CLAIM_CHARS], _shown(claims[name])[:MAX_SHOWN_CHARS]) for name in names]


def outcome(provider: SignInProvider, claims: Mapping[str, Any]) -> dict[tuple[str, int], bool]:
    """Returns {(target, id): whether the person is to have it} for everything that rules name."""
    rights: dict[tuple[str, int], bool] = {}
    for rule in provider.mapping:
        key = (rule.target, rule.id)
        rights[key] = rights.get(key, False) or matches(rule, claims)
    return rights


def apply(writing: RecordWriter, provider: SignInProvider, claims: Mapping[str, Any], worker_id: int) -> None:
    """Gives the worker what the rules say, and takes what they no longer say. The last administrator stays one."""
    rights = outcome(provider, claims)
    changes: dict[int, dict[int, str]] = {}
    for group_id in dict.fromkeys(id for target, id in rights if target in (GROUP, MANAGER)):
        if writing.record("group", group_id) is not None:
            is_manager = rights.get((MANAGER, group_id), False)
            is_member = rights.get((GROUP, group_id), False)
            part = rosters.MANAGER if is_manager else rosters.MEMBER if is_member else rosters.REMOVE
            changes[group_id] = {worker_id: part}
    rosters.change_rosters(writing, changes)
    for target, id in rights:
        role = writing.record("role", id) if target == ROLE else None
        if role is not None:
            rosters.grant_role(writing, role, worker_id, rights[target, id])
    if (ADMINISTRATOR, 0) in rights:
        _set_administrator(writing, worker_id, rights[ADMINISTRATOR, 0])


def join(writing: RecordWriter, group_ids: Sequence[int], worker_id: int) -> None:
    """Makes a new worker a member of the default groups that still exist."""
    present = [id for id in group_ids if writing.record("group", id) is not None]
    rosters.change_rosters(writing, {id: {worker_id: rosters.MEMBER} for id in present})


def _set_administrator(writing: RecordWriter, worker_id: int, is_wanted: bool) -> None:
    worker = writing.record("worker", worker_id)
    if worker is None or bool(worker["is_superuser"]) == is_wanted:
        return
    workers = writing.ctx.service.registry.type("worker")

    def change(tx: object) -> None:
        writing.update_sent(workers, worker_id, {"is_superuser": str(int(is_wanted))})

    try:
        writing.tx.part(change)
    except Conflict:
        return  # the last administrator stays one


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    plain = printable(value[:1000]) if isinstance(value, str) else ""
    return " ".join(plain.split())[:MAX_CLAIM_CHARS]


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return _FLAGS[value]
    return str(value) if isinstance(value, (str, int, float)) else ""


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value[:MAX_VALUES])
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_shown(each)}" for name, each in list(value.items())[:MAX_SHOWN_CLAIMS])
    return _scalar(value)
