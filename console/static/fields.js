// Shows how times are understood, warns of a wrong clock, fills in the time zone, and guards unsaved forms.
import { all, ask, calmly, enhance } from "./page.js";
import { t } from "./say.js";

enhance((root) => {
  for (const field of all("[data-time]", root)) {
    const shown = field.closest(".field").querySelector(".understood");
    const look = calmly(async () => {
      const text = field.value;
      const found = text.trim() ? await ask("/-/time", { text, ahead: "ahead" in field.dataset ? 1 : 0, stored: text === field.defaultValue ? 1 : 0 }) : null;
      if (field.value !== text) return;
      shown.textContent = found?.understood ?? found?.wrong ?? "";
      shown.classList.toggle("bad", Boolean(found?.wrong));
    }, 250);
    field.addEventListener("input", look);
    if (field.value) look();
  }
});

const clock = document.querySelector("[data-clock]");
const apart = clock ? Math.round(Math.abs(Date.now() / 1000 - clock.dataset.clock)) : 0;
if (apart > 60) {
  clock.querySelector("output").textContent = apart < 7200
    ? t("{count} minutes", { count: Math.round(apart / 60) }) : t("{count} hours", { count: Math.round(apart / 3600) });
  clock.hidden = false;
}

const zone = document.querySelector("input[data-zone]");
if (zone && (!zone.value || zone.value === "UTC")) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;

for (const form of all("form[data-guard]")) {
  let isChanged = false;
  for (const name of ["input", "change"]) form.addEventListener(name, () => (isChanged = true));
  form.addEventListener("submit", ({ submitter }) => submitter?.hasAttribute("formtarget") || (isChanged = false)); // a preview saves nothing
  addEventListener("beforeunload", (event) => {
    if (isChanged) event.preventDefault();
  });
}

// Adds buttons to texts; replies and articles have modules of their own.
enhance((root) => {
  for (const area of all("[data-written]", root)) import("./noting.js").then(({ write }) => write(area), () => null);
});

// Suggests colleagues to mention, or snippets; the module is loaded at the first sign, such as @.
addEventListener("input", async ({ target, data }) => {
  if (data && target.dataset.typing?.includes(data)) (await import("./typing.js")).begin(target);
});
