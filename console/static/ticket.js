// A ticket: frames as high as their mail, properties saved when they are chosen, who else is here, what is new, and the
// answer: kept while it is typed, with files, snippets and a preview.
import { all, ask, calmly, enhance, formToken, say } from "./page.js";
import { put } from "./swap.js";
import { t } from "./say.js";

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
if (ticket) {
  follow();
  setInterval(() => document.hidden || sign(), BEAT);
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => sign("left"));
}

// -- the answer --------------------------------------------------------------------------------------------------------

const form = document.querySelector("form[data-writing]");
if (form) {
  const field = form.elements;
  const text = field.content;
  const told = form.querySelector("[data-kept]");
  const list = form.querySelector("[data-attached]");
  let isChanged = false;
  let going = null;
  let isOver = false;

  async function keep() {
    if (!isChanged || isOver) return going;
    if (going) return going.then(keep);
    isChanged = false;
    const sent = new FormData(form);
    sent.delete("files[]");
    going = ask(form.dataset.writing, [...sent]).then((kept) => {
      going = null;
      if (kept?.draft) {
        field.draft.value = kept.draft;
        field.revision.value = kept.revision;
        told.textContent = t("Kept as a draft.");
        look();
      } else {
        if (!kept) isChanged = true;
        told.textContent = kept?.conflict ?? t("Not kept: the server does not answer. What you typed is still here.");
      }
    });
    return going;
  }
  const soon = calmly(keep, 1000);
  const changed = () => {
    isChanged = true;
    doing = "writing";
    soon();
  };
  let said = 0;
  form.addEventListener("input", () => {
    changed();
    if (ticket && Date.now() - said > 5000) (sign("writing"), (said = Date.now()));
  });
  form.addEventListener("change", changed);
  document.addEventListener("visibilitychange", () => document.hidden && keep());
  // What is on its way arrives before the form is sent, or it would come back as a draft.
  form.addEventListener("submit", (event) => {
    if (!going || isOver) return (isOver = true);
    event.preventDefault();
    event.stopImmediatePropagation();
    const { submitter } = event;
    isOver = true;
    going.then(() => form.requestSubmit(submitter));
  });

  const preview = () => form.querySelector("iframe.preview");
  function look() {
    const frame = preview();
    if (frame && !frame.hidden) frame.contentWindow.location.replace(`/drafts/${field.draft.value}/preview`);
  }
  form.querySelector("[data-preview]").addEventListener("click", (event) => {
    const frame = preview();
    if (!frame) return;
    event.preventDefault();
    frame.hidden = !frame.hidden;
    event.target.setAttribute("aria-pressed", !frame.hidden);
    if (isChanged) keep();
    else look();
  });

  function wrap(sign, end = sign) {
    const [from, to] = [text.selectionStart, text.selectionEnd];
    text.setRangeText(sign + text.value.slice(from, to) + end, from, to, "end");
    if (from === to) text.selectionStart = text.selectionEnd = from + sign.length;
    text.focus();
    changed();
  }
  function begin(sign) {
    const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    const lines = text.value.slice(from, text.selectionEnd).split("\n").map((line) => sign + line);
    text.setRangeText(lines.join("\n"), from, text.selectionEnd, "end");
    text.focus();
    changed();
  }
  const tools = form.querySelector("[data-tools]");
  tools.hidden = false;
  tools.addEventListener("click", (event) => {
    const { wrap: sign, line, link } = event.target.closest("button")?.dataset ?? {};
    if (sign) wrap(sign);
    else if (line) begin(line);
    else if (link !== undefined) wrap("[", "](https://)");
  });
  text.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const act = { b: () => wrap("**"), i: () => wrap("*"), k: () => wrap("[", "](https://)") }[event.key];
    if (act) (event.preventDefault(), event.stopPropagation(), act());
  });

  const pasting = form.querySelector("[data-paste]");
  pasting?.addEventListener("click", async (event) => {
    if (!field.snippet.value) return;
    event.preventDefault();
    const found = await ask(`/-/snippets/${field.snippet.value}`, { ticket: ticket?.dataset.id ?? "" });
    if (!found) return say(t("The snippet could not be filled in."));
    text.setRangeText(found.text, text.selectionStart, text.selectionEnd, "end");
    field.snippet.value = "";
    text.focus();
    changed();
  });

  // Files are kept as soon as they are chosen, dropped or pasted; the form then names them.
  function attach(file) {
    const item = document.createElement("li");
    const bar = Object.assign(document.createElement("progress"), { max: file.size || 1, value: 0 });
    item.append(`${file.name} `, bar);
    list.append(item);
    const sent = new FormData();
    sent.append("_xsrf", formToken());
    sent.append("file", file, file.name);
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => (bar.value = event.loaded));
    request.addEventListener("loadend", () => {
      let kept = null;
      try {
        kept = request.status === 200 ? JSON.parse(request.responseText) : null;
      } catch {
        // told below
      }
      if (!kept) return item.replaceChildren(t("{name} could not be attached: it may be too large.", { name: file.name }));
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "file_id[]", value: kept.id, checked: true });
      label.append(box, ` ${kept.name}`);
      item.replaceChildren(label);
      changed();
    });
    request.open("POST", form.dataset.files);
    request.send(sent);
  }
  const attachAll = (files) => [...files].forEach(attach);
  const chooser = field["files[]"];
  chooser.addEventListener("change", () => {
    attachAll(chooser.files);
    chooser.value = "";
  });
  const place = form.closest(".answer");
  for (const name of ["dragover", "dragleave", "drop"]) {
    place.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      place.classList.toggle("drops", name === "dragover");
      if (name === "drop") attachAll(event.dataTransfer.files);
    });
  }
  text.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    attachAll(event.clipboardData.files);
  });
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
