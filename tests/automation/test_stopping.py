"""Stopping the service while automations wait for other programs: it stops in time, and no event is lost."""

import json
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import requests

from tests.automation.test_webhooks import Hook
from tests.automation.told import MAY_ALL
from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.service import Server

WAITING = 6  # webhooks, and as many events: more than the threads for jobs
PATIENCE = f"{MAY_ALL}\nsettings:\n  time_limit_ms: 120000"
END_SECONDS = 30  # far more than the service gets, far less than the automations would wait


def asking(peer: Peer, path: str, key: str) -> str:
    return (
        "start:\n  http.request:\n    output: answered\n    inputs:\n"
        f"      url: {peer.url(path)}\n      method: POST\n      timeout: 60\n      headers:\n"
        f"        Content-Type: application/json\n      body:\n        it@key: {key}\n"
    )


def test_waiting_automations_do_not_delay_the_stop_and_events_run_again(tmp_path: Path) -> None:
    environment = {"HELPDESK_OUTBOUND_ALLOW": HOST, "HELPDESK_STOP_SECONDS": "1"}
    with Peer() as peer:
        arrived, answers = SimpleQueue[dict[str, Any]](), threading.Event()

        def asked(asked: Asked) -> bytes | None:
            arrived.put(json.loads(asked.body))
            if answers.is_set():
                return answer("{}")
            asked.hung_up.wait()
            return None

        peer.answers |= {"/hook": asked, "/event": asked}
        server = Server(tmp_path / "data", env=environment)
        api = server.set_up()
        hook = Hook(api, asking(peer, "/hook", "request_method"), policy=PATIENCE)
        fields = {"name": "event", "extension_id": "svc.trigger.record.changed", "policy_kata": PATIENCE}
        api.create("automation", script=asking(peer, "/event", "record_name"), **fields).ok()
        listed = api.search("automation_event", "", limit=100).ok()["results"]
        event = next(each["id"] for each in listed if each["name"] == "record.changed")
        binding = "automation/a:\n  uri: event\n  disabled@bool: {{record__type != 'org'}}"
        api.update("automation_event", event, automations_kata=binding).ok()
        threads = [threading.Thread(target=_call, args=(hook.url,)) for _ in range(WAITING)]
        for thread in threads:
            thread.start()
        names = {f"Org {number}" for number in range(WAITING)}
        for name in names:
            api.create("org", name=name).ok()
        begun = [arrived.get(timeout=30)["it"] for _ in range(WAITING + 2)]
        assert begun.count("POST") == WAITING and len(names & set(begun)) == 2
        server.process.terminate()
        assert server.process.wait(END_SECONDS) == 0
        for thread in threads:
            thread.join()
        server.log.close()
        answers.set()
        server = Server(tmp_path / "data", env=environment)
        told = {arrived.get(timeout=30)["it"] for _ in range(WAITING)}
        assert server.stop() == 0
    assert told == names and arrived.empty()


def _call(url: str) -> None:
    try:
        requests.post(url, timeout=60)
    except requests.ConnectionError:
        return  # interrupted by the end of the service
