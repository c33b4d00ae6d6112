// Runs the page of a ticket: saves properties when they are chosen, shows who else is here and what is new, and opens
// the list that one came from beside it.
import { all, calmly, enhance, follow, formToken, isPlain } from "./page.js";
import { put } from "./swap.js";
import { t } from "./say.js";
import "./turns.js";
import "./writing.js";

const BEAT = 20_000; // milliseconds between signs of presence
const QUIET = 4000; // milliseconds after our own act in which changes are not announced
let ticket = document.querySelector("[data-ticket]");
let acted = 0;

// -- properties --------------------------------------------------------------------------------------------------------

addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.matches("[data-auto]") && form.reportValidity()) form.requestSubmit(form.querySelector("[data-quiet]"));
});
// Shows a language by name, or by code while it is edited.
enhance((root) => all("[data-language]", root).forEach((input) => {
  let code = input.value;
  function named() {
    try {
      input.value = code && new Intl.DisplayNames([document.documentElement.lang], { type: "language" }).of(code.replaceAll("_", "-"));
    } catch {
      input.value = code;
    }
  }
  input.addEventListener("focus", () => (input.value = code));
  input.addEventListener("input", () => (code = input.value));
  input.addEventListener("blur", named);
  input.form.addEventListener("formdata", ({ formData }) => formData.set(input.name, code));
  named();
}));
addEventListener("submit", ({ target }) => {
  acted = Date.now();
  if (target.closest("#answer")) (typed = -Infinity), sign();
}, true);

// -- who is here, and what is new --------------------------------------------------------------------------------------

const STILL = 60_000; // milliseconds without a key after which writing counts as over
let typed = -Infinity;
let writing = "writing"; // or "noting"
const doing = () => (performance.now() - typed < STILL ? writing : "viewing");
let signs = 0;
let signed = Promise.resolve(); // the last one sent; the next waits so as not to overtake it
function sign(now = doing()) {
  const body = new URLSearchParams({ doing: now, seen: now === "left" ? (seen ?? []).join(".") : "", _xsrf: formToken() });
  const address = `${ticket.dataset.ticket}/presence`;
  const send = () => fetch(address, { method: "POST", body, keepalive: true, headers: { "X-Live": "1" } }).catch(() => {});
  const own = ++signs;
  signed = now === "left" ? send() : signed.then(() => own === signs && send());
}
function showPeople(people) {
  const place = document.querySelector("[data-present]");
  const says = {
    writing: (who) => t("{name} is writing a reply", who),
    noting: (who) => t("{name} is writing a note", who),
    viewing: (who) => t("{name} is viewing", who),
  };
  const texts = people.map((each) => says[each.doing](each));
  if (place && place.textContent !== texts.join(" · ")) place.textContent = texts.join(" · ");
}
let changes = [];
const renew = () => import("./thread.js").then((each) => each.renew(changes.splice(0), Date.now() - acted <= QUIET), () => null);
const renewSoon = calmly(renew, 300);
let stream = null;
function attend() {
  stream?.close();
  if (document.hidden) return sign("left");
  sign();
  stream = follow(`${ticket.dataset.ticket}/live?since=${ticket.dataset.followed}`, {
    message(told) {
      showPeople(told.people ?? []);
      changes.push(...(told.changes ?? []));
      if (changes.length) renewSoon();
    },
  });
}
addEventListener("input", ({ target }) => {
  if (!target.closest?.("#answer")) return;
  writing = target.closest(".note-form") ? "noting" : "writing";
  if (writing === "noting") dispatchEvent(new Event("writing"));
}, true);
let said = 0;
addEventListener("writing", () => {
  typed = performance.now();
  if (Date.now() - said > 5000) (sign(), (said = Date.now()));
});
if (ticket) {
  attend();
  setInterval(() => document.hidden || sign(), BEAT);
  document.addEventListener("visibilitychange", attend);
  addEventListener("pagehide", () => sign("left"));
  // panes.js replaces this ticket with another.
  addEventListener("leave", () => {
    sign("left");
    stream?.close();
    changes = [];
    typed = -Infinity;
  });
  addEventListener("arrive", () => {
    ticket = document.querySelector("[data-ticket]");
    attend();
  });
}

// -- what was seen ----------------------------------------------------------------------------------------------------

// A reply is stopped once if somebody wrote something that its writer has not seen. Seen are the entries that the page
// came with, and later ones that were in view for a while. The form sends a mark of them; see server/tickets/unseen.py.
const LOOK = 1000; // milliseconds in view
const PLACES = { message: 1, comment: 2, draft: 3 }; // in the mark; 0 is the number of messages
const seenField = (root) => root.querySelector("form[data-writing] [name=seen]");
const readSeen = () => ticket?.dataset.seen.split(".").map(Number);
let seen = readSeen();
function show(form = document) {
  const field = seenField(form);
  if (field && seen) field.value = seen.join(".");
}
show(); // Back restores an older mark
function see(item) {
  const [, kind, id] = /^(message|comment|draft)(\d+)$/.exec(item.id);
  if (kind === "message" && !("mine" in item.dataset)) seen[0] += 1;
  seen[PLACES[kind]] = Math.max(seen[PLACES[kind]], Number(id));
  show();
}
const timers = new Map();
const inView = new IntersectionObserver((changed) => {
  for (const { target, intersectionRatio, intersectionRect } of changed) {
    clearTimeout(timers.get(target));
    if (intersectionRatio < 0.5 && intersectionRect.height < innerHeight * 0.4) continue;
    timers.set(target, setTimeout(() => {
      if (document.hidden) return inView.observe(target);
      inView.unobserve(target);
      see(target);
    }, LOOK));
  }
}, { threshold: [0, 0.25, 0.5] });
if (ticket) {
  addEventListener("arrive", () => (seen = readSeen()));
  enhance((root) => {
    if (root === document || root === ticket || !seen) return;
    for (const item of root.matches("li[id]") ? [root] : all(".said-list > li[id]", root)) {
      const [, kind, id] = /^(message|comment|draft)(\d+)$/.exec(item.id) ?? [];
      if (kind && Number(id) > seen[PLACES[kind]]) inView.observe(item);
    }
  });
  addEventListener("put", ({ detail }) => show(detail));
}

// -- other kinds of replies, and older entries, in place --------------------------------------------------------------

// Focuses the reply: after text already there, before the signature, or above a quotation.
function first() {
  document.querySelector("#answer > .line")?.remove();
  const text = document.querySelector("[data-first-field]");
  if (!text) return;
  text.focus();
  if (!text.matches("textarea") || text.selectionEnd || text.value.startsWith("\n")) return;
  const end = text.value.lastIndexOf("\n\n#signature");
  const place = end < 0 ? text.value.length : end;
  text.setSelectionRange(place, place);
}
async function formOf(part, address) {
  await part.querySelector("form[data-writing]")?.keepNow();
  const answer = await fetch(`${address.pathname}/answer${address.search}`, { headers: { "X-Part": "answer" } }).catch(() => null);
  return answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("answer");
}
async function answerBy(link) {
  const [part, address] = [document.getElementById("answer"), new URL(link.href)];
  const isShown = link.ariaCurrent === "page";
  const fresh = isShown || (await formOf(part, address));
  if (!fresh) return location.assign(link.href);
  const shown = new URL(location.href);
  for (const [name, value] of address.searchParams) shown.searchParams.set(name, value);
  if (!address.searchParams.has("to")) shown.searchParams.delete("to");
  history.replaceState(null, "", shown.pathname + shown.search);
  if (!isShown) {
    document.activeElement?.blur();
    put(part, fresh, true);
  }
  first();
  part.scrollIntoView({ block: "nearest" });
}
addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.button || !isPlain(event) || link.target) return;
  const isAnswer = link.closest(".ticket") && /[?&]answer=/.test(link.search) && document.getElementById("answer");
  if (!isAnswer && !link.matches(".earlier a")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  link.closest("details.menu")?.removeAttribute("open");
  const { opens } = link.dataset; // of a form folded to a line
  if (opens) return answerBy(document.querySelector(`#answer .tabs [data-hotkey="${opens}"]`));
  if (isAnswer) answerBy(link);
  else import("./thread.js").then(({ older }) => older(link));
}, true);

// The browser goes to #answer first, which moves the focus.
if (location.hash === "#answer") {
  const go = () => setTimeout(first);
  if (document.readyState === "complete") go();
  else addEventListener("load", go);
}

if (ticket) import("./panes.js").then((each) => each.begin());
if (ticket) import("./sheets.js");
import("./masks.js");
// Only with the writing assistant; without this module its buttons lead to pages.
enhance((root) => root.querySelector("[data-assist]") && import("./assist.js"));
