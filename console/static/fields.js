// Times that tell what they were understood as, the zone and the clock of the browser, rows in order, forms that are not left by accident.
import { all, ask, calmly, enhance } from "./page.js";
import { t } from "./say.js";

enhance((root) => {
  for (const field of all("[data-time]", root)) {
    const shown = field.closest(".field").querySelector(".understood");
    const look = calmly(async () => {
      const text = field.value;
      const found = text.trim() ? await ask("/-/time", { text, ahead: "ahead" in field.dataset ? 1 : 0 }) : null;
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

// Rows that are put in order by dragging; the buttons beside the handle do the same.
for (const body of all("[data-order]")) {
  let dragged = null;
  for (const row of body.rows.length > 1 ? body.rows : []) {
    const handle = Object.assign(document.createElement("span"), { className: "handle", draggable: true, title: t("Drag"), textContent: "⠿" });
    handle.setAttribute("aria-hidden", "true");
    row.querySelector("form").before(handle);
    handle.addEventListener("dragstart", (event) => {
      dragged = row;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    handle.addEventListener("dragend", () => (dragged = null));
    row.addEventListener("dragover", (event) => dragged && event.preventDefault());
    row.addEventListener("drop", (event) => {
      if (!dragged || dragged === row) return;
      event.preventDefault();
      const rows = [...body.rows];
      const form = dragged.querySelector("form");
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "by", value: rows.indexOf(row) - rows.indexOf(dragged) }));
      form.requestSubmit();
    });
  }
}

for (const form of all("form[data-guard]")) {
  let isChanged = false;
  for (const name of ["input", "change"]) form.addEventListener(name, () => (isChanged = true));
  form.addEventListener("submit", () => (isChanged = false));
  addEventListener("beforeunload", (event) => {
    if (isChanged) event.preventDefault();
  });
}
