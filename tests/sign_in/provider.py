"""The provider of tests/node/provider.mjs: `oidc-provider`, which follows the standards of OpenID strictly."""

import json
import re
import subprocess
from typing import Any
from urllib.parse import urlsplit

import requests

from tests.console.visitor import SECONDS, Visitor
from tests.service import ROOT

MODULES = ROOT / ".work" / "node"
SCRIPT = (ROOT / "tests" / "node" / "provider.mjs").read_text("utf-8")
CLIENT = {"client_id": "desk", "client_secret": "the secret: of the desk & co"}
MOST_REDIRECTS = 12


class Provider:
    """A running provider. issuer: its address."""

    def __init__(self, desk: str) -> None:
        assert (MODULES / "node_modules").is_dir(), "run `make test` once, which installs what Node.js needs"
        self.process = subprocess.Popen(
            ["node", "--input-type=module", "--eval", SCRIPT, "--", desk, "0"], cwd=MODULES, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.issuer = str(json.loads(line)["issuer"])

    def order(self, **order: Any) -> int:
        """Changes what the provider does: account, claims, denies, userinfo, rotates. Returns the number of requests
        that the desk has sent."""
        return int(requests.post(f"{self.issuer}/-/order", json=order, timeout=SECONDS).json()["calls"])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()


def follow(visitor: Visitor, location: str) -> str:
    """Follows redirects at the provider; returns the path at the desk that they lead back to."""
    for _ in range(MOST_REDIRECTS):
        if location.startswith(visitor.url):
            return location.removeprefix(visitor.url)
        response = visitor.session.get(location, timeout=SECONDS, allow_redirects=False)
        assert response.status_code in (302, 303), (location, response.status_code, response.text)
        target = response.headers["Location"]
        parts = urlsplit(location)
        location = target if "://" in target else f"{parts.scheme}://{parts.netloc}{target}"
    raise AssertionError(f"redirects do not end: {location}")


def target_of(page: str) -> str:
    """Returns the address at the provider that a page leads to."""
    found = re.search(r'<a href="([^"]+)" rel="noreferrer">', page)
    assert found is not None, page
    return found[1].replace("&amp;", "&")


def sign_in(visitor: Visitor, name: str = "keycloak", next_path: str = "") -> requests.Response:
    """Signs in with a provider; returns the response of the callback."""
    query = f"?next={next_path}" if next_path else ""
    response = visitor.get(f"/sign-in/start/{name}{query}")
    assert response.status_code == 303, response.text
    return visitor.get(follow(visitor, response.headers["Location"]))
