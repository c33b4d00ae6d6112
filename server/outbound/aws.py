"""Signatures of Amazon's cloud, version 4.

Ours, because it is a few digests in a row; botocore brings a client and the descriptions of all services with it."""

import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from server.errors import Invalid
from server.outbound.urls import HttpUrl

if TYPE_CHECKING:
    from server.outbound.client import OutboundRequest

ALGORITHM = "AWS4-HMAC-SHA256"
DEFAULT_REGION = "us-east-1"  # the region of host names without one
_HOST = re.compile(r"(?:.*\.)?amazonaws\.com(?:\.cn)?\Z")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+\Z")


def sign(asked: "OutboundRequest", values: Mapping[str, str], now: int) -> "OutboundRequest":
    """The request with its signature. values: access_key_id, secret_access_key, and if need be session_token, region
    and service; the last two are read from the host otherwise. now: Unix seconds. Raises Invalid."""
    region, service = _place(asked.url, values)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    digest = hashlib.sha256(asked.body).hexdigest()
    added = {"x-amz-date": moment}
    if values.get("session_token"):
        added["x-amz-security-token"] = values["session_token"]
    if service == "s3":
        added["x-amz-content-sha256"] = digest
    asked = asked.with_headers(added)
    headers = _signed(asked)
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = "\n".join((asked.method, _path(asked.url, service), _query(asked.url), lines, names, digest))
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{values['secret_access_key']}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    proof = f"Credential={values['access_key_id']}/{scope}, SignedHeaders={names}, Signature={_mac(key, text).hex()}"
    return asked.with_headers({"authorization": f"{ALGORITHM} {proof}"})


def _place(url: HttpUrl, values: Mapping[str, str]) -> tuple[str, str]:
    """(region, service): as said, else as the host says."""
    region, service = values.get("region", ""), values.get("service", "")
    if _HOST.match(url.host):
        labels = url.host.removesuffix(".cn").removesuffix(".amazonaws.com").split(".")
        if len(labels) > 1 and _REGION.match(labels[-1]):
            region = region or labels.pop()
        service = service or labels[-1]
    if not service:
        raise Invalid(
            f"the host {url.host} does not tell which service it is; set 'service' and 'region' of the connected "
            "service",
            field="params",
        )
    return region or DEFAULT_REGION, service


def _signed(asked: "OutboundRequest") -> dict[str, str]:
    """The headers that are signed, in order; those that the way may change are not."""
    found = {"host": asked.url.authority}
    for name, value in asked.headers:
        if name.startswith("x-amz-") or name == "content-type":
            found[name] = " ".join(value.split())
    return dict(sorted(found.items()))


def _path(url: HttpUrl, service: str) -> str:
    # Every service takes the path quoted twice but one, whose keys may be anything.
    return quote(unquote(url.path) if service == "s3" else url.path, safe="/-_.~")


def _query(url: HttpUrl) -> str:
    pairs = (pair.partition("=") for pair in url.query.split("&") if pair)
    return "&".join(sorted(f"{_again(name)}={_again(value)}" for name, _, value in pairs))


def _again(text: str) -> str:
    return quote(unquote(text), safe="-_.~")


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
