"""A stand-in for the mail part of Microsoft Graph on 127.0.0.1, after its documents, as strict as these: limits of
requests and uploads, permissions, tokens of changes that expire, ids that change when a mail is moved unless a client
asks for those that do not.

    with GraphServer() as graph:
        graph.box().put(raw)

Also the token endpoint of its tenant: each renewal replaces the token."""

import base64
import binascii
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.utils import getaddresses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

HOST = "127.0.0.1"
USER = "help@desk.example"
KiB = 1024
MAX_REQUEST_BYTES = 4 * KiB * KiB
MAX_POSTED_BYTES, MIN_SESSION_BYTES = 3_145_611, 2 * KiB * KiB  # as measured by others; the documents say 3 MB
PART_BYTES = 320 * KiB
NOON = 1_790_000_000  # when the first mail was received, Unix seconds
READ, WRITE, SEND = "Mail.Read", "Mail.ReadWrite", "Mail.Send"


class Refused(Exception):
    def __init__(self, status: int, code: str, text: str = "", **headers: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.headers = status, code, text, headers


@dataclass
class Mail:
    raw: bytes
    folder: str
    number: int
    received_at: int
    is_draft: bool = False
    message_id: str = ""
    files: list[dict[str, Any]] = field(default_factory=list)
    recipients: tuple[str, ...] = ()

    @property
    def lasting_id(self) -> str:
        return f"AAkALg-{self.number:06}="


@dataclass
class Upload:
    mail: Mail
    item: dict[str, Any]
    content: bytearray = field(default_factory=bytearray)


class Box:
    """The mailbox of one user. sent: mails that left, in order."""

    def __init__(self) -> None:
        self.folders = {
            name: ("", name.title()) for name in ("inbox", "drafts", "sentitems", "deleteditems", "archive")
        }
        self.mails: dict[int, Mail] = {}
        self.log: list[int] = []  # numbers of mails that changed
        self.sent: list[Mail] = []
        self._numbers = count(1)

    def add(self, raw: bytes, folder: str = "inbox", **values: Any) -> Mail:
        number = next(self._numbers)
        mail = Mail(raw, folder, number, **{"received_at": NOON + number, **values})
        mail.message_id = mail.message_id or head_of(raw).get("Message-ID", f"<{number}@prod.outlook.example>")
        self.mails[number] = mail
        self.log.append(number)
        return mail

    def put(self, *raws: bytes) -> None:
        """Adds mails to the inbox."""
        for raw in raws:
            self.add(raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def move(self, mail: Mail, folder: str) -> None:
        self.log.append(mail.number)
        mail.folder = folder

    def inside(self, folder: str) -> list[Mail]:
        return [mail for mail in self.mails.values() if mail.folder == folder]


def head_of(raw: bytes) -> Any:
    return message_from_bytes(raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", policy=policy.default)


class GraphServer:
    """users: mailboxes by address. scopes: the granted permissions. token: the one that is accepted; renewed: how often
    it was renewed; is_renewable: whether renewals bring a valid one. page_mails: mails of a page of changes. busy:
    number of next requests that are throttled; wait: the seconds to wait. asked: lines of requests, with status.
    unknown: recipients that do not exist. faults: {pattern of a request line: what goes wrong}: `lost` drops the
    response of a completed request, `down` completes nothing. before, after: called with the line of each request
    before it is processed, and before its response."""

    def __init__(self) -> None:
        self.users = {USER: Box()}
        self.scopes = {READ, WRITE, SEND}
        self.token, self.renewed, self.is_renewable = "token-0", 0, True
        self.page_mails = 100
        self.busy, self.wait = 0, "60"
        self.unknown: set[str] = set()
        self.faults: dict[str, str] = {}
        self.asked: list[str] = []
        self.before: Callable[[str], object] = lambda line: None
        self.after: Callable[[str], object] = lambda line: None
        self.lock = threading.RLock()
        self._news = threading.Condition()
        self.marks: dict[str, tuple[str, list[int], int]] = {}  # {token: (folder, mails to come, place in the log)}
        self.uploads: dict[str, Upload] = {}
        self._numbers = count(1)
        graph = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None: ...

            def respond(self) -> None:
                self.close_connection = True
                response = graph.respond(self.command, self.path, self.headers, self.rfile)
                if response is None:
                    return
                status, headers, content = response
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = respond

        self._server = _Threads((HOST, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}"

    def box(self, user: str = USER) -> Box:
        return self.users[user]

    def expire(self) -> None:
        """Forgets the positions of all clients."""
        self.marks.clear()

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits a limited time until a condition holds after a request."""
        with self._news:
            assert self._news.wait_for(condition, 60), self.asked[-20:]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # -- requests ------------------------------------------------------------------------------------------------------

    def respond(
        self, method: str, target: str, headers: Mapping[str, str], stream: Any
    ) -> tuple[int, dict[str, str], bytes] | None:
        size = int(headers.get("Content-Length") or 0)
        body = stream.read(size)
        path = urlsplit(target).path
        line = f"{method} {unquote(path)}"
        self.before(line)
        fault = next((fault for pattern, fault in self.faults.items() if re.search(pattern, line)), "")
        if fault == "down":
            self.asked.append(f"{line} -")
            return None
        try:
            with self.lock:
                status, content = self._answer(method, target, headers, body)
                extra: dict[str, str] = {}
        except Refused as refusal:
            status, extra = refusal.status, {name.replace("_", "-"): value for name, value in refusal.headers.items()}
            content = {"error": {"code": refusal.code, "message": refusal.text, "innerError": {"request-id": "1"}}}
        self.asked.append(f"{line} {status}")
        with self._news:
            self._news.notify_all()
        self.after(line)
        if fault == "lost":
            return None
        if isinstance(content, bytes):
            return status, {"Content-Type": "text/plain", **extra}, content
        raw = b"" if content is None else json.dumps(content).encode()
        return status, {"Content-Type": "application/json", **extra}, raw

    def _answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        steps = [unquote(each) for each in parts.path.strip("/").split("/")]
        if steps == ["token"]:
            return self._renew(parse_qs(body.decode()))
        if steps[0] == "upload":
            return self._upload(method, query.get("authtoken", ""), headers, body)
        if self.busy:
            self.busy -= 1
            raise Refused(429, "ApplicationThrottled", "Too many requests.", Retry_After=self.wait)
        if headers.get("Authorization") != f"Bearer {self.token}":
            raise Refused(401, "InvalidAuthenticationToken", "Access token has expired or is not yet valid.")
        if len(body) > MAX_REQUEST_BYTES:
            raise Refused(413, "RequestEntityTooLarge", "The request exceeds the maximum size.")
        if steps[:2] != ["v1.0", "users"] or len(steps) < 4:
            raise Refused(400, "BadRequest", "Resource not found for the segment.")
        box = self.users.get(steps[2])
        if box is None:
            raise Refused(404, "ErrorInvalidUser", f"The requested user '{steps[2]}' is invalid.")
        is_lasting = 'IdType="ImmutableId"' in headers.get("Prefer", "")
        request = Request(self, box, method, steps[3:], query, headers, body, is_lasting)
        return request.answer()

    def require(self, *scopes: str) -> None:
        if not self.scopes & set(scopes):
            raise Refused(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")

    def mark(self, folder: str, mails: list[int], place: int) -> str:
        token = f"t{next(self._numbers)}x" + "z" * 400
        self.marks[token] = folder, mails, place
        return token

    def _renew(self, form: dict[str, list[str]]) -> tuple[int, Any]:
        if form.get("client_secret") != ["secret"] or form.get("grant_type") != ["refresh_token"]:
            return 400, {"error": "invalid_grant"}
        self.renewed += 1
        token = f"token-{self.renewed}"
        if self.is_renewable:
            self.token = token
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600}

    def new_upload(self, upload: Upload) -> str:
        token = f"u{next(self._numbers)}"
        self.uploads[token] = upload
        return f"{self.url}/upload?authtoken={token}"

    def _upload(self, method: str, token: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        upload = self.uploads.get(token)
        if upload is None or headers.get("Authorization"):
            raise Refused(401, "InvalidAuthenticationToken", "The address of the upload is its authorization.")
        size, done = upload.item["size"], len(upload.content)
        if method == "GET":
            return 200, {"nextExpectedRanges": [f"{done}-"]}
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", headers.get("Content-Range", ""))
        if method != "PUT" or match is None or headers.get("Content-Type") != "application/octet-stream":
            raise Refused(400, "invalidRequest", "Content-Range is missing.")
        start, last, total = map(int, match.groups())
        if len(body) >= MAX_REQUEST_BYTES:
            raise Refused(413, "maxFragmentLengthExceeded")
        if total != size or last - start + 1 != len(body) or (len(body) % PART_BYTES and last + 1 != size):
            raise Refused(400, "fragmentLengthMismatch", "The part has a wrong length.")
        if start != done:
            raise Refused(416, "fragmentOutOfOrder", "Uploaded fragment is out of order.")
        upload.content += body
        if len(upload.content) < size:
            return 200, {"nextExpectedRanges": [str(len(upload.content))]}
        upload.mail.files.append({**upload.item, "content": bytes(upload.content)})
        del self.uploads[token]
        return 201, None


class _Threads(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect."""


@dataclass
class Request:
    """A request for something in a mailbox. steps: of its path, below the user."""

    graph: GraphServer
    box: Box
    method: str
    steps: list[str]
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes
    is_lasting: bool

    def answer(self) -> tuple[int, Any]:
        match self.method, self.steps:
            case "POST", ["sendMail"]:
                self.graph.require(SEND)
                mail = self._from_mime("sentitems")
                return self._send(mail, 202)
            case "GET", ["mailFolders"] | ["mailFolders", _, "childFolders"]:
                self.graph.require(READ, WRITE)
                return 200, self._folders(self._folder(self.steps[1]) if len(self.steps) > 1 else "")
            case "GET", ["mailFolders", name]:
                self.graph.require(READ, WRITE)
                return 200, {"id": f"F-{self._folder(name)}"}
            case "GET", ["mailFolders", name, "messages", "delta"]:
                self.graph.require(READ, WRITE)
                return 200, self._delta(self._folder(name))
            case "GET", ["messages"]:
                self.graph.require(READ, WRITE)
                return 200, {"value": [self._shown(each) for each in self._filtered()]}
            case "POST", ["messages"]:
                self.graph.require(WRITE)
                mail = self._from_mime("drafts", is_draft=True)
                return 201, self._shown(mail)
            case method, ["messages", id, *rest]:
                return self._message(method, self._mail(id), rest)
        raise Refused(400, "BadRequest", "Resource not found for the segment.")

    def _message(self, method: str, mail: Mail, rest: list[str]) -> tuple[int, Any]:
        self.graph.require(*((READ, WRITE) if method == "GET" else (SEND,) if rest == ["send"] else (WRITE,)))
        match method, rest:
            case "GET", []:
                return 200, self._shown(mail)
            case "GET", ["$value"]:
                return 200, mail.raw
            case "PATCH", []:
                mail.message_id = self._json()["internetMessageId"]
                return 200, self._shown(mail)
            case "DELETE", []:
                del self.box.mails[mail.number]
                self.box.log.append(mail.number)
                return 204, None
            case "POST", ["move"]:
                self.box.move(mail, self._folder(self._json()["destinationId"]))
                return 201, self._shown(mail)
            case "POST", ["send"]:
                return self._send(mail, 202)
            case "POST", ["attachments"]:
                return self._attach(mail, self._json())
            case "POST", ["attachments", "createUploadSession"]:
                return self._begin_upload(mail, self._json()["AttachmentItem"])
        raise Refused(405, "ErrorInvalidRequest")

    # -- reading -------------------------------------------------------------------------------------------------------

    def _folder(self, name: str) -> str:
        key = name.removeprefix("F-")
        if key not in self.box.folders:
            raise Refused(404, "ErrorItemNotFound", "The specified object was not found in the store.")
        return key

    def _folders(self, parent: str) -> dict[str, Any]:
        match = re.fullmatch(r"displayName eq '(.*)'", self.query.get("$filter", ""))
        assert match is not None
        name = match[1].replace("''", "'")
        found = [key for key, (above, shown) in self.box.folders.items() if above == parent and shown == name]
        return {"value": [{"id": f"F-{key}"} for key in found]}

    def _delta(self, folder: str) -> dict[str, Any]:
        token = self.query.get("$deltatoken") or self.query.get("$skiptoken")
        if token is None:
            mails, place = [mail.number for mail in self.box.inside(folder)][::-1], len(self.box.log)
        elif token not in self.graph.marks:
            raise Refused(410, "SyncStateNotFound", "The sync state generation is not found.")
        else:
            _, mails, place = self.graph.marks[token]
            if "$deltatoken" in self.query:
                mails, place = list(dict.fromkeys(self.box.log[place:])), len(self.box.log)
        asked = re.search(r"odata.maxpagesize=(\d+)", self.headers.get("Prefer", ""))
        most = min(self.graph.page_mails, int(asked[1]) if asked else 10)
        page, rest = mails[:most], mails[most:]
        name, word = ("@odata.nextLink", "$skiptoken") if rest else ("@odata.deltaLink", "$deltatoken")
        path = f"{self.graph.url}/v1.0/users/{USER}/mailFolders/F-{folder}/messages/delta"
        link = f"{path}?{word}={self.graph.mark(folder, rest, place)}"
        return {"value": [self._change(number, folder) for number in page], name: link}

    def _change(self, number: int, folder: str) -> dict[str, Any]:
        mail = self.box.mails.get(number)
        if mail is None or mail.folder != folder:
            gone = mail or Mail(b"", "", number, 0)
            return {"id": self._id(gone), "@removed": {"reason": "deleted"}}
        return self._shown(mail)

    def _filtered(self) -> list[Mail]:
        match = re.fullmatch(r"internetMessageId eq '(.*)'", self.query["$filter"])
        assert match is not None
        id = match[1].replace("''", "'")
        return [mail for mail in self.box.mails.values() if mail.message_id == id]

    def _mail(self, id: str) -> Mail:
        for mail in self.box.mails.values():
            if id in (mail.lasting_id, f"AAMk-{mail.folder}-{mail.number}="):
                return mail
        raise Refused(404, "ErrorItemNotFound", "The specified object was not found in the store.")

    def _id(self, mail: Mail) -> str:
        return mail.lasting_id if self.is_lasting else f"AAMk-{mail.folder}-{mail.number}="

    def _shown(self, mail: Mail) -> dict[str, Any]:
        shown = str(head_of(mail.raw)["To"])
        return {
            "@odata.etag": f'W/"{mail.number}"',
            "id": self._id(mail),
            "receivedDateTime": datetime.fromtimestamp(mail.received_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "isDraft": mail.is_draft,
            "parentFolderId": f"F-{mail.folder}",
            "internetMessageId": mail.message_id,
            "toRecipients": [{"emailAddress": {"address": each}} for each in mail.recipients if each in shown],
            "ccRecipients": [],
            "bccRecipients": [{"emailAddress": {"address": each}} for each in mail.recipients if each not in shown],
        }

    # -- writing -------------------------------------------------------------------------------------------------------

    def _json(self) -> Any:
        assert self.headers.get("Content-Type") == "application/json"
        return json.loads(self.body)

    def _from_mime(self, folder: str, *, is_draft: bool = False) -> Mail:
        assert self.headers.get("Content-Type") == "text/plain"
        try:
            raw = base64.b64decode(self.body, validate=True)
        except binascii.Error:
            raise Refused(400, "ErrorMimeContentInvalidBase64String", "Invalid base64 string.") from None
        head = head_of(raw)
        fields = [str(each) for name in ("To", "Cc", "Bcc") for each in head.get_all(name, [])]
        recipients = tuple(address for _, address in getaddresses(fields))
        if not is_draft:
            self._require_recipients(recipients)
        if not {address for _, address in getaddresses([str(head["From"])])} & set(self.graph.users):
            raise Refused(403, "ErrorSendAsDenied", "The account does not have the right to send as this sender.")
        before, line, body = raw.partition(b"\r\n\r\n")
        without_bcc = re.sub(rb"(?m)^Bcc:.*\r\n(?:[ \t].*\r\n)*", b"", before)
        return self.box.add(without_bcc + line + body, folder, is_draft=is_draft, recipients=recipients)

    def _require_recipients(self, recipients: tuple[str, ...]) -> None:
        wrong = [each for each in recipients if each in self.graph.unknown]
        if not recipients or wrong:
            names = "".join(f" Recipient '{each}' is not resolved." for each in wrong)
            raise Refused(400, "ErrorInvalidRecipients", f"At least one recipient is not valid.,{names}")

    def _send(self, mail: Mail, status: int) -> tuple[int, None]:
        self._require_recipients(mail.recipients)
        self.box.move(mail, "sentitems")
        mail.is_draft = False
        self.box.sent.append(mail)
        return status, None

    def _attach(self, mail: Mail, item: dict[str, Any]) -> tuple[int, Any]:
        content = base64.b64decode(item["contentBytes"], validate=True)
        assert item["@odata.type"] == "#microsoft.graph.fileAttachment"
        if len(content) > MAX_POSTED_BYTES:
            raise Refused(413, "RequestEntityTooLarge")
        mail.files.append({**item, "content": content})
        return 201, {"id": f"file-{len(mail.files)}"}

    def _begin_upload(self, mail: Mail, item: dict[str, Any]) -> tuple[int, Any]:
        if item["size"] < MIN_SESSION_BYTES:
            raise Refused(400, "ErrorAttachmentSizeShouldNotBeLessThanMinimumSize", "Attachment size must be greater.")
        if item["attachmentType"] != "file" or not item["name"]:
            raise Refused(400, "ErrorInvalidRequest")
        url = self.graph.new_upload(Upload(mail, item))
        return 201, {"uploadUrl": url, "expirationDateTime": "2099-01-01T00:00:00Z", "nextExpectedRanges": ["0-"]}
