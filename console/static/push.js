// Turns on notifications on this device: requests permission, subscribes, and sends the form.
import { t } from "./say.js";

const form = document.querySelector("[data-push]");
const { worker } = document.documentElement.dataset;
const isOn = "pushOn" in form.dataset;
const PROBLEMS = {
  NotAllowedError: () => t("Your browser blocks notifications. Allow them for this site in its settings."),
  AbortError: () => t("The push service of your browser cannot be reached. Try again later."),
};

const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

// Waits until the service worker is active; null if it need not. Rejects if it cannot be installed.
function activation({ active, installing, waiting }) {
  const worker = installing ?? waiting;
  if (active || !worker) return null;
  return new Promise((done, fail) => {
    worker.addEventListener("statechange", () => {
      if (worker.state === "activated") done();
      if (worker.state === "redundant") fail(new Error("not installed"));
    });
  });
}

async function subscription(registration) {
  const wanted = { userVisibleOnly: true, applicationServerKey: form.dataset.push };
  try {
    return await registration.pushManager.subscribe(wanted);
  } catch (error) {
    if (error.name !== "InvalidStateError") throw error; // subscribed with another key of the service
    await (await registration.pushManager.getSubscription())?.unsubscribe();
    return registration.pushManager.subscribe(wanted);
  }
}

async function turnOn(button) {
  const problem = form.querySelector("[data-push-problem]");
  problem.textContent = "";
  button.disabled = true;
  try {
    if ((await Notification.requestPermission()) !== "granted") throw new DOMException("", "NotAllowedError");
    const registration = await navigator.serviceWorker.register("/service-worker.js", { updateViaCache: "none" });
    await activation(registration);
    const made = await subscription(registration);
    form.elements.endpoint.value = made.endpoint;
    form.elements.p256dh.value = text(made.getKey("p256dh"));
    form.elements.auth.value = text(made.getKey("auth"));
    localStorage.removeItem(`alerts:${worker}`); // one notification is enough
    form.requestSubmit();
  } catch (error) {
    problem.textContent = PROBLEMS[error.name]?.() ?? t("That did not work. Reload the page and try again.");
  }
  button.disabled = false;
}

// Ends a subscription unknown to the service, and shows the button if the browser has lost its own.
async function compare() {
  const registration = await navigator.serviceWorker.getRegistration("/");
  const present = await registration?.pushManager.getSubscription();
  if (present && !isOn) await present.unsubscribe();
  form.hidden = Boolean(isOn && present);
  if (form.hidden) document.querySelector("[data-alerts]").hidden = true; // alerts would show the same
}

if (self.PushManager && navigator.serviceWorker && self.Notification) {
  const button = form.querySelector("button");
  button.addEventListener("click", (event) => {
    event.preventDefault();
    turnOn(button);
  });
  document.querySelector("[data-push-missing]").hidden = true;
  form.hidden = isOn;
  compare();
}
