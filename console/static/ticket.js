// A ticket: frames as high as their mail, properties saved when they are chosen, who else is here, what is new, and the
// list that one came from beside it.
import { all, calmly, enhance, formToken, say } from "./page.js";
import { put } from "./swap.js";
import { t } from "./say.js";
import "./writing.js";

const BEAT = 20_000; // milliseconds between two signs of life
const QUIET = 4000; // after an act of ours, in which a change is no news
document.documentElement.classList.add("js");
const ticket = document.querySelector("[data-ticket]");
let acted = 0;

// -- frames ------------------------------------------------------------------------------------------------------------

function fit(frame) {
  const inside = frame.contentDocument?.body; // the document itself is never lower than the frame
  if (inside) frame.style.height = `${Math.min(Math.ceil(inside.getBoundingClientRect().height) + 8, 4000)}px`;
}
// What is quoted in a mail was read before: it opens when somebody wants it. No script runs in there; we do it from here.
function fold(frame) {
  const inside = frame.contentDocument;
  for (const quote of all("blockquote:not(blockquote blockquote)", inside)) {
    const [folded, name] = [inside.createElement("details"), inside.createElement("summary")];
    name.textContent = t("Quoted text");
    quote.replaceWith(folded);
    folded.append(name, quote);
  }
}
enhance((root) => {
  for (const frame of all("[data-fit]", root)) {
    const now = () => {
      const body = frame.contentDocument?.body;
      if (!body) return;
      if (frame.loading === "lazy") fold(frame);
      fit(frame);
      new ResizeObserver(() => fit(frame)).observe(body);
    };
    frame.addEventListener("load", now);
    if (frame.contentDocument?.readyState === "complete" && frame.contentDocument.body?.childElementCount) now();
  }
});

// -- properties --------------------------------------------------------------------------------------------------------

addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.matches("[data-auto]") && form.reportValidity()) form.requestSubmit(form.querySelector("[data-quiet]"));
});
addEventListener("submit", () => (acted = Date.now()), true);

// -- who is here, and what is new --------------------------------------------------------------------------------------

let doing = "viewing";
function sign(now = doing) {
  const body = new URLSearchParams({ doing: now, _xsrf: formToken() });
  fetch(`${ticket.dataset.ticket}/presence`, { method: "POST", body, keepalive: true, headers: { "X-Live": "1" } }).catch(() => {});
}
function showPeople(people) {
  const place = document.querySelector("[data-present]");
  const texts = people.map((each) => each.doing === "writing" ? t("{name} is writing", each) : t("{name} is viewing", each));
  if (place && place.textContent !== texts.join(" · ")) place.textContent = texts.join(" · ");
}
async function renew() {
  const answer = await fetch(location.href, { headers: { "X-Live": "1" }, redirect: "error" }).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const before = document.getElementById("thread")?.querySelectorAll("article").length;
  for (const id of ["ticket-head", "thread", "panel"]) {
    const [part, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (part && fresh && !part.contains(document.activeElement?.closest("form") ?? null)) put(part, fresh);
  }
  const isMore = document.getElementById("thread")?.querySelectorAll("article").length > before;
  if (Date.now() - acted > QUIET) say(isMore ? t("There is something new on this ticket.") : t("This ticket was changed."));
}
const renewSoon = calmly(renew, 300);
let stream = null;
function follow() {
  stream?.close();
  if (document.hidden) return sign("left");
  sign();
  stream = new EventSource(`${ticket.dataset.ticket}/live?since=${ticket.dataset.followed}`);
  stream.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    showPeople(told.people ?? []);
    if (told.changes?.length) renewSoon();
  });
}
let said = 0;
addEventListener("writing", () => {
  doing = "writing";
  if (Date.now() - said > 5000) (sign(), (said = Date.now()));
});
if (ticket) {
  follow();
  setInterval(() => document.hidden || sign(), BEAT);
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => sign("left"));
}

// The key of what is open goes to where one types; the other kinds are other pages.
addEventListener("click", (event) => {
  const link = event.target.closest?.('.answer .tabs a[aria-current="page"]');
  const first = link && document.querySelector("[data-first-field]");
  if (!first) return;
  event.preventDefault();
  first.focus();
});
// The browser goes to the place first, which takes the focus away.
if (location.hash === "#answer") {
  const go = () => setTimeout(() => document.querySelector("[data-first-field]")?.focus());
  if (document.readyState === "complete") go();
  else addEventListener("load", go);
}

// On a wide screen the list that one came from stands beside the ticket.
const beside = document.querySelector("[data-beside]");
const wide = matchMedia("(min-width: 1600px)");
const fill = async () => wide.matches && (await import("./beside.js")).fill(beside);
if (beside) fill();
if (beside) wide.addEventListener("change", fill);
