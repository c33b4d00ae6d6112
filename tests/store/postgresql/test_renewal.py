"""Tokens of connected accounts: one process uses a refresh token, once, and the new tokens are stored."""

import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import requests

from tests.automation.test_http import ALLOW
from tests.automation.test_webhooks import Hook
from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.postgresql import Cluster
from tests.service import Api
from tests.store.postgresql.several import Processes

ROUNDS, ASKING = 5, 6
ENV = {"HELPDESK_OUTBOUND_ALLOW": HOST}
ASKS = """
start:
  http.request/begun:
    output: begun
    inputs:
      url: URL/begun
  http.request/asked:
    output: got
    inputs:
      url: URL/
      authentication: ACCOUNT
  return:
    body: {{got.body}}
"""


class TokenServer:
    """Issues tokens for refresh tokens, each of which is valid once. begun: callers about to send a request."""

    def __init__(self, peer: Peer) -> None:
        self.peer, self.used, self.stolen = peer, 0, False
        self.begun, self.before = threading.Semaphore(0), lambda: None
        peer.answers |= {"/begun": self._begin, "/token": self._give, "/": self._show}

    def _begin(self, asked: Asked) -> bytes:
        self.begun.release()
        return answer("go on")

    def _give(self, asked: Asked) -> bytes:
        self.before()
        if parse_qs(asked.body.decode())["refresh_token"] != [f"refresh{self.used}"]:
            self.stolen = True
            return answer('{"error": "invalid_grant"}', 400)
        self.used += 1
        told = {"access_token": f"access{self.used}", "expires_in": 600, "refresh_token": f"refresh{self.used}"}
        return answer(json.dumps(told))

    def _show(self, asked: Asked) -> bytes:
        return answer(asked.header("authorization") or "")


def _connected(nora: Api, peer: Peer) -> tuple[int, Hook]:
    """An account with an expired token, and a webhook that uses the account."""
    service = nora.create(
        "connected_service", name="Parcels", extension_id="svc.service.provider.oauth2",
        params={"token_url": peer.url("/token"), "client_id": "me", "client_secret": "s"},
    ).ok()["id"]  # fmt: skip
    account = nora.create("connected_account", name="Ours", owner__context="app", owner_id=0, service_id=service,
                          params={"refresh_token": "refresh0"}).ok()["id"]  # fmt: skip
    return account, Hook(nora, ASKS.replace("URL", peer.url("")).replace("ACCOUNT", str(account)), policy=ALLOW)


def _end(nora: Api, account: int, number: int) -> None:
    """Expires the token of the account."""
    params = {"refresh_token": f"refresh{number}", "access_token": f"access{number}", "expires_at": "1"}
    nora.update("connected_account", account, params=params).ok()


def test_two_processes_renew_a_token_once(tmp_path: Path) -> None:
    with Peer() as peer:
        two, given = Processes(tmp_path, 2, **ENV), TokenServer(peer)
        nora = two.api(0)
        account, hook = _connected(nora, peer)
        path = hook.url.partition("/webhooks/")[2]

        def all_have_begun() -> None:
            for _ in range(ASKING):
                assert given.begun.acquire(timeout=60)

        given.before = all_have_begun
        for number in range(ROUNDS):
            _end(nora, account, number)

            def call(api: Api) -> Any:
                return requests.get(f"{api.url}/webhooks/{path}", timeout=60)

            found = two.at_once(*[call] * 2 * (ASKING // 2))
            assert [(each.status_code, each.text) for each in found] == [(200, f"Bearer access{number + 1}")] * ASKING
        assert given.used == ROUNDS and not given.stolen
        assert [each.target for each in peer.asked].count("/token") == ROUNDS
        two.stop()


def test_a_new_token_is_kept_though_the_database_was_away_when_it_came(cluster: Cluster, tmp_path: Path) -> None:
    with Peer() as peer:
        one, given = Processes(tmp_path, 1, cluster.address("desk"), **ENV), TokenServer(peer)
        _, hook = _connected(one.api(0), peer)
        given.before = cluster.stop
        answers: list[requests.Response] = []
        calling = threading.Thread(target=lambda: answers.append(hook.call("GET")))
        calling.start()
        while requests.get(f"{one.servers[0].url}/health", timeout=60).status_code == 200:
            pass
        cluster.start()
        calling.join(60)
        assert [(each.status_code, each.text) for each in answers] == [(200, "Bearer access1")]
        assert hook.call("GET").text == "Bearer access1"
        assert given.used == 1 and not given.stolen
        one.stop()
