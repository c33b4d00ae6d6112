// Stores forms with data-draft on the server, a second after the last input; in the browser while that fails.
import { all, enhance, formToken } from "./page.js";
import { t } from "./say.js";

const worker = document.documentElement.dataset.worker ?? "";
const mine = `draft:${worker}:`;
const noKeep = "[type=password], [type=file], [type=submit], [type=button], [type=hidden], [data-secret]";

function typed(form) {
  const found = [];
  for (const field of form.elements) {
    if (!field.name || field.name.startsWith("_") || field.disabled || field.matches(`fieldset, output, button, ${noKeep}`)) continue;
    const isOff = field.matches("[type=checkbox], [type=radio]") && !field.checked;
    if (field.matches("select[multiple]")) found.push(...[...field.selectedOptions].map((one) => [field.name, one.value]));
    else if (field.type !== "radio" || !isOff) found.push([field.name, isOff ? "" : field.value]);
  }
  return found.filter(([name, text], at) => text || found.findIndex(([other]) => other === name) === at);
}

// Returns whether the server stored the draft; null if it is away or does not recognize the worker.
async function send(key, fields) {
  try {
    const body = new URLSearchParams({ key, fields, _xsrf: formToken() });
    const answer = await fetch("/-/draft", { method: "POST", body, redirect: "error", keepalive: fields.length < 20000 });
    return answer.ok ? true : answer.status === 422 || answer.status === 413 ? false : null;
  } catch {
    return null;
  }
}

async function keep(key, fields) {
  const isKept = await send(key, fields);
  try {
    if (isKept === null) localStorage.setItem(mine + key, fields);
    else localStorage.removeItem(mine + key);
  } catch {
    // storage is full or forbidden: the page still has the text
  }
  return isKept;
}

function mark(form, key) {
  if (!form.elements._draft) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "_draft", value: key }));
  const told = document.createElement("p");
  told.className = "help";
  form.append(told);
  let timer = 0;
  let going = null;
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    going = keep(key, JSON.stringify(typed(form))).then((isKept) => {
      told.textContent = isKept ? t("Stored as a draft, not saved yet.") : isKept === null
        ? t("Stored in this browser: the server does not respond.") : t("Too large for a draft. Save before you leave the page.");
      going = null;
    });
  };
  for (const name of ["input", "change"]) { // a choice in our lists fires no input event
    form.addEventListener(name, () => {
      clearTimeout(timer);
      timer = setTimeout(now, 1000);
    });
  }
  addEventListener("visibilitychange", () => document.hidden && timer && now());
  addEventListener("put", (event) => event.target.contains(form) && timer && now()); // the form is being replaced
  addEventListener("leave", () => form.isConnected && timer && now());
  form.addEventListener("submit", (event) => {
    clearTimeout(timer);
    timer = 0;
    if (!going) return;
    // a draft on its way must arrive first, or it would reappear after the form is saved
    event.preventDefault();
    event.stopImmediatePropagation();
    const { submitter } = event;
    going.then(() => form.requestSubmit(submitter));
  });
}

async function sendBack() {
  for (const name of Object.keys(localStorage).filter((each) => each.startsWith(mine))) {
    const key = name.slice(mine.length);
    const isKept = await keep(key, localStorage.getItem(name));
    const note = document.querySelector(`[data-draft-note="${CSS.escape(key)}"]`);
    if (isKept && note) note.hidden = false;
  }
}

const marked = new WeakSet();
enhance((root) => {
  for (const each of all("[data-draft]", root)) {
    const form = each.form ?? each;
    if (!marked.has(form)) (marked.add(form), mark(form, each.dataset.draft));
  }
});
if (worker) {
  sendBack();
  addEventListener("online", sendBack);
}
addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") !== "/sign-out") return;
  Object.keys(localStorage).filter((each) => /^(draft|reply):/.test(each)).forEach((each) => localStorage.removeItem(each));
});
