"""Small real servers that hold a mailbox, on 127.0.0.1, for tests: IMAP4rev1 and POP3, as far as a reader needs.

    with ImapServer() as server:
        server.put(raw)
        ...
        assert server.mails == {}

Their contents may be changed at any time. Each connection has a thread."""

import re
import socket
import socketserver
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Self

from tests.smtp_server import HOST, tls_context

LOGIN = ("support", 'pass "word\\')


class MailServer:
    """moods: {uid: how reading this mail goes wrong}, listed in the subclasses. without: commands that the server does
    not know. mails: {uid: bytes}, in order. asked: the commands of all connections, without quoted strings.

    tls: "", "starttls" or "tls". token: OAuth2 token, if that is the login. breaks_after: the number of mails that a
    connection serves before it is cut. told_size: the size reported for every mail. refusal: the response to every
    login, "" to check it. login: user name and password."""

    host = HOST

    def __init__(self, tls: str = "", token: str = "") -> None:
        self.tls, self.token = tls, token
        self.mails: dict[int, bytes] = {}
        self.flags: dict[int, set[str]] = {}
        self.next_uid = 1
        self.validity = 100
        self.has_uidplus = True
        self.has_next_cursor = True
        self.breaks_after = 0
        self.moods: dict[int, str] = {}
        self.without: set[str] = set()
        self.told_size = 0
        self.refusal = ""
        self.login = LOGIN
        self.asked: list[str] = []
        self.lock = threading.RLock()
        self.emptied = threading.Event()  # set when the last mail was removed
        self.context = tls_context() if tls else None
        session = self.session()

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(handler) -> None:
                try:
                    session(self, handler).run()
                except (OSError, ValueError):  # the client is gone
                    return

        self._server = _Threads((HOST, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def session(self) -> Callable[[Any, Any], Any]:
        raise ValueError("a kind of server tells how it speaks")

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def put(self, *raws: bytes) -> None:
        """Adds mails, with rising uids and network line ends."""
        with self.lock:
            for raw in raws:
                self.mails[self.next_uid] = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
                self.flags[self.next_uid] = set()
                self.next_uid += 1

    def number_anew(self) -> None:
        """Gives the mails new uids, as after a repair of the mailbox."""
        with self.lock:
            mails, self.mails, self.flags = list(self.mails.values()), {}, {}
            self.next_uid, self.validity = 500, self.validity + 1
            self.put(*mails)

    def remove(self, uids: list[int]) -> None:
        with self.lock:
            for uid in uids:
                self.mails.pop(uid, None)
                self.flags.pop(uid, None)
            if uids and not self.mails:
                self.emptied.set()

    def size(self, raw: bytes) -> int:
        return self.told_size or len(raw)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Threads(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect."""


class _Session:
    """One connection."""

    def __init__(self, server: MailServer, handler: Any) -> None:
        self.server = server
        self._socket = handler.request
        self._handed_out = 0
        if server.tls == "tls":
            self.secure()
        else:
            self._file = self._socket.makefile("rwb")

    def secure(self) -> None:
        assert self.server.context is not None
        try:
            self._socket = self.server.context.wrap_socket(self._socket, server_side=True)
        except ssl.SSLError as error:  # a client that does not trust the certificate
            raise OSError from error
        self._file = self._socket.makefile("rwb")

    def line(self) -> str:
        raw = self._file.readline()
        if not raw:
            raise OSError("gone")
        text = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
        self.server.asked.append(re.sub(r'"(?:[^"\\]|\\.)*"', '""', text))
        return str(text)

    def send(self, *parts: bytes | str) -> None:
        for part in parts:
            self._file.write(part.encode() if isinstance(part, str) else part)
        self._file.flush()

    def cut(self, *parts: bytes | str) -> None:
        """Ends the connection after these bytes."""
        self.send(*parts)
        self._socket.shutdown(socket.SHUT_RDWR)
        raise OSError("cut")

    def hand_out(self, *parts: bytes | str) -> None:
        """Sends a mail; the connection is cut in the middle of the first mail after `breaks_after`."""
        self._handed_out += 1
        if self.server.breaks_after and self._handed_out > self.server.breaks_after:
            self.send(parts[0], b"half a")
            self._socket.close()
            raise OSError("cut")
        self.send(*parts)


class ImapServer(MailServer):
    """Moods of a mail: `nil`, `empty`, `no literal`, `no response`, `no` (FETCH is refused), `no size` (FETCH of its
    size is refused), `hidden` (missing from the list of sizes), `chatty` (unrelated responses in between), `cut`,
    `bye`."""

    def session(self) -> Callable[[Any, Any], Any]:
        return _Imap


class _Imap(_Session):
    is_inside = False

    def run(self) -> None:
        self.send("* OK ready\r\n")
        while True:
            tag, _, rest = self.line().partition(" ")
            name, _, rest = rest.partition(" ")
            if name.upper() == "UID":
                name, _, rest = rest.partition(" ")
                name = f"UID_{name}"
            answer = getattr(self, f"do_{name.lower()}", None)
            if answer is None or (name.lower() not in _BEFORE_LOGIN and not self.is_inside):
                self.send(f"{tag} BAD not now\r\n")
                continue
            with self.server.lock:
                end = answer(rest)
            self.send(f"{tag} {end or 'OK done'}\r\n")
            if name.upper() == "LOGOUT":
                return
            if name.upper() == "STARTTLS":
                self.secure()

    def do_capability(self, rest: str) -> None:
        names = ["IMAP4rev1", "AUTH=XOAUTH2", "AUTH=PLAIN"]
        names += ["UIDPLUS"] if self.server.has_uidplus else []
        names += ["STARTTLS"] if self.server.tls == "starttls" else []
        self.send(f"* CAPABILITY {' '.join(names)}\r\n")

    def do_starttls(self, rest: str) -> str:
        return "OK now"

    def do_login(self, rest: str) -> str:
        words = [quoted.replace('\\"', '"').replace("\\\\", "\\") if quoted else plain
                 for quoted, plain in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', rest)]  # fmt: skip
        self.is_inside = tuple(words) == self.server.login
        refusal = self.server.refusal or "NO [AUTHENTICATIONFAILED] wrong name or password"
        return "OK in" if self.is_inside else refusal

    def do_authenticate(self, rest: str) -> str:
        self.send("+ \r\n")
        proof = b64decode(self.line()).decode()
        if rest.upper() == "PLAIN":
            self.is_inside = tuple(proof.split("\0")[1:]) == self.server.login
            return "OK in" if self.is_inside else "NO [AUTHENTICATIONFAILED] wrong name or password"
        self.is_inside = bool(self.server.token) and f"auth=Bearer {self.server.token}\1" in proof
        return "OK in" if self.is_inside else "NO [AUTHENTICATIONFAILED] wrong token"

    def do_select(self, rest: str, is_readonly: bool = False) -> str:
        if rest.strip('"') != "INBOX":
            return "NO there is no such folder"
        self.is_readonly = is_readonly
        self.send(f"* {len(self.server.mails)} EXISTS\r\n* 0 RECENT\r\n* FLAGS (\\Deleted \\Seen)\r\n")
        self.send(f"* OK [UIDVALIDITY {self.server.validity}] uids\r\n")
        if self.server.has_next_cursor:
            self.send(f"* OK [UIDNEXT {self.server.next_uid}] next\r\n")
        return f"OK [{'READ-ONLY' if is_readonly else 'READ-WRITE'}] open"

    def do_examine(self, rest: str) -> str:
        return self.do_select(rest, is_readonly=True)

    def do_noop(self, rest: str) -> None: ...

    def do_logout(self, rest: str) -> None:
        self.send("* BYE\r\n")

    def do_uid_search(self, rest: str) -> None:
        if rest.upper().strip("()") == "DELETED":
            found = [uid for uid, flags in self.server.flags.items() if "\\Deleted" in flags]
        else:
            found = self._named(rest.partition(" ")[2])
        self.send(f"* SEARCH {' '.join(map(str, found))}\r\n")

    def do_uid_fetch(self, rest: str) -> str | None:
        uids, _, wanted = rest.partition(" ")
        for number, uid in enumerate(self.server.mails, start=1):
            if uid not in self._named(uids):
                continue
            raw = self.server.mails[uid]
            mood = self.server.moods.get(uid, "")
            if "RFC822.SIZE" in wanted and mood == "no size":
                return "NO [SERVERBUG] a damaged mail"
            if "RFC822.SIZE" in wanted and mood == "hidden":
                continue
            if "RFC822.SIZE" in wanted:
                self.send(f"* {number} FETCH (UID {uid} RFC822.SIZE {self.server.size(raw)})\r\n")
                continue
            part, most = re.search(r"BODY\.PEEK\[(.*?)\]<0\.(\d+)>", wanted).groups()  # type: ignore[union-attr]
            content = (raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if part == "HEADER" else raw)[: int(most)]
            told = f"* {number} FETCH (UID {uid} BODY[{part}]<0> {{{len(content)}}}\r\n"
            if mood == "no":
                return "NO [SERVERBUG] a damaged mail"
            if mood == "bye":
                self.cut("* BYE [ALERT] a fatal error\r\n")
            if mood == "cut":
                self.cut(told, content[: len(content) // 2])
            if mood == "chatty":
                self.send(f"* {len(self.server.mails)} EXISTS\r\n* {number} FETCH (FLAGS (\\Seen))\r\n")
            if mood in _WITHOUT_BODY:
                self.send(_WITHOUT_BODY[mood].format(number=number, uid=uid))
                continue
            self.hand_out(told, content, b")\r\n")
        return None

    def do_uid_store(self, rest: str) -> str | None:
        if self.is_readonly:
            return "NO it was opened to be read only"
        for uid in self._named(rest.partition(" ")[0]):
            self.server.flags[uid].add("\\Deleted")
        return None

    def do_uid_expunge(self, rest: str) -> None:
        self._expunge(self._named(rest))

    def do_expunge(self, rest: str) -> None:
        self._expunge(list(self.server.mails))

    def _expunge(self, uids: list[int]) -> None:
        for uid in uids:
            if "\\Deleted" in self.server.flags[uid]:
                self.send(f"* {list(self.server.mails).index(uid) + 1} EXPUNGE\r\n")
                self.server.remove([uid])

    def _named(self, text: str) -> list[int]:
        """The existing uids in a set such as 1,5:9,12:*. `*` is the last uid, even where it is the lower end."""
        last = max(self.server.mails, default=0)
        spans = []
        for part in text.strip("()").split(","):
            first, _, end = part.partition(":")
            pair = sorted(last if each == "*" else int(each) for each in (first, end or first))
            spans.append(range(pair[0], pair[1] + 1))
        return [uid for uid in self.server.mails if any(uid in span for span in spans)]


_BEFORE_LOGIN = frozenset("capability starttls login authenticate logout noop".split())


_WITHOUT_BODY = {
    "nil": "* {number} FETCH (UID {uid} BODY[]<0> NIL)\r\n",
    "empty": '* {number} FETCH (UID {uid} BODY[]<0> "")\r\n',
    "no literal": "* {number} FETCH (UID {uid})\r\n",
    "no response": "",
}


class Pop3Server(MailServer):
    """Moods of a mail: `no` (RETR is refused), `empty`, `cut`."""

    def session(self) -> Callable[[Any, Any], Any]:
        return _Pop3


class _Pop3(_Session):
    def run(self) -> None:
        self._uids = list(self.server.mails)
        self._removed: list[int] = []
        self._user = ""
        self.is_inside = False
        self.send("+OK ready\r\n")
        while True:
            name, _, rest = self.line().partition(" ")
            answer = getattr(self, f"do_{name.lower()}", None)
            if name.lower() in self.server.without:
                answer = None
            is_early = name.lower() in ("user", "pass", "auth", "capa", "stls", "quit")
            if answer is None or not (self.is_inside or is_early):
                self.send("-ERR not now\r\n")
                continue
            with self.server.lock:
                answer(rest)
            if name.upper() == "QUIT":
                return

    def do_capa(self, rest: str) -> None:
        self.send("+OK\r\nUIDL\r\nSTLS\r\n.\r\n" if self.server.tls == "starttls" else "+OK\r\nUIDL\r\n.\r\n")

    def do_stls(self, rest: str) -> None:
        self.send("+OK now\r\n")
        self.secure()

    def do_user(self, rest: str) -> None:
        self._user = rest
        self.send("+OK\r\n")

    def do_pass(self, rest: str) -> None:
        self._let_in((self._user, rest) == self.server.login)

    def do_auth(self, rest: str) -> None:
        proof = b64decode(rest.partition(" ")[2]).decode()
        self._let_in(bool(self.server.token) and f"auth=Bearer {self.server.token}\1" in proof)

    def _let_in(self, is_known: bool) -> None:
        self.is_inside = is_known
        refusal = self.server.refusal or "-ERR wrong name or password"
        self.send("+OK in\r\n" if is_known else f"{refusal}\r\n")

    def do_uidl(self, rest: str) -> None:
        lines = "".join(f"{number} uid-{uid}\r\n" for number, uid in enumerate(self._uids, start=1))
        self.send(f"+OK\r\n{lines}.\r\n")

    def do_list(self, rest: str) -> None:
        sizes = (self.server.size(self.server.mails[uid]) for uid in self._uids)
        self.send("+OK\r\n", *(f"{number} {size}\r\n" for number, size in enumerate(sizes, start=1)), ".\r\n")

    def do_retr(self, rest: str) -> None:
        uid = self._uids[int(rest) - 1]
        mood, raw = self.server.moods.get(uid, ""), self.server.mails[uid]
        if mood == "no":
            self.send("-ERR [IN-USE] the message is locked\r\n")
        elif mood == "empty":
            self.send("+OK\r\n.\r\n")
        elif mood == "cut":
            self.cut("+OK\r\n", raw[: len(raw) // 2])
        else:
            self._content(raw)

    def do_top(self, rest: str) -> None:
        self._content(self.server.mails[self._uids[int(rest.split()[0]) - 1]].partition(b"\r\n\r\n")[0] + b"\r\n\r\n")

    def _content(self, raw: bytes) -> None:
        stuffed = re.sub(rb"(?m)^\.", b"..", raw)
        self.hand_out("+OK\r\n", stuffed if stuffed.endswith(b"\r\n") else stuffed + b"\r\n", b".\r\n")

    def do_dele(self, rest: str) -> None:
        self._removed.append(self._uids[int(rest) - 1])
        self.send("+OK\r\n")

    def do_quit(self, rest: str) -> None:
        self.server.remove(self._removed)
        self.send("+OK bye\r\n")
