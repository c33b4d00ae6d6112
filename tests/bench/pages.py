"""Pages of the console compared with the API request that each is based on: the time of a page as a multiple of its
request's time.

One client sends one request after the other, alternating, over one connection each."""

import re
import time
from statistics import median

import requests

TARGET = 5.0  # largest multiple of the API's time
ROUNDS = 40
SECONDS = 60
# {page: the request that it is based on}
PAGES = {
    "/automations": "records/automation/search.json?limit=25",
    "/automations/webhooks": "records/webhook_listener/search.json?limit=25",
    "/automations/log": "records/automation_log/search.json?limit=25",
    "/admin/apps": "records/oauth_app/search.json?limit=25",
    "/admin/people": "records/worker/search.json?limit=25&expand=address_",
    "/admin/people/groups": "records/group/search.json?limit=25",
    "/admin/people/roles": "records/role/search.json?limit=25",
    "/admin/people/{worker}": "records/worker/{worker}.json?expand=groups,roles,address_",
    "/admin/people/groups/{group}": "records/group/{group}.json?expand=buckets,members",
    "/admin/fields?type=ticket": "records/custom_field/search.json?limit=25&q=context:ticket",
    "/admin/mail/outbox": "records/draft/search.json?limit=25",
    "/admin/jobs/timers": "records/automation_timer/search.json?limit=25",
    "/choose/worker": "records/worker/search.json?limit=20&expand=_label",
    "/account": "workers/me.json",
}


class Visit:
    """A browser with a signed-in worker. Raises AssertionError if the sign-in fails."""

    def __init__(self, url: str, email: str, password: str) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.trust_env = False
        found = re.search(r'name="_xsrf" value="(\w+)"', self.session.get(f"{url}/login", timeout=SECONDS).text)
        assert found is not None
        form = {"email": email, "password": password, "_xsrf": found[1]}
        answer = self.session.post(f"{url}/login", form, timeout=SECONDS, allow_redirects=False)
        assert answer.status_code == 303, answer.status_code


def ratios(url: str, token: str, visit: Visit, ids: dict[str, int]) -> list[tuple[str, float, float]]:
    """Returns (page, its milliseconds, those of its request), the medians of ROUNDS."""
    api = requests.Session()
    api.trust_env = False
    api.headers["Authorization"] = f"Bearer {token}"
    found = []
    for page, path in PAGES.items():
        ours, theirs = f"{url}{page.format(**ids)}", f"{url}/rest/{path.format(**ids)}"
        times: list[tuple[float, float]] = [(once(visit.session, ours), once(api, theirs)) for _ in range(ROUNDS)]
        found.append((page, median(one for one, _ in times), median(other for _, other in times)))
    return found


def head_line() -> str:
    """Returns the header of the lines."""
    return f"{'page':<40} {'page':>11} {'its request':>11} {'times':>6} {'target':>6}"


def line(page: str, ours_ms: float, api_ms: float) -> str:
    """Returns the line of a page."""
    ratio = ours_ms / api_ms
    verdict = "ok" if ratio <= TARGET else "MISSED"
    return f"{page:<40} {ours_ms:>8.1f} ms {api_ms:>8.1f} ms {ratio:>6.1f} {TARGET:>6.1f}  {verdict}"


def once(session: requests.Session, address: str) -> float:
    """Returns the milliseconds of one request. Raises AssertionError for any status but 200."""
    started = time.perf_counter()
    answer = session.get(address, timeout=SECONDS, allow_redirects=False)
    assert answer.status_code == 200, (address, answer.status_code)
    return (time.perf_counter() - started) * 1000
