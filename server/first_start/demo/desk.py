"""The people of the demo, from resources/demo/desk.toml: workers, customers, and records that they use."""

import re
import tomllib
import unicodedata
from functools import cache
from typing import Any

from server import resources
from server.dataclass import dataclass
from server.mail.addresses import DEMO_DOMAIN
from server.record_types.calendars.holidays import Holiday
from server.record_types.calendars.holidays import read as read_holidays

OWN_HOST = f"desk.{DEMO_DOMAIN}"


@dataclass(frozen=True, slots=True)
class Person:
    """A person. org: "" for a private customer."""

    name: str
    email: str
    title: str = ""
    org: str = ""

    @property
    def first_name(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def last_name(self) -> str:
        return self.name.partition(" ")[2]


@dataclass(frozen=True, slots=True)
class DemoWorker(Person):
    """A worker of the demo. groups: {name: member or manager}."""

    location: str = ""
    timezone: str = "UTC"
    groups: tuple[tuple[str, str], ...] = ()


@cache
def content() -> dict[str, Any]:
    """Returns the content of the file."""
    return tomllib.loads(resources.path("demo", "desk.toml").read_text("utf-8"))


@cache
def workers() -> tuple[DemoWorker, ...]:
    """Returns the workers of the demo."""
    return tuple(
        DemoWorker(
            each["name"],
            f"{_mailbox(each['name'])}@{OWN_HOST}",
            each["title"],
            "",
            each["location"],
            each["timezone"],
            tuple(each["groups"].items()),
        )
        for each in content()["worker"]
    )


def members(group: str) -> tuple[DemoWorker, ...]:
    """Returns the workers of a group."""
    return tuple(each for each in workers() if group in dict(each.groups))


@cache
def customers() -> dict[str, tuple[Person, ...]]:
    """Returns the customers by their kind in the stories: shop, rider, sales, spam."""
    shops = [
        _person(*line.split(", "), host=org["host"], org=org["name"])
        for org in content()["org"]
        for line in org["people"]
    ]
    others = {
        kind: tuple(_person(name, host=content()[kind]["host"]) for name in content()[kind]["people"])
        for kind in ("rider", "sales", "spam")
    }
    return {"shop": tuple(shops), **others}


@cache
def holidays() -> tuple[Holiday, ...]:
    """Returns the days of each year on which the desk is closed."""
    return tuple(read_holidays("\n".join(content()["holidays"])))


@cache
def cities() -> dict[str, str]:
    """Returns {organization: city}."""
    return {each["name"]: each["city"] for each in content()["org"]}


def _person(name: str, title: str = "", *, host: str, org: str = "") -> Person:
    mailbox = _mailbox(name) if not org else _mailbox(name.partition(" ")[0])
    return Person(name, f"{mailbox}@{host}.{DEMO_DOMAIN}", title, org)


def _mailbox(name: str) -> str:
    """
    >>> _mailbox("Chloé de Wit")
    'chloe.de.wit'
    """
    plain = unicodedata.normalize("NFKD", name.lower().replace("ø", "o")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", ".", plain).strip(".")
