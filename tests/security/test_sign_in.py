"""The cost of a sign-in does not reveal who works here: one password is hashed for any name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import argon2
import pytest

from server import passwords
from server.access.lockout import ATTEMPT
from server.access.service_actor import own_context
from server.errors import NotAuthenticated
from server.sign_in import sign_in
from server.sign_in.sign_in import Peer
from tests.records.desk import Desk

PEER = Peer("192.0.2.1", "")
PASSWORD = "correct horse battery"


class Counting:
    """A fast hasher that counts its complete password checks."""

    def __init__(self) -> None:
        self.hasher, self.count = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1), 0

    def hash(self, password: str) -> Any:
        self.count += 1
        return self.hasher.hash(password)

    def verify(self, stored: str, password: str) -> Any:
        self.count += stored.startswith("$argon2id$")  # otherwise nothing is hashed
        return self.hasher.verify(stored, password)


@pytest.fixture(scope="module")
def counting() -> Iterator[Counting]:
    with pytest.MonkeyPatch.context() as patch:
        found = Counting()
        patch.setattr(passwords, "_hasher", found)
        yield found


@pytest.fixture(scope="module")
def desk(counting: Counting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """milo has a password, dora is disabled, rosa may not use hers, olga has none."""
    made = Desk(Path(tmp_path_factory.mktemp("sign-in")))
    made.people()
    made.update("worker", made.found("worker", "firstName:Milo")[0], password=PASSWORD)
    made.update("worker", made.worker("Dora", password=PASSWORD), is_disabled=1)
    made.update("worker", made.worker("Rosa", password=PASSWORD), is_password_disabled=1)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["milo", "dora", "rosa", "olga", "nobody", "", "MILO"])
@pytest.mark.parametrize("password", ["wrong password", "", "x" * 100_000])
def test_a_wrong_sign_in_hashes_one_password(name: str, password: str, desk: Desk, counting: Counting) -> None:
    counting.count = 0
    with pytest.raises(NotAuthenticated) as refused:
        sign_in.by_password(own_context(desk.service), f"{name}@desk.example" if name else "", password, PEER)
    desk.store.write(lambda tx: tx.delete(ATTEMPT))
    assert (counting.count, refused.value.message) == (1, sign_in.WRONG)


@pytest.mark.parametrize("name", ["dora", "rosa"])
def test_a_right_password_without_permission_gets_the_same_message(name: str, desk: Desk) -> None:
    with pytest.raises(NotAuthenticated) as refused:
        sign_in.by_password(own_context(desk.service), f"{name}@desk.example", PASSWORD, PEER)
    assert refused.value.message == sign_in.WRONG
