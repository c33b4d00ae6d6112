"""Store-local values: one per store, and per version where that is declared."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from server.store.schema import open_store
from server.store.store_local import StoreLocal, VersionedLocal
from tests.store.conftest import TABLES, WORDS


def test_each_store_has_a_value_of_its_own(tmp_path: Path) -> None:
    names: StoreLocal[str] = StoreLocal()
    one, other = (open_store(tmp_path / name, TABLES, [WORDS]) for name in ("one.db", "other.db"))
    names.set(one, "one")
    assert (names.get(one), names.get(other), StoreLocal[str]().get(one)) == ("one", None, None)
    names.clear(one)
    names.clear(other)
    assert names.get(one) is None
    one.close()
    other.close()


def test_all_that_ask_at_once_get_the_same(tmp_path: Path) -> None:
    lists: StoreLocal[list[int]] = StoreLocal()
    store, together = open_store(tmp_path / "a.db", TABLES, [WORDS]), Barrier(8)

    def ask(number: int) -> list[int]:
        together.wait()
        return lists.made(store, lambda: [number])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert all(each is found[0] for each in found)
    store.close()


def test_an_empty_value_is_a_value(tmp_path: Path) -> None:
    lists: StoreLocal[list[int]] = StoreLocal()
    store = open_store(tmp_path / "a.db", TABLES, [WORDS])
    first = lists.made(store, list)
    assert lists.made(store, list) is first
    store.close()


def test_a_value_of_another_version_is_ignored(tmp_path: Path) -> None:
    counts: VersionedLocal[int] = VersionedLocal()
    store = open_store(tmp_path / "a.db", TABLES, [WORDS])
    counts.set(store, 3, 0)
    assert (counts.get(store, 3), counts.get(store, 4), counts.get(store, 2)) == (0, None, None)
    store.close()
