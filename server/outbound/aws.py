"""Signature version 4 of Amazon Web Services.

Our own, because it is a few digests in a row; botocore includes a client and the descriptions of all services."""

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


def sign(request: "OutboundRequest", values: Mapping[str, str], now: int) -> "OutboundRequest":
    """Returns the request with its signature. values: access_key_id, secret_access_key and optionally session_token,
    region and service; the last two default to those in the host name. now: Unix seconds. Raises Invalid."""
    region, service = _place(request.url, values)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    digest = hashlib.sha256(request.body).hexdigest()
    added = {"x-amz-date": moment}
    if values.get("session_token"):
        added["x-amz-security-token"] = values["session_token"]
    if service == "s3":
        added["x-amz-content-sha256"] = digest
    request = request.with_headers(added)
    headers = _signed_headers(request)
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = "\n".join((request.method, _path(request.url, service), _query(request.url), lines, names, digest))
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{values['secret_access_key']}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    proof = f"Credential={values['access_key_id']}/{scope}, SignedHeaders={names}, Signature={_mac(key, text).hex()}"
    return request.with_headers({"authorization": f"{ALGORITHM} {proof}"})


def _place(url: HttpUrl, values: Mapping[str, str]) -> tuple[str, str]:
    """Returns (region, service) as configured, else from the host name."""
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


def _signed_headers(request: "OutboundRequest") -> dict[str, str]:
    """Returns the signed headers, in order; excludes those that proxies may change."""
    headers = {"host": request.url.authority}
    for name, value in request.headers:
        if name.startswith("x-amz-") or name == "content-type":
            headers[name] = " ".join(value.split())
    return dict(sorted(headers.items()))


def _path(url: HttpUrl, service: str) -> str:
    # All services expect the path quoted twice, except S3.
    return quote(unquote(url.path) if service == "s3" else url.path, safe="/-_.~")


def _query(url: HttpUrl) -> str:
    pairs = (pair.partition("=") for pair in url.query.split("&") if pair)
    return "&".join(sorted(f"{_quoted_again(name)}={_quoted_again(value)}" for name, _, value in pairs))


def _quoted_again(text: str) -> str:
    return quote(unquote(text), safe="-_.~")


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
