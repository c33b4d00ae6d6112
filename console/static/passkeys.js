// Uses passkeys: buttons sign in, confirm or create one, and the browser offers them in the address field.
import { all, ask } from "./page.js";
import { t } from "./say.js";

const OFFER = 240_000; // milliseconds; the service accepts a response for five minutes
const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
const PROBLEMS = {
  InvalidStateError: () => t("This device has a passkey of yours already."),
  NotAllowedError: () => t("No passkey was used. Try again, or choose another way."),
};
let current = null; // aborts the open dialog or offer; browsers allow one

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function parsed(options) {
  const known = (list) => list?.map((each) => ({ ...each, id: bytes(each.id) }));
  const { challenge, user, allowCredentials, excludeCredentials } = options;
  return {
    ...options,
    challenge: bytes(challenge),
    user: user && { ...user, id: bytes(user.id) },
    allowCredentials: known(allowCredentials),
    excludeCredentials: known(excludeCredentials),
  };
}

function plain(credential) {
  const { rawId, type, response } = credential;
  const parts = Object.fromEntries(PARTS.filter((name) => response[name]).map((name) => [name, text(response[name])]));
  const { credProps } = credential.getClientExtensionResults();
  const extra = credProps ? { credProps } : {};
  return { id: text(rawId), rawId: text(rawId), type, response: { ...parts, transports: response.getTransports?.() }, clientExtensionResults: extra };
}

// Requests a passkey from the browser, and sends the form of the button with its response.
async function use(button, mediation) {
  current?.abort();
  const { signal } = (current = new AbortController());
  const problem = button.form.querySelector("[data-passkey-problem]");
  if (!mediation) problem.textContent = "";
  const options = await ask(button.dataset.passkey, {});
  if (signal.aborted) return;
  try {
    if (!options) throw new Error("no options");
    const credential = await navigator.credentials[options.user ? "create" : "get"]({ publicKey: parsed(options), signal, mediation });
    if (signal.aborted) return;
    button.form.querySelector("[data-passkey-response]").value = JSON.stringify(plain(credential));
    button.form.requestSubmit(button);
  } catch (error) {
    if (signal.aborted || mediation) return;
    problem.textContent = PROBLEMS[error.name]?.() ?? t("That did not work. Reload the page and try again.");
    offer();
  }
}

// Lists passkeys in the suggestions for the address, until one is chosen or a passkey button is pressed.
async function offer() {
  const field = document.querySelector("[autocomplete~=webauthn]");
  const button = field?.form.querySelector("[data-passkey]");
  if (!button || button.hidden || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  use(button, "conditional");
  const own = current;
  setTimeout(() => own === current && offer(), OFFER);
}

for (const button of all("[data-passkey]")) {
  button.hidden = !self.PublicKeyCredential || location.origin !== button.dataset.origin;
  const missing = button.form.querySelector("[data-passkey-missing]");
  if (missing) missing.hidden = !button.hidden;
  button.addEventListener("click", (event) => {
    event.preventDefault();
    if (button.formNoValidate || button.form.reportValidity()) use(button);
  });
}
offer();
