"""Several processes that serve one PostgreSQL database."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TypeVar

from tests import databases
from tests.service import Api, Server

Answer = TypeVar("Answer")


class Processes:
    """Servers on one database, each with its own data folder. nora is the administrator."""

    def __init__(self, folder: Path, count: int, address: str = "", **env: str) -> None:
        """address: their database, set up if it is empty. env: additional environment variables."""
        self._env = {"HELPDESK_DATABASE": address or databases.address_of(folder), **env}
        self._folder = folder
        self.servers = [self.started(0)]
        self.token = self.servers[0].set_up().token
        with ThreadPoolExecutor() as pool:
            self.servers += pool.map(self.started, range(1, count))

    def started(self, number: int) -> Server:
        return Server(self._folder / f"data{number}", env=self._env)

    def api(self, number: int, is_checked: bool = True) -> Api:
        return Api(self.servers[number].url, self.token, is_checked)

    def at_once(self, *calls: Callable[[Api], Answer]) -> list[Answer]:
        """Runs the calls concurrently, each with the Api of the next process in turn, and returns their results."""
        together = Barrier(len(calls))

        def run(number: int, call: Callable[[Api], Answer]) -> Answer:
            api = self.api(number % len(self.servers))
            together.wait(60)
            return call(api)

        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(run, range(len(calls)), calls))

    def stop(self) -> None:
        assert {each.stop() for each in self.servers if each.process.poll() is None} == {0}
