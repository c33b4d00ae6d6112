"""Our dataclass decorator does what the decorator of the standard library does."""

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from server.dataclass import dataclass as ours
from tests.service import ROOT

FROZEN = {"frozen": True}
SLOTS = {"frozen": True, "slots": True}
BY_NAME = {"frozen": True, "slots": True, "kw_only": True}
OPTIONS = ({}, FROZEN, SLOTS, BY_NAME, {"slots": True}, {"eq": False}, {"frozen": True, "eq": False})
NAMES = {"path": "a", "count": 2}


def test_all_dataclasses_are_made_by_it():
    """A dataclass of the standard library refuses to inherit from ours, which it considers mutable."""
    files = [file for folder in ("server", "console") for file in (ROOT / folder).rglob("*.py")]
    others = [
        str(file.relative_to(ROOT))
        for file in files
        if re.search(r"^from dataclasses import .*\bdataclass\b", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert others == [], "write: from server.dataclass import dataclass"


def made(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    @decorator(**options)
    class Place:
        """A location."""

        kinds: ClassVar[int] = 3
        path: str
        count: int = 1
        lines: list[str] = field(default_factory=list, hash=False)
        seen: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

        def twice(self) -> int:
            return self.count * 2

    return Place


def outcome(work: Callable[[], Any]) -> Any:
    """The result of the call, or the error that it raises."""
    try:
        return work()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "work",
    (
        lambda cls: repr(cls(**NAMES)),
        lambda cls: cls("a", 2).count,
        lambda cls: cls(),
        lambda cls: cls("a", 1, [], {}, 5),
        lambda cls: cls(path="a", size=1),
        lambda cls: cls(**NAMES) == cls(**NAMES),
        lambda cls: cls(**NAMES) == cls(path="a"),
        lambda cls: cls(**NAMES) == cls(**NAMES, seen={"x": 1}),
        lambda cls: cls(**NAMES) == NAMES,
        lambda cls: len({hash(each) for each in [cls(**NAMES), cls(**NAMES)]}),  # both exist at once
        lambda cls: len({cls(**NAMES), cls(**NAMES)}),
        lambda cls: setattr(cls(**NAMES), "path", "b"),
        lambda cls: delattr(cls(**NAMES), "path"),
        lambda cls: cls(**NAMES).lines is cls(**NAMES).lines,
        lambda cls: cls(**NAMES).twice(),
        lambda cls: dataclasses.asdict(cls(**NAMES)),
        lambda cls: dataclasses.replace(cls(**NAMES), count=5).count,
        lambda cls: dataclasses.replace(cls(**NAMES), size=5),
        lambda cls: copy.copy(cls(**NAMES)).count,
        lambda cls: copy.deepcopy(cls(**NAMES, lines=["a"])).lines,
        lambda cls: [each.name for each in dataclasses.fields(cls)],
        lambda cls: (cls.__match_args__, cls.__doc__, cls.__name__, hasattr(cls, "__slots__")),
        lambda cls: hasattr(cls(**NAMES), "__dict__"),
    ),
)
def test_it_does_what_the_standard_library_does(options, work):
    place, other = made(ours, options), made(dataclasses.dataclass, options)
    for _ in range(2):  # a different function creates the first instance
        assert outcome(lambda: work(place)) == outcome(lambda: work(other))


@ours(frozen=True)
class Base:
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())


@ours(frozen=True)
class Further(Base):
    size: int = 2

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Further) and other.size == self.size

    def __hash__(self) -> int:
        return self.size


class Plain(Base):
    """A class without the decorator."""


@ours(frozen=True, slots=True)
class Kept:
    name: str
    values: tuple[int, ...] = ()


@ours(slots=True)
class Later:
    name: str = field(init=False)
    size: int = field(init=False, default=3)
    lines: list[str] = field(init=False, default_factory=list)


def test_a_class_made_of_another_has_its_fields_and_keeps_what_it_says_itself():
    assert (Further(" a ").name, Further("a", 3).size) == ("a", 3)
    assert (repr(Further("a")), Further("a") == Further("b"), hash(Further("a", 7))) == ("<a>", True, 7)
    assert Base("a") != Further("a")


def test_a_plain_class_made_of_a_frozen_one_may_have_more():
    plain: Any = Plain(" a ")
    plain.more = 1
    assert (plain.name, plain.more, Base("a").name) == ("a", 1, "a")
    with pytest.raises(FrozenInstanceError):
        plain.name = "b"


def test_a_frozen_one_with_slots_takes_no_other_attribute_and_can_be_pickled():
    with pytest.raises(FrozenInstanceError):  # where the standard library reports that a value is not a type
        setattr(Kept("a"), "other", 1)  # noqa: B010, the type checker would refuse it
    assert pickle.loads(pickle.dumps(Kept("a", (1, 2)))) == Kept("a", (1, 2))  # noqa: S301


def test_fields_that_are_not_given_at_first():
    later = Later()
    assert (later.size, later.lines, hasattr(later, "name")) == (3, [], False)
    later.name = "a"
    assert repr(later) == "Later(name='a', size=3, lines=[])".replace("Later", Later.__qualname__)


def test_one_that_holds_itself_can_be_shown():
    one = made(ours, {})("a")
    one.lines.append(one)
    assert "..." in repr(one)
