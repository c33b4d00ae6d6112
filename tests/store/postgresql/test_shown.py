"""Three processes behind a balancer without sticky sessions show what one process shows, although one of them is
killed: the tours of the help, and a day of support in a browser."""

import doctest
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests import databases
from tests.balancer import Balancer
from tests.console.browser import Browser
from tests.console.test_support_day import SETTINGS, DeskOfMilo, a_day
from tests.outbound.peer import HOST
from tests.service import Api, Server
from tests.smtp_server import SmtpServer
from tests.store.postgresql.several import Processes
from tests.test_tour import (
    CURLS,
    FIRST,
    MAIL_PORT,
    PEER_PORT,
    SECOND,
    SERVICE_PORT,
    Tour,
    checkout,
    environment,
    running,
    typed,
)  # fmt: skip

# Browser messages about the end of the serving process: its page updates arrive on that response, and a moment later
# from another process. A sign of presence may be under way as well; the next one follows by itself.
CUT = (
    r"net::ERR_(?:FAILED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)"
    r"|status of 502 \(Bad Gateway\) \(\S+/presence\)"
)


@pytest.mark.parametrize(("chapter", "program", "port"), [
    (FIRST, "mailbox", MAIL_PORT), (SECOND, "peer", PEER_PORT),
])  # fmt: skip
def test_the_tours_of_three_processes(chapter: str, program: str, port: str, tmp_path: Path) -> None:
    tour, folder = Tour(chapter, SERVICE_PORT, port), checkout(tmp_path, CURLS[0])
    data = folder / "tour" / "data"
    data.mkdir(parents=True)
    env = {"HELPDESK_DATABASE": databases.address_of(data), "HELPDESK_OUTBOUND_ALLOW": HOST}
    env["HELPDESK_STARTER_PACKAGE"] = "yes"  # same as in the tour
    middle, steps = len(tour.steps) // 2, [text for text, _ in tour.steps]
    with ExitStack() as stack:
        servers = [Server(folder / name, env=env) for name in ("one", "two", "three")]
        for each in servers:
            stack.callback(each.stop)
        balancer = stack.enter_context(Balancer([each.url for each in servers], int(tour.ports[SERVICE_PORT])))
        stack.enter_context(running(tour, program, port, folder))
        steps.insert(middle, f"kill -9 {servers[0].process.pid}")
        shown = typed(steps, folder, environment(tour) | env)
    assert shown.pop(middle) == ""
    compared = doctest.OutputChecker()
    for (text, expected), got in zip(tour.steps, shown, strict=True):
        assert compared.check_output(expected, got, doctest.ELLIPSIS), f"{text}\nshows:\n{got}\nnot:\n{expected}"
    assert set(balancer.answered) == {each.url for each in servers}
    assert [each.process.returncode for each in servers] == [-signal.SIGKILL, 0, 0]


def test_a_day_at_the_desk_of_three_processes(tmp_path: Path) -> None:
    three, chromium = Processes(tmp_path, 3, **SETTINGS), Browser()
    try:
        with Balancer([each.url for each in three.servers]) as balancer, SmtpServer() as smtp:
            nora = Api(balancer.url, three.token)
            milos = DeskOfMilo(tmp_path, balancer.url, nora, smtp)
            with chromium.page(balancer.url, refused=CUT) as page:
                a_day(page, milos, tmp_path, three.servers[0].kill)
                page.goto("/inbox?v=open")
                expect(page.get_by_role("main")).to_contain_text("Pump 11 leaks")
            assert min(balancer.answered.values()) > 10 and len(balancer.answered) == 3
    finally:
        chromium.close()
        three.stop()
