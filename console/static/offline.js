// While the server does not respond: a reply is stored in the browser until the server has it, and no form leads to the
// error page of the browser.
import { all, say } from "./page.js";
import { t } from "./say.js";

const SECONDS = 10; // until a server that says nothing counts as gone
const OWN = new Set(["_xsrf", "draft", "revision", "seen", "files[]"]); // fields of one page, which another one does not take
const keyOf = (form) => `reply:${document.documentElement.dataset.worker}:${form.dataset.writing}:${form.elements.kind?.value ?? ""}`;

export function storeHere(form) {
  const fields = [...new FormData(form)].filter(([name, value]) => !OWN.has(name) && typeof value === "string");
  try {
    localStorage.setItem(keyOf(form), JSON.stringify({ fields, revision: form.elements.revision.value }));
  } catch {
    // no room, or not allowed: the page itself still has it
  }
}

export const forgetHere = (form) => localStorage.removeItem(keyOf(form));

// Puts back what the server never got. What was stored there since, from elsewhere, stays above it.
export function restoreHere(form) {
  const stored = JSON.parse(localStorage.getItem(keyOf(form)) ?? "null");
  const text = form.elements.content;
  const words = stored?.fields.find(([name]) => name === "content")?.[1];
  if (!words || words === text.value) return (forgetHere(form), false);
  const isNewer = form.elements.revision.value && form.elements.revision.value !== stored.revision;
  for (const [name, value] of isNewer ? [] : stored.fields) {
    const field = form.elements[name];
    if (field?.matches?.("input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea")) field.value = value;
  }
  if (isNewer && !text.value.includes(words)) text.value = `${text.value.trimEnd()}\n\n${words}`;
  return true;
}

async function isThere() {
  const address = document.querySelector("link[rel=icon]").href;
  return Boolean(await fetch(address, { signal: AbortSignal.timeout(SECONDS * 1000), cache: "no-store" }).catch(() => null));
}

// Sends a form as the browser does, with the button that was pressed, and without asking other listeners again.
function sendNow(form, button) {
  const pressed = Object.assign(document.createElement("input"), { type: "hidden", name: button?.name ?? "", value: button?.value ?? "" });
  if (pressed.name) form.append(pressed);
  if (form.dataset.writing) forgetHere(form);
  const action = form.action;
  if (button?.hasAttribute("formaction")) form.action = button.formAction;
  HTMLFormElement.prototype.submit.call(form);
  form.action = action;
  pressed.remove();
}

addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || form.target || form.closest("dialog")) return;
  if (document.querySelector("[data-stop]")) return; // the page shows its own button once the browser sends the form
  event.preventDefault();
  if (form.dataset.reaching) return;
  form.dataset.reaching = "yes";
  const { submitter } = event;
  const can = await isThere();
  delete form.dataset.reaching;
  if (can) return sendNow(form, submitter);
  all(".waiting").forEach((each) => each.remove());
  form.dispatchEvent(new Event("unsent"));
  say(t("The server does not respond. Nothing you typed is lost; try again."));
});
