"""Passwords are stored as slow hashes."""

import asyncio
import subprocess
import sys
import threading

import argon2
import pytest

from server import passwords
from server.errors import TooMany
from tests.console.visitor import Visitor
from tests.service import PASSWORD, ROOT, Api
from tests.watched import off_the_loop


def test_a_hash_knows_its_password_and_no_other():
    stored = passwords.hash("correct horse")
    assert stored.startswith("$argon2id$") and "horse" not in stored
    assert passwords.verify(stored, "correct horse")
    assert not passwords.verify(stored, "Correct horse")
    assert not passwords.verify(stored, "x" * 100_000)
    assert stored != passwords.hash("correct horse")
    assert not passwords.needs_rehash(stored)


def test_what_is_no_hash_has_no_password():
    for stored in ("", "x", "$argon2id$v=19$m=65536,t=3,p=1$x"):
        assert not passwords.verify(stored, "") and passwords.needs_rehash(stored)


def test_a_hash_with_weaker_parameters_is_made_again():
    weak = argon2.PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash("correct horse")
    assert passwords.verify(weak, "correct horse") and passwords.needs_rehash(weak)


def test_a_hash_does_not_show_itself():
    assert "secret" not in repr(passwords.HashedPassword("secret"))


def test_so_many_hashings_run_at_once_at_most(monkeypatch):
    running, most, lock, gate = [], [], threading.Lock(), threading.Event()

    def slow(password):
        with lock:
            running.append(password)
            most.append(len(running))
            if len(running) == passwords.AT_ONCE:
                gate.set()
        gate.wait(60)
        with lock:
            running.remove(password)
        return "hash"

    monkeypatch.setattr(type(passwords._hasher), "hash", lambda self, password: slow(password))
    threads = [threading.Thread(target=passwords.hash, args=(str(number),)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert max(most) == passwords.AT_ONCE


@pytest.mark.parametrize(("name", "on_a_loop", "answer"), [
    ("anybody", False, "X"),
    ("anybody", True, "a password is hashed on the event loop"),
    ("writer", False, "a password is hashed by the writer"),
    ("console_3", False, "a password is hashed where pages are waited for"),
    ("worker_0", False, "a password is hashed where pages are waited for"),
    ("password_0", False, "X"),
])  # fmt: skip
def test_who_hashes_where_others_wait_is_seen(name, on_a_loop, answer):
    watched, told = off_the_loop(str.upper), []

    def work():
        try:
            told.append(watched("x"))
        except AssertionError as error:
            told.append(str(error))

    async def on_the_loop():
        work()

    # On a separate thread: the thread of the tests may have an event loop, which drives the browser.
    thread = threading.Thread(target=lambda: asyncio.run(on_the_loop()) if on_a_loop else work(), name=name)
    thread.start()
    thread.join()
    assert told == [answer]


@pytest.fixture
def no_place(monkeypatch):
    """Fills the queue."""
    places = threading.BoundedSemaphore(1)
    monkeypatch.setattr(passwords, "_places", places)
    with places:
        yield


def test_a_full_queue_responds_with_retry_after(no_place):
    for call in (lambda: passwords.hash("x" * 8), lambda: passwords.verify("", "x")):
        with pytest.raises(TooMany, match="Try again") as told:
            call()
        assert told.value.details["retry_after"] == passwords.RETRY_SECONDS


def test_a_place_is_for_all_that_is_hashed_in_it(monkeypatch):
    places = threading.BoundedSemaphore(1)
    monkeypatch.setattr(passwords, "_places", places)
    with passwords.place():
        assert passwords.verify(passwords.hash("correct horse"), "correct horse")
    assert places.acquire(blocking=False)


def test_no_request_hashes_on_the_loop_or_the_writer(api: Api) -> None:
    """The server of the tests responds with 500 if a hash is computed there."""
    fields = {"first_name": "Pia", "email": "pia@desk.example", "language": "en_US", "timezone": "UTC"}
    id = api.create("worker", password=PASSWORD, **fields).ok()["id"]
    api.update("worker", id, password=PASSWORD + "2").ok()
    api.upsert("worker", f"id:{id}", password=PASSWORD + "3").ok()
    visitor = Visitor(api.url)
    assert visitor.sign_in("pia@desk.example", PASSWORD).status_code == 422
    assert visitor.sign_in("pia@desk.example", PASSWORD + "3").status_code == 303
    api.remove("worker", id).ok()


def test_what_the_service_hashes_with_is_slow() -> None:
    """Hashes are cheap in the tests (cheap.py), so this uses a process started like the service."""
    code = "from server import passwords; print(passwords.hash('correct horse'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found = argon2.extract_parameters(done.stdout.strip())
    assert (found.memory_cost, found.time_cost, found.parallelism) == (65_536, 3, 1)
    assert (found.hash_len, found.salt_len, found.type) == (32, 16, argon2.Type.ID)
    assert passwords.needs_rehash(done.stdout.strip()), "the cheap hashes of tests are in force here"
