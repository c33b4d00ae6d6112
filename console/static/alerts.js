// Shows new notifications through the system while no page of ours is visible. Workers turn this on and off in their
// account, for each browser. Every page of a worker learns of them: a visible one says so, and the others stay silent.
import { say } from "./page.js";
import { t } from "./say.js";

const { worker } = document.documentElement.dataset;
const key = `alerts:${worker}`;
const NEW = 120; // seconds
const WAIT = 300; // milliseconds that a visible page has to say so
const tabs = new BroadcastChannel(key);
let told = 0;

function isOn() {
  try {
    return Notification.permission === "granted" && localStorage.getItem(key) === "1";
  } catch {
    return false;
  }
}

function show({ id, text }) {
  told = id;
  const shown = new Notification(t("Helpdesk"), { body: text, tag: `${key} ${id}` }); // several pages show it once
  shown.addEventListener("click", () => (open(`/notifications/${id}`), shown.close()));
}

new BroadcastChannel(`bell ${worker}`).addEventListener("message", ({ data: { newest } }) => {
  if (!newest || newest.id <= told || newest.age > NEW || !isOn()) return;
  if (document.hidden) setTimeout(() => newest.id > told && show(newest), WAIT);
  else tabs.postMessage((told = newest.id));
});
tabs.addEventListener("message", ({ data }) => (told = Math.max(told, data)));

const box = document.querySelector("[data-alerts]");
if (box && self.Notification) {
  const button = box.querySelector("button");
  const name = () => (button.textContent = isOn() ? t("Turn off in this browser") : t("Turn on in this browser"));
  button.addEventListener("click", async () => {
    const wanted = !isOn();
    if (wanted && (await Notification.requestPermission()) !== "granted") {
      say(t("Your browser blocks notifications. Allow them for this site in its settings."));
      return;
    }
    localStorage.setItem(key, wanted ? "1" : "");
    name();
    say(wanted ? t("Notifications are on in this browser.") : t("Notifications are off in this browser."));
  });
  name();
  box.hidden = false;
}
