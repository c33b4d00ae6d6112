"""Who must have a second factor, and from when, with a clock that the tests move."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from server.access import second_factor, totp
from server.context import Context
from server.errors import AdminOnly, Conflict, Invalid
from server.records import records
from server.sign_in import second_factor_policy, security, sign_in
from server.sign_in.second_factor_policy import ADMINISTRATORS, EVERYBODY, NOBODY
from tests.records.desk import NOW, Desk

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
DAY = 86400


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(tmp_path_factory.mktemp("policy"))
    yield made
    made.close()


@pytest.fixture
def people(desk: Desk) -> dict[str, int]:
    """nora, an administrator with a second factor; kim, another without; milo."""
    ids = {name: desk.worker(name.title(), is_superuser=int(name != "milo")) for name in ("nora", "kim", "milo")}
    sign_in.turn_on_code(by(desk, ids["nora"]), SECRET, totp.code(SECRET, NOW // 30))
    return ids


def by(desk: Desk, id: int, days: int = 0) -> Context:
    return replace(desk.context(id), now=NOW + days * DAY)


def states(desk: Desk, nora: int, days: int = 0) -> dict[str, str]:
    return {each.name: each.state for each in second_factor_policy.standings(by(desk, nora, days))}


def is_stopped(desk: Desk, id: int, days: int) -> bool:
    return security.lacks_second_factor(desk.service, id, NOW + days * DAY)


def test_grace_begins_when_the_policy_covers_a_worker(desk: Desk, people: dict[str, int]) -> None:
    nora, kim, milo = people.values()
    assert states(desk, nora) == {"Nora": "done", "Kim": "missing", "Milo": "missing"}
    second_factor_policy.change(by(desk, nora), ADMINISTRATORS, 7)
    assert states(desk, nora) == {"Nora": "done", "Kim": "grace", "Milo": "missing"}
    assert [is_stopped(desk, kim, days) for days in (6, 7)] == [False, True] and not is_stopped(desk, milo, 999)
    second_factor_policy.change(by(desk, nora, 5), EVERYBODY, 7)
    assert states(desk, nora, 8) == {"Nora": "done", "Kim": "overdue", "Milo": "grace"}
    assert [is_stopped(desk, milo, days) for days in (11, 12)] == [False, True]
    assert list(states(desk, nora, 8)) == ["Kim", "Milo", "Nora"]  # the most urgent first
    second_factor_policy.change(by(desk, nora, 5), EVERYBODY, 0)
    assert is_stopped(desk, milo, 5)
    second_factor_policy.change(by(desk, nora, 6), NOBODY, 0)
    assert not is_stopped(desk, milo, 6) and not is_stopped(desk, kim, 6)


def test_a_new_worker_has_the_days_of_grace_as_well(desk: Desk, people: dict[str, int]) -> None:
    second_factor_policy.change(by(desk, people["nora"], -30), EVERYBODY, 7)
    late = desk.worker("Late")
    assert [is_stopped(desk, late, days) for days in (6, 7)] == [False, True]
    desk.update("worker", late, is_mfa_required=1)
    assert is_stopped(desk, late, 0)  # at once, since it is required of this worker


@pytest.mark.parametrize(("who", "first_day_without"), [(ADMINISTRATORS, 27), (EVERYBODY, 7)])
def test_a_worker_who_becomes_an_administrator_has_the_days_of_grace_once(
    desk: Desk, people: dict[str, int], who: str, first_day_without: int
) -> None:
    second_factor_policy.change(by(desk, people["nora"]), who, 7)
    records.update(by(desk, people["nora"], 20), "worker", people["milo"], {"is_superuser": 1})
    days = range(first_day_without - 1, first_day_without + 1)
    assert [is_stopped(desk, people["milo"], each) for each in days] == [False, True]


def test_who_has_no_factor_cannot_require_one_of_others(desk: Desk, people: dict[str, int]) -> None:
    with pytest.raises(Conflict, match="for yourself first"):
        second_factor_policy.change(by(desk, people["kim"]), EVERYBODY, 7)
    second_factor_policy.change(by(desk, people["nora"]), EVERYBODY, 7)
    second_factor_policy.change(by(desk, people["kim"]), NOBODY, 7)  # but can end it
    for context, who, days, error in (
        (by(desk, people["milo"]), NOBODY, 7, AdminOnly), (by(desk, people["nora"]), "friends", 7, Invalid),
        (by(desk, people["nora"]), NOBODY, -1, Invalid), (by(desk, people["nora"]), NOBODY, 91, Invalid),
    ):  # fmt: skip
        with pytest.raises(error):
            second_factor_policy.change(context, who, days)
    with pytest.raises(AdminOnly):
        second_factor_policy.standings(by(desk, people["milo"]))


def test_the_last_factor_stays_while_it_is_required(desk: Desk, people: dict[str, int]) -> None:
    nora = by(desk, people["nora"])
    second_factor_policy.change(nora, ADMINISTRATORS, 30)
    with pytest.raises(Conflict, match="Set up another one first"):
        sign_in.turn_off_code(nora)
    assert desk.read(lambda tx: second_factor.recovery_codes_left(tx, nora.actor.worker_id)) == 10
    second_factor_policy.change(nora, NOBODY, 30)
    sign_in.turn_off_code(nora)
    assert not security.has_second_factor(nora)


def test_the_policy_is_in_the_activity_log(desk: Desk, people: dict[str, int]) -> None:
    for _ in range(2):  # the second time changes nothing, so nothing is logged
        second_factor_policy.change(by(desk, people["nora"]), ADMINISTRATORS, 7)
    changes = [each["params"]["variables"] for each in desk.log("setting.changed")]
    assert [(each["setting"], each["old"], each["new"]) for each in changes] == [
        ("second_factor_policy", "nobody", "administrators, 7 days of grace")
    ]


def test_workers_who_cannot_sign_in_are_not_listed(desk: Desk, people: dict[str, int]) -> None:
    desk.update("worker", people["milo"], is_password_disabled=1)
    desk.update("worker", people["kim"], is_disabled=1)
    assert list(states(desk, people["nora"])) == ["Nora"]
