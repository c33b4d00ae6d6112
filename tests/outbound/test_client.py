"""Requests to a real server: the received request, the returned response, and limits and refusals."""

import gzip
import ipaddress
import socket
import threading
import zlib
from dataclasses import replace
from functools import partial

import pytest

from server import outbound
from server.errors import Invalid, Rejected, TimedOut, TooLarge, Unavailable
from server.outbound import connection
from server.outbound.allowlist import Allowlist, allowed
from server.outbound.client import MAX_HEADERS, MAX_REDIRECTS
from tests.outbound.peer import HOST, Asked, Peer, answer, once, redirect
from tests.outbound.test_addresses import named
from tests.smtp_server import CERTIFICATE

MiB = 1024 * 1024
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
# Without a timestamp: names of tests contain the result, and must be the same in every process.
packed = partial(gzip.compress, mtime=0)


def get(peer, bounds, path="/", **more):
    return outbound.send(outbound.request(peer.url(path), **more), bounds)


def test_a_request_arrives_as_it_was_made_and_its_answer_comes_back(peer, bounds):
    peer.answers["/a%20b"] = answer("hällo", 201, x_one="1", content_type="text/plain")
    headers = {"X-Shop": "grün", "Content-Type": "text/plain"}
    got = outbound.send(outbound.request(peer.url("/a b?q=ü"), "put", headers, b"\x00body"), bounds)
    asked = peer.take()
    assert (asked.method, asked.target, asked.body) == ("PUT", "/a%20b?q=%C3%BC", b"\x00body")
    assert dict(asked.headers) == {
        "host": f"{HOST}:{peer.port}", "x-shop": "grün", "content-type": "text/plain", "content-length": "5",
        "user-agent": asked.header("user-agent"), "accept": "*/*", "accept-encoding": "gzip, deflate",
        "connection": "close",
    }  # fmt: skip
    assert (got.status, got.reason, got.body) == (201, "Said So", "hällo".encode())
    assert str(got.url) == peer.url("/a%20b?q=%C3%BC")
    assert got.headers == {"x-one": "1", "content-type": "text/plain", "content-length": "6"}


@pytest.mark.parametrize("method", outbound.client.METHODS)
def test_every_method_is_sent(method, peer, bounds):
    peer.answers["/"] = answer("" if method == "HEAD" else "body", content_length="4")
    got = get(peer, bounds, method=method.lower())
    assert peer.take().method == method
    assert got.body == (b"" if method == "HEAD" else b"body")
    assert peer.take().header("content-length") == ("0" if method in ("POST", "PUT", "PATCH") else None)


@pytest.mark.parametrize(
    ("raw", "status", "body"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi and more", 200, b"hi"),
        (CHUNKED + b"\r\n2\r\nhi\r\n3;x=y\r\n yo\r\n0\r\nT: 1\r\n\r\n", 200, b"hi yo"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi"),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", 500, b"no"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b""),
    ],
)
def test_answers_are_read_in_every_form(raw, status, body, peer, bounds):
    peer.answers["/"] = raw
    got = get(peer, bounds)
    assert (got.status, got.body) == (status, body)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "hung up"),
        (b"SSH-2.0-OpenSSH_9\r\n", "not HTTP"),
        (b"\x00\x01\x02\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhi", "8 bytes too early"),
        (CHUNKED + b"\r\n5\r\nhi", "too early"),
        (CHUNKED + b"\r\nzz\r\nhi", "too early"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", "headers"),
        (b"HTTP/1.1 200 OK\r\n" + (b"A: " + b"b" * 1000 + b"\r\n") * 90 + b"\r\n", "headers"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000, "headers"),
        (b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n", "headers"),
    ],
)
def test_malformed_responses_are_reported(raw, words, peer, bounds):
    peer.answers["/"] = raw
    with pytest.raises(Unavailable) as failed:
        get(peer, bounds)
    told = failed.value.message
    assert words in told or (words == "headers" and "not HTTP" in told)


def test_nothing_is_kept_between_requests(peer, bounds, monkeypatch, tmp_path):
    """Neither cookies nor proxies and passwords from the environment and files of this machine."""
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {HOST} login ann password secret\n")
    for name, value in {"NETRC": str(netrc), "HTTP_PROXY": "http://192.0.2.1:9", "http_proxy": "http://192.0.2.1:9",
                        "ALL_PROXY": "http://192.0.2.1:9"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    peer.answers["/"] = answer("hi", set_cookie="a=1; Path=/")
    assert get(peer, bounds).headers["set-cookie"] == "a=1; Path=/"
    get(peer, bounds)
    for asked in peer.asked:
        assert asked.header("cookie") is None and asked.header("authorization") is None
    assert peer.connections == 2


def test_repeated_headers_are_joined_and_read_as_utf_8(peer, bounds):
    peer.answers["/"] = "HTTP/1.1 200 OK\r\nX-A: grün\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n".encode()
    assert get(peer, bounds).headers["x-a"] == "grün, 2"


# -- requests that are not sent ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"X-A": "1\r\nX-B: 2"}, "line break"),
        ({"X-A": "1\n2"}, "line break"),
        ({"X-A": "1\r2"}, "line break"),
        ({"X-A": "1\x002"}, "control character"),
        ({"X-A": "\ud800"}, "control character"),
        ({"X-A\r\nX-B": "1"}, "not a header name"),
        ({"X A": "1"}, "not a header name"),
        ({"X-A:": "1"}, "not a header name"),
        ({"": "1"}, "not a header name"),
        ({"Ü": "1"}, "not a header name"),
        ({"X\n": "1", "Y": "\n"}, ""),  # white space at the ends is stripped
        ({"Host": "other.example"}, "'host' cannot be set by a request"),
        ({"Content-Length": "3"}, "cannot be set by a request"),
        ({"Transfer-Encoding": "chunked"}, "cannot be set by a request"),
        ({" connection ": "keep-alive"}, "cannot be set by a request"),
        ({"Keep-Alive": "1"}, "cannot be set by a request"),
        ({"TE": "trailers"}, "cannot be set by a request"),
        ({"Trailer": "x"}, "cannot be set by a request"),
        ({"Upgrade": "websocket"}, "cannot be set by a request"),
        ({"Expect": "100-continue"}, "cannot be set by a request"),
        ({"Proxy-Authorization": "Basic x"}, "cannot be set by a request"),
        ({f"x-{number}": "1" for number in range(MAX_HEADERS + 1)}, "at most 100 headers"),
        ({"x-a": "a" * 17_000}, "16,384 characters"),
    ],
)
def test_headers_that_could_change_the_message_are_refused(headers, words):
    if not words:
        assert outbound.request("http://shop.example/", headers=headers).headers == (("x", "1"), ("y", ""))
        return
    with pytest.raises(Invalid) as refused:
        outbound.request("http://shop.example/", headers=headers)
    assert words in refused.value.message and refused.value.details["field"] == "headers"


@pytest.mark.parametrize("method", ["", "CONNECT", "TRACE", "GET\r\nX: 1", "GET /other", "PROPFIND"])
def test_other_methods_are_refused(method):
    with pytest.raises(Invalid) as refused:
        outbound.request("http://shop.example/", method)
    assert refused.value.details["field"] == "method" and refused.value.message.isprintable()


@pytest.mark.parametrize("seconds", [-1, 61, float("inf"), float("nan")])
def test_a_time_out_of_range_is_refused(seconds):
    with pytest.raises(Invalid):
        outbound.request("http://shop.example/", seconds=seconds)


# -- redirects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "method", "then", "body"),
    [
        (301, "GET", "GET", b""), (302, "GET", "GET", b""), (303, "GET", "GET", b""),
        (301, "POST", "GET", b""), (302, "POST", "GET", b""), (303, "POST", "GET", b""),
        (307, "POST", "POST", b"x=1"), (308, "POST", "POST", b"x=1"),
        (302, "PUT", "PUT", b"x=1"), (303, "PUT", "GET", b""), (303, "HEAD", "HEAD", b""),
    ],
)  # fmt: skip
def test_redirects_are_followed_with_the_method_that_they_ask_for(status, method, then, body, peer, bounds):
    peer.answers |= {"/": redirect("/there?a=1", status), "/there": answer()}
    sent = b"" if method in ("GET", "HEAD") else b"x=1"
    asked = outbound.request(peer.url(), method, {"content-type": "text/x", "x-key": "k"}, sent)
    got = outbound.send(asked, bounds)
    arrived = peer.take()
    assert (arrived.method, arrived.target, arrived.body) == (then, "/there?a=1", body)
    assert str(got.url) == peer.url("/there?a=1")
    assert arrived.header("x-key") == "k"  # the same origin
    assert arrived.header("content-type") == ("text/x" if then == method else None)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("http://10.0.0.7/", "10.0.0.7 is not on the public internet"),
        ("http://169.254.169.254/latest/meta-data/", "not on the public internet"),
        ("//127.0.0.2/", "not on the public internet"),
        ("http://[::1]/", "not on the public internet"),
        ("http://0x7f.1/", "IPv4"),
        ("http://2130706433/", "IPv4"),
        ("file:///etc/passwd", "not http or https"),
        ("ftp://shop.example/", "not http or https"),
        ("javascript:alert(1)", "not http or https"),
        ("http://a:b@127.0.0.1/", "name or password"),
        ("http://[::1/", "cannot be read"),
        ("http://127.0.0.1\\@evil.example/", "control characters"),
        ("/" + "a" * 3000, "characters, at most"),
    ],
)
def test_redirects_are_judged_like_requests(location, words, peer, bounds):
    peer.answers["/"] = redirect(location)
    with pytest.raises(Rejected) as refused:
        get(peer, bounds)
    assert words in refused.value.message
    assert len(peer.asked) == 1


def test_redirects_end(peer, bounds):
    peer.answers |= {f"/{number}": redirect(f"/{number + 1}") for number in range(MAX_REDIRECTS)}
    peer.answers[f"/{MAX_REDIRECTS}"] = answer("there")
    assert get(peer, bounds, "/0").body == b"there"
    peer.answers[f"/{MAX_REDIRECTS}"] = redirect("/0")
    with pytest.raises(Unavailable) as failed:
        get(peer, bounds, "/0")
    assert f"more than {MAX_REDIRECTS} times" in failed.value.message


@pytest.mark.parametrize("raw", [answer("no", 302), answer("no", 300, location="/x"), answer("no", 304, location="/x")])
def test_what_only_looks_like_a_redirect_is_an_answer(raw, peer, bounds):
    peer.answers["/"] = raw
    assert get(peer, bounds).status in (300, 302, 304)
    assert len(peer.asked) == 1


def test_secrets_do_not_go_along_to_another_place(peer, bounds):
    def proved(asked):
        return asked.with_headers({"X-Proof": "yes"})

    with Peer() as other:
        other.answers["/"] = answer()
        peer.answers |= {"/": redirect("/again", 308), "/again": redirect(other.url(), 307)}
        headers = {
            "Authorization": "Bearer s3cret", "Cookie": "a=1", "X-Api-Key": "s3cret", "Accept": "text/x",
            "Content-Type": "text/x",
        }  # fmt: skip
        asked = outbound.request(peer.url(), "POST", headers, b"body")
        outbound.send(replace(asked, sign=proved), bounds)
        arrived = other.take()
    assert [each.header("x-proof") for each in peer.asked] == ["yes", "yes"]
    assert peer.asked[1].header("authorization") == "Bearer s3cret"
    assert {name for name, _ in arrived.headers} == {
        "host", "accept", "content-type", "content-length", "user-agent", "accept-encoding", "connection",
    }  # fmt: skip


def test_a_request_may_ask_not_to_be_redirected(peer, bounds):
    peer.answers["/"] = redirect("/there")
    got = outbound.send(replace(outbound.request(peer.url()), follow=False), bounds)
    assert (got.status, got.headers["location"]) == (302, "/there")


# -- names -----------------------------------------------------------------------------------------------------------


class Names:
    """A name server whose response to each question is the next of a list; the last one repeats."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    def __call__(self, host, port, **_):
        self.questions.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(family, kind, number, name, (place[0], port)) for family, kind, number, name, place in named(found)]


def test_a_name_is_looked_up_once_and_connected_to_where_that_led(peer, bounds):
    peer.answers["/"] = answer("hi")
    names = Names([HOST], ["10.0.0.7"])
    got = outbound.send(outbound.request(peer.url(host="Shop.Example")), bounds, names)
    assert got.body == b"hi" and names.questions == ["shop.example"]
    assert peer.take().header("host") == f"shop.example:{peer.port}"


def test_a_name_that_changes_its_mind_is_refused_at_the_next_redirect(peer, bounds):
    peer.answers |= {"/": redirect("/there"), "/there": answer("hi")}
    names = Names([HOST], ["10.0.0.7"])
    with pytest.raises(Rejected):
        outbound.send(outbound.request(peer.url(host="shop.example")), bounds, names)
    assert [each.target for each in peer.asked] == ["/"]


def test_the_next_address_of_a_host_is_tried(peer):
    peer.answers["/"] = answer("hi")
    bounds = outbound.RequestLimits(10, 1000, Allowlist((ipaddress.ip_network("127.0.0.0/8"),)))
    names = Names(["127.9.9.9", HOST])  # nothing listens at the first
    assert outbound.send(outbound.request(peer.url(host="shop.example")), bounds, names).body == b"hi"


def _fails(error):
    def look_up(*_, **__):
        raise error

    return look_up


@pytest.mark.parametrize(
    ("look_up", "words"),
    [
        (_fails(socket.gaierror(-2, "Name or service not known")), "cannot be resolved"),
        (_fails(UnicodeError("label too long")), "cannot be resolved"),
        (lambda *_, **__: [], "no address"),
        (lambda *_, **__: [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", "/run/x")], "no address"),
    ],
)
def test_a_name_without_addresses_is_reported(look_up, words, bounds):
    with pytest.raises(Unavailable) as failed:
        outbound.send(outbound.request("http://shop.example/"), bounds, look_up)
    assert words in failed.value.message


def test_a_name_server_that_never_answers_is_not_waited_for(bounds):
    def silent(*_, **__):
        stopped.wait(60)
        return named([HOST])

    stopped = threading.Event()
    with pytest.raises(TimedOut):
        outbound.send(outbound.request("http://shop.example/", seconds=0.05), bounds, silent)
    stopped.set()


def test_a_port_without_a_listener_is_reported(bounds):
    with socket.socket() as deaf, pytest.raises(Unavailable) as failed:
        deaf.bind((HOST, 0))  # bound but not listening, so that the port stays reserved
        port = deaf.getsockname()[1]
        outbound.send(outbound.request(f"http://{HOST}:{port}/"), bounds)
    assert f"{HOST}:{port} cannot be reached" in failed.value.message


# -- size and time ---------------------------------------------------------------------------------------------------


def endless(head: bytes, piece: bytes):
    """A response that continues until the client disconnects."""

    def write(asked: Asked) -> None:
        asked.socket.sendall(head)
        while not asked.hung_up.is_set():
            asked.socket.sendall(piece)

    return write


def bomb(packed: bytes, content_encoding: str = "gzip") -> bytes:
    return answer(packed, content_encoding=content_encoding)


@pytest.mark.parametrize(
    "written",  # created inside the test, since bombs are slow to build
    [
        lambda: answer(b"x" * 1_000_001),
        lambda: answer(b"", content_length=str(10**15)) + b"x" * 1_000_001,
        lambda: endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
        lambda: endless(CHUNKED + b"\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        lambda: bomb(packed(bytes(64 * MiB))),
        lambda: bomb(zlib.compress(bytes(64 * MiB)), content_encoding="deflate"),
        lambda: bomb(packed(bytes(999_999)) + packed(bytes(2))),
        lambda: bomb(packed(b"") * 60_000),
    ],
    ids=["plain", "announced", "endless", "chunks", "gzip bomb", "deflate bomb", "two parts", "empty parts"],
)
def test_an_answer_is_cut_off_at_its_limit(written, peer, bounds):
    peer.answers["/"] = written()
    with pytest.raises(TooLarge) as failed:
        get(peer, bounds)
    assert "larger than 1,000,000 bytes" in failed.value.message


@pytest.mark.parametrize("size", [0, 1, 999_999, 1_000_000])
def test_an_answer_up_to_the_limit_is_whole(size, peer, bounds):
    content = bytes(range(250)) * 4000
    peer.answers["/"] = answer(packed(content[:size]), content_encoding="gzip")
    assert get(peer, bounds).body == content[:size]


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


@pytest.mark.parametrize(
    ("packed", "encoding", "body"),
    [
        (packed(b"hi"), "gzip", b"hi"),
        (packed(b"hi"), "X-GZIP", b"hi"),
        (packed(b"hi") + packed(b" yo"), "gzip", b"hi yo"),
        (zlib.compress(b"hi"), "deflate", b"hi"),
        (raw_deflate(b"hi"), "deflate", b"hi"),
        (b"hi", "identity", b"hi"),
        (b"hi", "", b"hi"),
        (b"", "gzip", b""),
        (b"\x0b\x00hi", "br", b"\x0b\x00hi"),  # neither requested nor supported: returned unchanged
    ],
)
def test_answers_are_unpacked(packed, encoding, body, peer, bounds):
    peer.answers["/"] = answer(packed, content_encoding=encoding)
    assert get(peer, bounds).body == body


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (b"this is not gzip", "gzip"),
        (packed(b"hi" * 1000)[:-9], "gzip"),
        (packed(b"hi") + b"rubbish", "gzip"),
        (packed(packed(b"hi")), "gzip, gzip"),
    ],
)
def test_damaged_compression_is_reported(packed, encoding, peer, bounds):
    peer.answers["/"] = answer(packed, content_encoding=encoding)
    with pytest.raises(Unavailable) as failed:
        get(peer, bounds)
    assert "compress" in failed.value.message


def drip(head: bytes, piece: bytes):
    """A response in pieces, with a pause before each, until the client disconnects."""

    def write(asked: Asked) -> None:
        asked.socket.sendall(head)
        while not asked.hung_up.wait(0.01):
            asked.socket.sendall(piece)

    return write


def silent(asked: Asked) -> None:
    asked.socket.recv(1)  # until the client disconnects


@pytest.mark.parametrize(
    "written",
    [
        silent,
        drip(b"", b"H"),
        drip(b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        drip(b"HTTP/1.1 200 OK\r\n", b"a"),
        drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
        drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
        drip(CHUNKED + b"\r\n", b"1\r\nx\r\n"),
        drip(CHUNKED + b"\r\n1;", b"x"),
        drip(CHUNKED + b"\r\n0\r\n", b"Trailer: x\r\n"),
        drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["silent", "status", "header", "headers", "body", "until the end", "chunks", "chunk", "trailers", "continue"],
)
def test_however_slowly_an_answer_comes_the_time_is_over_in_the_end(written, peer, bounds):
    peer.answers["/"] = written
    with pytest.raises(TimedOut) as failed:
        get(peer, bounds, seconds=0.15)
    assert "0.15 seconds" in failed.value.message


def test_redirects_share_one_time(peer, bounds):
    peer.answers |= {"/": redirect("/slow"), "/slow": silent}
    with pytest.raises(TimedOut):
        get(peer, bounds, seconds=0.15)


def test_a_server_that_takes_nothing_is_not_written_to_for_ever(bounds):
    with socket.create_server((HOST, 0)) as deaf, pytest.raises(TimedOut):
        url = f"http://{HOST}:{deaf.getsockname()[1]}/"
        outbound.send(outbound.request(url, "POST", body=bytes(32 * MiB), seconds=0.15), bounds)


def test_an_answer_before_the_whole_request_is_heard(bounds):
    """Such as 413: the server stops reading a body that it refuses."""

    def refuse(sock):
        sock.sendall(answer("too large", 413))
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass

    with once(refuse) as port:
        got = outbound.send(outbound.request(f"http://{HOST}:{port}/", "POST", body=bytes(MiB)), bounds)
    assert (got.status, got.body) == (413, b"too large")


# -- https -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """Trusts the certificate of the tests like others on this machine."""
    path = tmp_path / "trusted.pem"
    path.write_text(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    connection.tls_context.cache_clear()
    yield
    connection.tls_context.cache_clear()


def test_an_untrusted_certificate_is_refused(encrypted, bounds):
    encrypted.answers["/"] = answer("hi")
    with pytest.raises(Rejected) as refused:
        get(encrypted, bounds)
    assert "certificate" in refused.value.message
    assert encrypted.asked == []
    assert get(encrypted, bounds, verify=False).body == b"hi"


def test_a_certificate_must_match_the_requested_name(encrypted, bounds, trusted):
    encrypted.answers["/"] = answer("hi")
    for host in (HOST, "localhost"):
        asked = outbound.request(encrypted.url(host=host))
        assert outbound.send(asked, bounds, Names([HOST])).body == b"hi"
    assert encrypted.take().header("host") == f"localhost:{encrypted.port}"
    with pytest.raises(Rejected) as refused:
        outbound.send(outbound.request(encrypted.url(host="shop.example")), bounds, Names([HOST]))
    assert "shop.example" in refused.value.message


def test_limits_hold_within_tls(encrypted, bounds, trusted):
    encrypted.answers |= {"/": answer(bytes(1_000_001)), "/slow": drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x")}
    with pytest.raises(TooLarge):
        get(encrypted, bounds)
    with pytest.raises(TimedOut):
        get(encrypted, bounds, "/slow", seconds=0.3)


def test_https_to_a_plain_http_server_is_reported(bounds):
    with once(lambda sock: sock.sendall(answer("hi"))) as port, pytest.raises(Unavailable) as failed:
        outbound.send(outbound.request(f"https://{HOST}:{port}/"), bounds)
    assert "https" in failed.value.message


def test_a_handshake_that_never_ends_is_over_in_time(bounds):
    with socket.create_server((HOST, 0)) as mute, pytest.raises(TimedOut):
        url = f"https://{HOST}:{mute.getsockname()[1]}/"
        outbound.send(outbound.request(url, seconds=0.15), bounds)


def test_from_https_to_http_is_another_place(encrypted, peer, bounds, trusted):
    encrypted.answers["/"] = redirect(peer.url("/plain"))
    peer.answers["/plain"] = answer("hi")
    get(encrypted, bounds, headers={"authorization": "Bearer s3cret"})
    assert peer.take().header("authorization") is None


def test_limits_come_from_the_settings():
    assert outbound.limits() == outbound.RequestLimits(20, 16 * MiB, allowed([]))
