"""Threads with each mail program: a customer writes, a worker replies, the customer replies with the quoted email. All
email passes through mail servers, and a worker reads it in a dark browser, wide and on a phone."""

import re
import smtplib
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import mail_programs
from tests.console.browser import PHONE, WIDE, Browser, is_sideways
from tests.console.visitor import Visitor, text_of
from tests.mail_programs import DESK, FILES, PICTURES, PROGRAMS, Program
from tests.service import Api, Server
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.exhaustive("a thread with every mail program")
QUOTE_LINE = "#original_message"
ANSWER = f"Hello,\n\nwhich **pump** is it?\n\n- the small one\n- the large one\n\nNora\n\n{QUOTE_LINE}"
QUOTING = ("last", "thread", "none")  # settings of the group, in turns
LEAST_CONTRAST = 4.5
PREVIEW_CHARACTERS = 30
HEIGHT = "each => Math.ceil(each.contentDocument.body.getBoundingClientRect().height) + 8"
MAX_BLANK = 24  # pixels in a frame below its last line, and above a fold

SHOWN = """article => {
  const frame = article.querySelector("iframe.mail");
  const texts = frame ? [frame.contentDocument.body] : [...article.querySelectorAll(".said-text")];
  return texts.filter(each => !each.closest("details.folded")).map(each => {
    const copy = each.cloneNode(true);
    copy.querySelectorAll("details, .more").forEach(inner => inner.remove());
    copy.querySelectorAll("p, div, br, td").forEach(inner => inner.after(" "));
    return copy.textContent;
  }).join(" ").replace(/\\s+/g, " ").trim();
}"""
# The colours that the canvas computes include those of light-dark() and of system colours.
CONTRASTS = """frame => {
  const view = frame.contentWindow, body = frame.contentDocument.body;
  const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d");
  const light = color => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(each => each / 255)
      .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = each => {
    for (; each; each = each.parentElement) {
      const color = view.getComputedStyle(each).backgroundColor;
      if (!/^(rgba\\(.*, 0\\)|transparent)$/.test(color)) return color;
    }
    return getComputedStyle(document.querySelector("article.customer")).backgroundColor;
  };
  return [...body.querySelectorAll("*")].filter(each => each.checkVisibility()
      && [...each.childNodes].some(inner => inner.nodeType === 3 && inner.data.trim())).map(each => {
    const [first, second] = [light(view.getComputedStyle(each).color), light(ground(each))];
    const ratio = (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
    return [Math.round(ratio * 10) / 10, each.textContent.trim().slice(0, 40)];
  });
}"""
# [blank pixels below the last line, those above each fold, pixels that are wider or higher than the frame]
BLANKS = """frame => {
  const body = frame.contentDocument.body, root = frame.contentDocument.documentElement;
  const walker = frame.contentDocument.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const lines = [...body.querySelectorAll("img")];
  while (walker.nextNode()) {
    const text = walker.currentNode, parent = text.parentElement;
    if (text.data.trim() && (parent.nodeName === "SUMMARY" || !parent.closest("details"))) lines.push(text);
  }
  const box = line => {
    const range = frame.contentDocument.createRange();
    range.selectNode(line);
    return range.getBoundingClientRect();
  };
  const isBefore = (each, fold) => each.compareDocumentPosition(fold) & Node.DOCUMENT_POSITION_FOLLOWING;
  const folds = [...body.querySelectorAll("summary")].map(fold => box(fold.firstChild).top
    - Math.max(0, ...lines.filter(each => isBefore(each, fold)).map(each => box(each).bottom)));
  return [frame.offsetHeight - Math.max(...lines.map(each => box(each).bottom)), Math.max(0, ...folds),
    Math.max(root.scrollWidth - root.clientWidth, body.scrollHeight - frame.clientHeight, 0)].map(Math.round);
}"""


class Thread(NamedTuple):
    """A ticket that begins with an email of `number`, and has a reply of the team and one of the customer."""

    number: int
    program: Program
    ticket: dict[str, str]
    sent: mail_programs.Sent


class Desk:
    """A service that receives and sends by SMTP. nora: its administrator."""

    def __init__(self, data: Path, smtp: SmtpServer) -> None:
        listener = {"HELPDESK_LMTP_HOST": smtp.host, "HELPDESK_LMTP_PORT": "0", "HELPDESK_LMTP_PROTOCOL": "smtp"}
        self.server, self.smtp = Server(data, env=listener), smtp
        assert self.server.process.stdout is not None
        line = self.server.process.stdout.readline().decode()
        self.port = int(re.search(r":(\d+)\s*$", line)[1])  # type: ignore[index]
        self.nora: Api = self.server.set_up()
        params = {"host": smtp.host, "port": str(smtp.port)}
        made = self.nora.create("mail_transport", name="SMTP", extension_id="core.mail.transport.smtp", params=params)
        address = self.nora.create("address", email=DESK, mail_transport_id=made.ok()["id"]).ok()["id"]
        self.group = self.nora.search("group", "default:yes").ok()["results"][0]["id"]
        self.nora.update("group", self.group, reply_address_id=address).ok()
        self.visitor = Visitor(self.server.url)
        assert self.visitor.sign_in().status_code == 303

    def deliver(self, raw: bytes, number: int) -> None:
        with smtplib.SMTP(self.smtp.host, self.port, timeout=60) as client:
            client.sendmail(mail_programs.address_of(number), [DESK], raw)

    def reply(self, ticket_id: int, content: str) -> bytes:
        """Replies to the newest message; returns the email as it was delivered."""
        newest = self.nora.record("ticket", ticket_id).ok()["latest_message_id"]
        self.nora.reply(message_id=newest, content=content, content_format="markdown", status=1).ok()
        return self.smtp.take().raw

    def thread(self, name: str) -> Thread:
        program, number = PROGRAMS[name], list(PROGRAMS).index(name)
        self.nora.update("group", self.group, quoted_history="last").ok()
        self.deliver(mail_programs.first_mail(program, number), number)
        [ticket] = self.nora.search("ticket", "sort:-id", limit=1).ok()["results"]
        sent = mail_programs.read_sent(self.reply(ticket["id"], ANSWER))
        self.deliver(mail_programs.reply_mail(program, sent, number), number)
        return Thread(number, program, ticket, sent)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with SmtpServer() as smtp:
        made = Desk(tmp_path_factory.mktemp("programs") / "data", smtp)
        yield made
        assert made.server.stop() == 0


@pytest.fixture(scope="module")
def dark_page(chromium: Browser, desk: Desk) -> Iterator[Page]:
    """A dark page that may request nothing of other sites."""
    with chromium.page(desk.server.url, WIDE, desk.visitor.cookies, color_scheme="dark", is_journey=True) as opened:
        yield opened


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_thread_is_read_and_goes_on(desk: Desk, dark_page: Page, name: str) -> None:
    thread = desk.thread(name)
    ticket = desk.nora.record("ticket", int(thread.ticket["id"])).ok()
    assert (ticket["num_messages"], ticket["status"]) == (3, "open"), "the reply belongs to another ticket"
    is_read(dark_page, thread)
    is_listed(desk, thread)
    goes_on(desk, thread)


def is_read(page: Page, thread: Thread) -> None:
    """Asserts that the reply shows typed words, its pictures once and its files, and that the quotation opens."""
    program = thread.program
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.goto(f"/tickets/{thread.ticket['mask']}?open=all")
    articles = page.locator("#thread article")
    expect(articles).to_have_count(3)
    reply = articles.last
    has_frame = bool(reply.locator("iframe.mail").count())
    quoted = reply.frame_locator("iframe.mail").locator("details") if has_frame else reply.locator("details.folded")
    expect(quoted).not_to_have_count(0)
    assert reply.evaluate(SHOWN) == " ".join(" ".join((*program.said, program.shown)).split())
    if has_frame:
        pictures = [each for each in program.files if each in PICTURES]
        expect(reply.frame_locator("iframe.mail").locator("img")).to_have_count(len(pictures))
        is_fitting(page, reply)
    chips = [FILES[each][0] for each in program.files if not (has_frame and each in PICTURES)]
    expect(reply.locator(".files li:visible > a:first-child")).to_have_text([*chips, *program.packed])
    for each in quoted.all():
        each.locator("summary").click()
    expect(quoted.filter(has_text="the large one").first).to_have_attribute("open", "")
    if has_frame:
        is_readable(reply)


def is_fitting(page: Page, reply: Locator) -> None:
    """Asserts that the frame has the height of its email, wide and on a phone."""
    for width, height in (WIDE, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        frame = reply.locator("iframe.mail")
        expect(frame).to_have_css("height", f"{frame.evaluate(HEIGHT)}px")
        below, above, beyond = frame.evaluate(BLANKS)
        assert below <= MAX_BLANK and above <= MAX_BLANK and beyond == 0, (width, below, above, beyond)
        assert not is_sideways(page), width


def is_readable(reply: Locator) -> None:
    """Asserts that all text of the email has enough contrast with its background."""
    texts = reply.locator("iframe.mail").evaluate(CONTRASTS)
    assert texts and min(texts)[0] >= LEAST_CONTRAST, min(texts)


def is_listed(desk: Desk, thread: Thread) -> None:
    """Asserts that the row of the ticket begins with typed words."""
    subject = mail_programs.subject_of(thread.program, thread.number)
    page = desk.visitor.get("/inbox", params={"v": "open", "q": f'subject:"{subject}"'}).text
    [words] = re.findall(r'<span class="words">(.*?)<span class="mask">', page, re.DOTALL)
    said = [each for each in thread.program.said if each]
    typed = " ".join(said[1:] if said[0].endswith((",", "،")) and said[1:] else said)
    shown = re.sub(r"^(?:\S+: )?(?:\d files? )?", "", text_of(words))
    assert shown.startswith(typed[:PREVIEW_CHARACTERS]), (shown, typed)


def goes_on(desk: Desk, thread: Thread) -> None:
    """Asserts that the next reply refers to the email of the customer, and quotes as the group wants."""
    quoting, number = QUOTING[thread.number % len(QUOTING)], thread.number
    desk.nora.update("group", desk.group, quoted_history=quoting).ok()
    form = desk.visitor.get(f"/tickets/{thread.ticket['mask']}?answer=reply").text
    assert (QUOTE_LINE in form) == (quoting != "none")
    raw = desk.reply(int(thread.ticket["id"]), f"Thank you.\n\n{QUOTE_LINE if quoting != 'none' else ''}")
    mail = message_from_bytes(raw, policy=policy.default)
    assert isinstance(mail, EmailMessage) and mail["To"].addresses[0].addr_spec == mail_programs.address_of(number)
    first, second = (mail_programs.message_id(number, is_reply=each) for each in (False, True))
    assert mail["In-Reply-To"] == second
    assert mail["References"].split()[1:] == [first, thread.sent.message_id, second]  # the first is of the ticket
    text, rich = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))  # type: ignore[union-attr]
    typed = thread.program.said[-1]
    is_quoted = quoting != "none"
    assert (re.search(f"(?m)^> .*{re.escape(typed[:20])}", text) is not None, "<blockquote" in rich) == (
        is_quoted,
        is_quoted,
    )
