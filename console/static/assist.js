// Shows results of the writing assistant in the page of a ticket. Text for the reply is put into the form, where the
// worker edits it; nothing is sent. Without this module the same buttons lead to pages.
import { all, formToken } from "./page.js";
import { t } from "./say.js";

if (!document.querySelector('link[href*="assist."]')) { // the page was loaded with a ticket of another group
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("assist.css", import.meta.url) }));
}

const POLL = 500; // milliseconds between two polls of a running call
const WAIT = 3000; // milliseconds for a reply form to appear
const AGAIN = 5; // failed polls in a row that are tolerated

const ticket = () => document.querySelector("[data-ticket]");
const replyForm = () => document.querySelector("#answer form[data-writing]");

async function request(address, fields) {
  const body = fields && new URLSearchParams({ ...fields, _xsrf: formToken() });
  try {
    const response = await fetch(address, { method: fields ? "POST" : "GET", body, headers: { "X-Part": "assist" } });
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return isJson ? await response.json() : null;
  } catch {
    return null;
  }
}

const element = (name, values, ...nodes) => {
  const made = Object.assign(document.createElement(name), values);
  made.append(...nodes);
  return made;
};
const button = (text, act, className = "small") => {
  const made = element("button", { type: "button", className, textContent: text });
  made.addEventListener("click", act);
  return made;
};

// Replaces the box in a place of the page with an empty one, and returns it.
function boxIn(place) {
  const box = element("section", { className: "card assisted-box", tabIndex: -1 });
  box.setAttribute("aria-label", t("Writing assistant"));
  place.replaceChildren(box);
  box.scrollIntoView({ block: "nearest" });
  return box;
}
function close(box) {
  box.remove();
  document.querySelector("#ticket")?.focus({ preventScroll: true });
}
function showError(box, text, again) {
  box.replaceChildren(
    element("p", { className: "note warn", textContent: text, role: "alert" }),
    element("div", { className: "row" }, button(t("Try again"), again), button(t("Dismiss"), () => close(box), "small link")),
  );
}

// Starts an act and polls it until it ends. done(result) shows the result.
async function run(box, fields, done) {
  const base = `${ticket().dataset.ticket}/writing-assistant`;
  const again = () => run(box, fields, done);
  const away = t("The server does not respond. Nothing you typed is lost; try again.");
  box.replaceChildren(element("p", { role: "status" }, `${t("The writing assistant is working…")} `, element("progress", { ariaLabel: t("The writing assistant is working…") })));
  const started = await request(base, fields);
  if (!started?.id) return showError(box, started?.error ?? away, again);
  const address = `${base}/${started.id}`;
  let isCancelled = false;
  const cancel = button(t("Cancel"), () => {
    isCancelled = true;
    request(`${address}/cancel`, {});
    close(box);
  });
  box.append(cancel);
  let failures = 0;
  for (;;) {
    await new Promise((go) => setTimeout(go, POLL));
    if (isCancelled) return;
    if (!box.isConnected) return request(`${address}/cancel`, {}); // another ticket replaced this one
    const call = await request(address);
    failures = call ? 0 : failures + 1;
    if (isCancelled) return;
    if (failures > AGAIN) return showError(box, away, again);
    if (!call || call.state === "running") continue;
    if (call.state !== "done") return showError(box, call.error || t("Cancelled."), again);
    return done(call);
  }
}

// Shows a result, rendered by the server, with buttons.
function show(box, call, ...buttons) {
  const page = new DOMParser().parseFromString(call.html, "text/html");
  box.replaceChildren(...page.body.childNodes, element("div", { className: "row" }, ...buttons, button(t("Dismiss"), () => close(box), "small link")));
  box.focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest" });
}

// -- text of a reply --------------------------------------------------------------------------------------------------

// The selection in the reply: its words, and where to replace them; null for the whole reply.
let selected = null;
document.addEventListener("selectionchange", () => {
  const text = replyForm()?.elements.content;
  const [editor, selection] = [document.getElementById("content-rich"), getSelection()];
  if (editor && !editor.hidden && editor.contains(selection.anchorNode) && editor.contains(selection.focusNode)) {
    selected = selection.isCollapsed ? null : { words: String(selection), range: selection.getRangeAt(0).cloneRange() };
  } else if (text && document.activeElement === text) {
    const [from, to] = [text.selectionStart, text.selectionEnd];
    selected = from === to ? null : { words: text.value.slice(from, to), from, to };
  }
});

function set(form, words) {
  const text = form.elements.content;
  text.value = words;
  text.dispatchEvent(new Event("replaced"));
  form.dispatchEvent(new Event("input"));
  form.dispatchEvent(new Event("change"));
}
function setSelected(form, part, words) {
  const text = form.elements.content;
  if (part.range) {
    const editor = document.getElementById("content-rich");
    editor.focus({ preventScroll: true });
    const { startContainer, startOffset, endContainer, endOffset } = part.range;
    getSelection().setBaseAndExtent(startContainer, startOffset, endContainer, endOffset);
    form.put(words);
  } else set(form, text.value.slice(0, part.from) + words + text.value.slice(part.to));
}

async function openReply() {
  if (replyForm()?.elements.kind.value === "reply") {
    document.querySelector("#answer > .line [data-opens=r]")?.click();
    return replyForm();
  }
  document.querySelector('#answer .tabs [data-hotkey="r"]')?.click();
  const end = Date.now() + WAIT;
  while (Date.now() < end) {
    await new Promise((go) => setTimeout(go, 50));
    if (replyForm()?.elements.kind.value === "reply") return replyForm();
  }
  return null;
}

async function intoReply(act) {
  const form = act === "draft" ? await openReply() : replyForm();
  const place = document.getElementById("assisted-reply");
  if (!form || !place) return;
  const part = act === "draft" ? null : selected;
  const text = form.elements.content;
  const before = text.value;
  const box = boxIn(place);
  run(box, { act, typed: part ? part.words : before, selection: part ? "1" : "" }, (call) => {
    const put = () => {
      const own = form.elements.content.value;
      if (part) setSelected(form, part, call.text);
      else set(form, call.text);
      const undo = button(t("Undo"), () => (set(form, own), close(box)));
      show(box, call, undo);
    };
    // Words typed in the meantime are replaced only if the worker says so.
    if (form.isConnected && text.value === before) return put();
    show(box, call, button(t("Put into the reply"), put));
    box.firstElementChild?.append(element("pre", { className: "wraps", textContent: call.text }));
  });
}

// -- buttons pressed --------------------------------------------------------------------------------------------------

function inBox(act, fields, place) {
  const box = boxIn(place);
  run(box, { act, ...fields }, (call) => show(box, call));
}

function besideMessage(id) {
  const turn = document.querySelector(`#message${CSS.escape(id)} .turn`);
  if (!turn) return document.getElementById("assisted");
  turn.open = true;
  const place = turn.querySelector(".assisted-place") ?? element("div", { className: "assisted-place" });
  place.setAttribute("aria-live", "polite");
  turn.append(place);
  return place;
}

async function accept(form, pressed) {
  pressed.disabled = true;
  const body = new URLSearchParams(new FormData(form, pressed));
  body.set(pressed.name, pressed.value);
  const response = await fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => null);
  const isAdded = response && (response.ok || response.type === "opaqueredirect");
  pressed.disabled = isAdded;
  pressed.setAttribute("aria-label", isAdded ? t("{name} added", { name: pressed.value }) : pressed.value);
  if (isAdded) pressed.textContent = `✓ ${pressed.value}`;
}

addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  const isAssist = submitter?.matches("#answer .assist button") || form.matches("[data-assist]");
  if (form.matches(".assisted-box form[data-accept]")) {
    event.preventDefault();
    event.stopImmediatePropagation();
    return accept(form, submitter);
  }
  if (!isAssist || !submitter || !ticket()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  for (const menu of all("details.menu[open]")) menu.open = false;
  const act = submitter.name === "act" ? submitter.value : form.elements.act.value;
  if (act === "translate_message") inBox(act, { message: submitter.value }, besideMessage(submitter.value));
  else if (["summarize", "tags"].includes(act)) inBox(act, {}, document.getElementById("assisted"));
  else intoReply(act);
}, true);
