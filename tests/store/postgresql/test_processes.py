"""Several processes on one database do not disturb each other."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service import Api, Reply
from tests.store.postgresql.several import Processes

TRIES = 12


def mail(sender: str, subject: str, **more: str) -> str:
    head = {"From": f"{sender}@larch.example", "To": "support@desk.example", "Subject": subject, **more}
    return "".join(f"{name}: {value}\r\n" for name, value in head.items()) + "\r\nThe pump leaks.\r\n"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    made = Processes(tmp_path_factory.mktemp("two"), 2)
    yield made
    made.stop()


def test_an_upsert_by_two_makes_one_record(two: Processes) -> None:
    for number in range(TRIES):
        name = f"Upsert {number}"
        answers = two.at_once(
            *[lambda api, name=name: api.upsert("org", f'name:"{name}"', name=name) for _ in two.servers]
        )
        assert len({each.ok()["id"] for each in answers}) == 1
        assert two.api(0).search("org", f'name:"{name}"').ok()["total"] == 1


def test_a_unique_value_is_given_once(two: Processes) -> None:
    for number in range(TRIES):
        email = f"unique{number}@larch.example"
        answers = two.at_once(*[lambda api, email=email: api.create("address", email=email) for _ in two.servers])
        assert sorted(each.status == 200 for each in answers) == [False, True], answers
        assert two.api(1).search("address", f"email:{email}").ok()["total"] == 1


def test_a_mail_that_both_get_makes_one_ticket(two: Processes) -> None:
    for number in range(TRIES):
        raw = mail("ana", f"Twice {number}", **{"Message-ID": f"<twice{number}@larch.example>"})
        for each in two.at_once(*[lambda api, raw=raw: api.parse(raw) for _ in two.servers]):
            each.ok()
        assert two.api(0).search("ticket", f'subject:"Twice {number}"').ok()["total"] == 1
        assert two.api(0).search("message", f'ticket:(subject:"Twice {number}")').ok()["total"] == 1


def test_tickets_have_masks_and_numbers_of_their_own(two: Processes) -> None:
    def ten(api: Api) -> Reply:
        for number in range(10):
            last = api.parse(mail(f"b{api.url[-5:]}x{number}".replace(":", ""), "Mask"))
            last.ok()
        return last

    two.at_once(ten, ten)
    found = two.api(0).search("ticket", "subject:Mask", limit=500).ok()["results"]
    assert len({each["mask"] for each in found}) == len({each["id"] for each in found}) == 20


def test_two_merges_the_other_way_round_leave_one_ticket(two: Processes) -> None:
    for number in range(TRIES // 2):
        ids = [two.api(0).parse(mail(f"m{number}", f"{side}{number}")).ok()["id"] for side in ("Left", "Right")]
        two.at_once(
            lambda api, ids=ids: api.post("/rest/tickets/merge.json", **{"ticket_ids[]": ids}),
            lambda api, ids=ids: api.post("/rest/tickets/merge.json", **{"ticket_ids[]": ids[::-1]}),
        )
        counts = [two.api(1).search("message", f"ticket.id:{id}").ok()["total"] for id in ids]
        assert counts == [2, 0]  # the older value remains


def test_a_counter_rises_by_each(two: Processes) -> None:
    """A counter of changes loses no increment, and each process sees every one."""
    id = two.api(0).create("task", title="Counted").ok()["id"]

    def add_comment(number: int) -> None:
        two.api(number % 2).create("comment", target__context="task", target_id=id, comment=f"note {number}").ok()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_comment, range(24)))
    for number in range(2):
        assert two.api(number).search("comment", f"on.task:(id:{id})").ok()["total"] == 24


def test_two_tickets_at_the_same_moment_do_not_exceed_a_capacity(two: Processes) -> None:
    first = two.api(0)
    group = first.create("group", name="Turns", assign_way="round_robin", assign_max_open=4).ok()["id"]
    people = {"language": "en_US", "timezone": "UTC"}
    workers = [
        first.create("worker", first_name=name, email=f"{name}@larch.example", **people).ok()["id"]
        for name in ("lena", "paul")
    ]
    first.update("group", group, members={"member": ",".join(map(str, workers))}).ok()
    for _ in range(TRIES // 2):
        two.at_once(*[lambda api: api.create("ticket", subject="Boat", group_id=group) for _ in two.servers])
    found = two.api(1).search("ticket", f"group.id:{group}", limit=50).ok()["results"]
    assert Counter(each["owner_id"] for each in found) == {workers[0]: 4, workers[1]: 4, 0: 4}


@pytest.mark.parametrize("ending", ["disabled", "admin no more"])
def test_what_a_token_may_no_longer_is_refused_at_once_by_both(two: Processes, ending: str) -> None:
    """A process starts from the permissions that it last read, and checks them in the turn of the write."""
    first, second = two.api(0), two.api(1, is_checked=False)
    made = first.create(
        "worker",
        first_name="Kim",
        email=f"kim-{ending.replace(' ', '-')}@larch.example",
        is_superuser=1,
        language="en_US",
        timezone="UTC",
    ).ok()
    token = first.post("/rest/oauth/tokens/create.json", worker_id=made["id"], expires="1 day").ok()["access_token"]
    kim = Api(second.url, token, False)
    for number in range(3):
        assert kim.create("group", name=f"{ending} {number}").status == 200
    if ending == "disabled":
        first.update("worker", made["id"], is_disabled=1).ok()
    else:
        first.update("worker", made["id"], is_superuser=0).ok()
    for number in range(3):
        assert kim.create("group", name=f"{ending} late {number}").status == (401 if ending == "disabled" else 403)
    assert first.search("group", f'name:"{ending} late*"').ok()["total"] == 0
