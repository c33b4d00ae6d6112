"""Dovecot, an IMAP server of others, in a folder of its own on a free port of 127.0.0.1. It signs in by XOAUTH2, and
has tokens checked by an introspection endpoint (RFC 7662) of the provider below, which issues them, too.

    with Dovecot(folder) as dovecot:
        dovecot.put(raw)"""

import json
import os
import pwd
import shutil
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

HOST, USER = "127.0.0.1", "help@desk.example"
UNPRIVILEGED = "nobody"
PROGRAM = shutil.which("dovecot") or shutil.which("/usr/sbin/dovecot")
CONFIGURATION = """\
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = xoauth2 oauthbearer
auth_failure_delay = 0
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
mail_location = maildir:{folder}/mail
mail_fsync = never
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {folder}/oauth2.conf
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/home
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
"""
INTROSPECTION = """\
introspection_mode = post
introspection_url = {url}/introspect
username_attribute = username
active_attribute = active
active_value = true
force_introspection = yes
"""


class Provider:
    """The provider of the tokens. valid: the tokens that it confirms. is_renewable: whether renewals bring such a one.
    asked: the paths of all requests."""

    def __init__(self) -> None:
        self.valid, self.is_renewable, self.renewed = {"token-0"}, True, 0
        self.asked: list[str] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None: ...

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                content = json.dumps(provider.answer(urlsplit(self.path).path, parse_qs(body))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}"

    def answer(self, path: str, form: dict[str, list[str]]) -> dict[str, Any]:
        self.asked.append(path)
        if path == "/introspect":
            return {"active": form.get("token", [""])[0] in self.valid, "username": USER}
        self.renewed += 1
        token = f"token-{self.renewed}"
        self.valid = {token} if self.is_renewable else set()
        return {"access_token": token, "token_type": "Bearer", "expires_in": 3600}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Dovecot:
    """Serves inside `with`."""

    host = HOST

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.provider = Provider()
        is_root = os.geteuid() == 0
        user = pwd.getpwnam(UNPRIVILEGED) if is_root else pwd.getpwuid(os.geteuid())
        with socket.create_server((HOST, 0)) as free:
            self.port: int = free.getsockname()[1]
        for name in ("run", "state", "home", "mail", "mail/new", "mail/cur", "mail/tmp"):
            (folder / name).mkdir()
            if is_root:
                os.chown(folder / name, user.pw_uid, user.pw_gid)
        group = subprocess.run(["id", "-gn", user.pw_name], capture_output=True, text=True, check=True).stdout.strip()
        values = {"folder": folder, "user": user.pw_name, "group": group, "port": self.port}
        (folder / "dovecot.conf").write_text(CONFIGURATION.format(**values))
        (folder / "oauth2.conf").write_text(INTROSPECTION.format(url=self.provider.url))
        self._process: subprocess.Popen[bytes] | None = None
        self._uid = user.pw_uid
        self._mails = 0

    def put(self, raw: bytes) -> None:
        """Delivers a mail."""
        self._mails += 1
        path = self.folder / "mail" / "tmp" / f"{self._mails:04}.test"
        path.write_bytes(raw)
        if os.geteuid() == 0:
            os.chown(path, self._uid, -1)
        path.rename(self.folder / "mail" / "new" / path.name)

    @property
    def mails(self) -> int:
        """The number of mails in the inbox."""
        return sum(len(list((self.folder / "mail" / name).iterdir())) for name in ("new", "cur"))

    def __enter__(self) -> Self:
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [PROGRAM, "-F", "-c", str(self.folder / "dovecot.conf")], start_new_session=True
        )
        while True:
            try:
                with socket.create_connection((HOST, self.port), timeout=30) as line:
                    assert line.recv(100).startswith(b"* OK")
                return self
            except ConnectionRefusedError:
                assert self._process.poll() is None, (self.folder / "log").read_text()

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)
        self.provider.stop()
