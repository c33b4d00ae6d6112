"""The names private to Tornado that server/web uses: its next version may rename them without notice."""

import ast
import asyncio
import inspect
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tornado
from tornado.http1connection import HTTP1Connection, HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

WEB = Path(__file__).resolve().parents[2] / "server" / "web"
USERS = ("serving.py", "connections.py", "streams.py")

# {class: {name: parameters of a method, None for an attribute}}
METHODS_AND_ATTRIBUTES: dict[type, dict[str, tuple[str, ...] | None]] = {
    HTTP1ServerConnection: {"_server_request_loop": ("delegate",)},
    HTTP1Connection: {
        "_parse_headers": ("data",),
        "_finish_request": ("future",),
        "_clear_callbacks": (),
        "_request_start_line": None,
        "_request_headers": None,
        "_disconnect_on_finish": None,
        "_read_finished": None,
        "_write_finished": None,
        "_finish_future": None,
    },
    IOStream: {
        "_handle_read": (),
        "_read_buffer_size": None,
        "_total_write_index": None,
        "_total_write_done_index": None,
    },
    HTTPServer: {"_handle_connection": ("connection", "address"), "_connections": None, "_sockets": None},
}
LISTED = [(kind, name) for kind, names in METHODS_AND_ATTRIBUTES.items() for name in names]


@pytest.fixture(scope="module")
def instances() -> dict[type, Any]:
    """One object of each class: attributes exist on objects alone."""

    async def create() -> dict[type, Any]:
        ours, theirs = socket.socketpair()
        with theirs:
            stream = IOStream(ours)
            found = {
                IOStream: stream,
                HTTP1Connection: HTTP1Connection(stream, False),
                HTTP1ServerConnection: HTTP1ServerConnection(stream),
                HTTPServer: HTTPServer(lambda request: None),
            }
            stream.close()
        return found

    # On a thread of its own: a browser of other tests may keep a loop running on this one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, create()).result()


@pytest.mark.parametrize(("kind", "name"), LISTED, ids=[f"{kind.__name__}.{name}" for kind, name in LISTED])
def test_the_framework_still_has_the_name(kind: type, name: str, instances: dict[type, Any]) -> None:
    expected = METHODS_AND_ATTRIBUTES[kind][name]
    label = f"{kind.__name__}.{name}" + ("" if expected is None else f"({', '.join(expected)})")
    remedy = f"adapt {' or '.join(USERS)} in server/web, or allow only older versions in setup.py"
    assert hasattr(instances[kind], name), f"Tornado {tornado.version} has no {label} any more; {remedy}"
    if expected is not None:
        parameters = tuple(inspect.signature(getattr(instances[kind], name)).parameters)
        assert parameters == expected, f"Tornado {tornado.version} passes {parameters} to {label}; {remedy}"


def private_names(source: str, *, of_self: bool) -> Iterator[str]:
    """Yields the private attributes that a module reads, sets or overrides. of_self: including those of `self`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            if of_self or not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                yield node.attr
        elif of_self and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@pytest.mark.parametrize("module", USERS)
def test_no_other_private_name_of_the_framework_is_used(module: str, instances: dict[type, Any]) -> None:
    of_framework = {name for each in instances.values() for name in dir(each) if name.startswith("_")}
    of_framework -= set(dir(object))
    # Classes of streams.py extend none of the framework's, so that their own names mean nothing to it.
    used = {*private_names((WEB / module).read_text("utf-8"), of_self=module != "streams.py")}
    unlisted = sorted(used & of_framework - {name for _, name in LISTED} - {"__init__"})
    assert not unlisted, f"server/web/{module} uses private names of Tornado; list them here: {', '.join(unlisted)}"
