// Sends a form only once the server responds, so that none ends on the error page of the browser. The form gets the
// event "sending" before, or "unsent" if the server does not respond.
import { all, say } from "./page.js";
import { t } from "./say.js";

const SECONDS = 10; // until a silent server counts as down

async function isThere() {
  const address = document.querySelector("link[rel=icon]").href;
  return Boolean(await fetch(address, { signal: AbortSignal.timeout(SECONDS * 1000), cache: "no-store" }).catch(() => null));
}

// Sends a form as the browser does, with the pressed button, and without calling other listeners again.
function sendNow(form, button) {
  const pressed = Object.assign(document.createElement("input"), { type: "hidden", name: button?.name ?? "", value: button?.value ?? "" });
  if (pressed.name) form.append(pressed);
  form.dispatchEvent(new Event("sending"));
  const action = form.action;
  if (button?.hasAttribute("formaction")) form.action = button.formAction;
  HTMLFormElement.prototype.submit.call(form);
  form.action = action;
  pressed.remove();
}

addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || form.target || event.submitter?.hasAttribute("formtarget") || form.closest("dialog")) return;
  if (document.querySelector("[data-stop]")) return; // Stop is shown only if the browser sends the form
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
