"""The attributes of users and groups, and the documents that describe them. Follows RFC 7643, sections 5 to 7.

The same definitions give incoming JSON its canonical names, since attribute names are not case-sensitive."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

from server.dataclass import dataclass
from server.sign_in.provisioned_users import MAX_EMAILS

CORE = "urn:ietf:params:scim:schemas:core:2.0"
USER, GROUP = f"{CORE}:User", f"{CORE}:Group"
MESSAGES = "urn:ietf:params:scim:api:messages:2.0"
LIST, PATCH, ERROR = f"{MESSAGES}:ListResponse", f"{MESSAGES}:PatchOp", f"{MESSAGES}:Error"
READ_ONLY, READ_WRITE = "readOnly", "readWrite"
MAX_RESULTS = 200  # resources in one response
# Attributes of RFC 7643 that a worker does not have. Providers send them by default, so they are ignored, not refused.
IGNORED = frozenset(
    "nickname profileurl usertype preferredlanguage password ims photos addresses entitlements roles x509certificates "
    "honorificprefix honorificsuffix middlename".split()
)
Kind = Literal["string", "boolean", "complex", "reference", "dateTime"]


@dataclass(frozen=True)
class Attribute:
    """An attribute. below: the sub-attributes of a complex one."""

    name: str
    note: str
    kind: Kind = "string"
    is_list: bool = False
    is_required: bool = False
    mutability: str = READ_WRITE
    uniqueness: str = "none"
    is_case_exact: bool = False
    returned: str = "default"
    values: tuple[str, ...] = ()
    below: tuple["Attribute", ...] = ()
    references: tuple[str, ...] = ()

    @property
    def is_read_only(self) -> bool:
        return self.mutability == READ_ONLY

    @cached_property
    def by_name(self) -> dict[str, "Attribute"]:
        """The sub-attributes by their names in lower case."""
        return {each.name.lower(): each for each in self.below}

    def described(self) -> dict[str, Any]:
        """The attribute in the format of RFC 7643, section 7."""
        more: dict[str, Any] = {}
        if self.values:
            more["canonicalValues"] = list(self.values)
        if self.references:
            more["referenceTypes"] = list(self.references)
        if self.below:
            more["subAttributes"] = [each.described() for each in self.below]
        return {
            "name": self.name,
            "type": self.kind,
            "multiValued": self.is_list,
            "description": self.note,
            "required": self.is_required,
            "caseExact": self.is_case_exact,
            "mutability": self.mutability,
            "returned": self.returned,
            "uniqueness": self.uniqueness,
            **more,
        }


_ID = Attribute(
    "id",
    "The id, given by the service.",
    mutability=READ_ONLY,
    uniqueness="server",
    is_case_exact=True,
    returned="always",
)
_EXTERNAL_ID = Attribute("externalId", "The id that the provider gives.", is_case_exact=True)
_META = Attribute(
    "meta",
    "When the resource was created and changed.",
    "complex",
    mutability=READ_ONLY,
    below=(
        Attribute("resourceType", "User or Group.", mutability=READ_ONLY, is_case_exact=True),
        Attribute("created", "When it was created.", "dateTime", mutability=READ_ONLY),
        Attribute("lastModified", "When it was changed.", "dateTime", mutability=READ_ONLY),
        Attribute("location", "Its address.", "reference", mutability=READ_ONLY, references=("uri",)),
        Attribute("version", "Its entity tag.", mutability=READ_ONLY, is_case_exact=True),
    ),
)
_COMMON = (_ID, _EXTERNAL_ID, _META)  # all resources have these, and schemas do not list them (RFC 7643, 3.1)
_OWN_USER = (
    Attribute(
        "userName",
        "The address that the worker signs in with, or another unique name.",
        is_required=True,
        uniqueness="server",
    ),
    Attribute(
        "name",
        "The parts of the name.",
        "complex",
        below=(
            Attribute("formatted", "The full name.", mutability=READ_ONLY),
            Attribute("familyName", "The family name."),
            Attribute("givenName", "The given name."),
        ),
    ),
    Attribute("displayName", "The name to display. Without givenName and familyName, it gives them."),
    Attribute("title", "The job title."),
    Attribute("locale", "Language and region, such as de-CH.", values=("en-US", "en-GB", "de-DE")),
    Attribute("timezone", "The IANA time zone, such as Europe/Zurich.", values=("UTC", "Europe/Berlin")),
    Attribute("active", "False: the worker is deactivated.", "boolean"),
    Attribute(
        "emails",
        f"The email addresses, at most {MAX_EMAILS}.",
        "complex",
        is_list=True,
        below=(
            Attribute("value", "The address."),
            Attribute("type", "The use.", values=("work", "home", "other")),
            Attribute("primary", "Whether it is the main one.", "boolean"),
        ),
    ),
    Attribute(
        "phoneNumbers",
        "The phone numbers of the types work and mobile.",
        "complex",
        is_list=True,
        below=(
            Attribute("value", "The number."),
            Attribute("type", "The use.", values=("work", "mobile")),
        ),
    ),
    Attribute(
        "groups",
        "The groups of the worker; change the groups instead.",
        "complex",
        is_list=True,
        mutability=READ_ONLY,
        below=(
            Attribute("value", "The id of the group.", mutability=READ_ONLY),
            Attribute("$ref", "The address of the group.", "reference", mutability=READ_ONLY, references=("Group",)),
            Attribute("display", "The name of the group.", mutability=READ_ONLY),
        ),
    ),
)
_OWN_GROUP = (
    Attribute("displayName", "The name of the group.", is_required=True, uniqueness="server"),
    Attribute(
        "members",
        "The workers in the group.",
        "complex",
        is_list=True,
        below=(
            Attribute("value", "The id of the worker.", mutability="immutable"),
            Attribute("$ref", "The address of the worker.", "reference", mutability="immutable", references=("User",)),
            Attribute("type", "Always User.", mutability="immutable", values=("User",)),
            Attribute("display", "The name of the worker.", mutability=READ_ONLY),
        ),
    ),
)


@dataclass(frozen=True)
class ResourceType:
    """A type of resource. own: its attributes without those that all resources have."""

    name: str
    path: str
    schema: str
    note: str
    own: Sequence[Attribute]

    @cached_property
    def by_name(self) -> dict[str, Attribute]:
        """All attributes by their names in lower case."""
        return {each.name.lower(): each for each in (*_COMMON, *self.own)}

    def described(self, base: str) -> dict[str, Any]:
        """Its resource of the endpoint ResourceTypes."""
        return {
            "schemas": [f"{CORE}:ResourceType"],
            "id": self.name,
            "name": self.name,
            "endpoint": f"/{self.path}",
            "description": self.note,
            "schema": self.schema,
            "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/{self.name}"},
        }

    def described_schema(self, base: str) -> dict[str, Any]:
        """Its resource of the endpoint Schemas."""
        return {
            "schemas": [f"{CORE}:Schema"],
            "id": self.schema,
            "name": self.name,
            "description": self.note,
            "attributes": [each.described() for each in self.own],
            "meta": {"resourceType": "Schema", "location": f"{base}/Schemas/{self.schema}"},
        }


USERS = ResourceType("User", "Users", USER, "A worker.", _OWN_USER)
GROUPS = ResourceType("Group", "Groups", GROUP, "A group of workers.", _OWN_GROUP)
TYPES = (USERS, GROUPS)


def documents(base: str, help_url: str) -> Iterator[tuple[str, dict[str, Any] | list[dict[str, Any]]]]:
    """Yields the paths of the discovery endpoints with their resources, a list for an endpoint that lists them."""
    yield "ServiceProviderConfig", _config(base, help_url)
    yield "ResourceTypes", [each.described(base) for each in TYPES]
    yield "Schemas", [each.described_schema(base) for each in TYPES]
    for each in TYPES:
        yield f"ResourceTypes/{each.name}", each.described(base)
        yield f"Schemas/{each.schema}", each.described_schema(base)


def _config(base: str, help_url: str) -> dict[str, Any]:
    return {
        "schemas": [f"{CORE}:ServiceProviderConfig"],
        "documentationUri": help_url,
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_RESULTS},
        "changePassword": {"supported": False},
        "sort": {"supported": False},
        "etag": {"supported": True},
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "Provisioning token",
                "description": "A token that an administrator creates under People, Provisioning.",
                "specUri": "https://www.rfc-editor.org/rfc/rfc6750",
                "primary": True,
            }
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{base}/ServiceProviderConfig"},
    }
