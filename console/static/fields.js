// Times that tell what they were understood as, long lists that can be searched, forms that are not left by accident.
import { all, ask, calmly } from "./page.js";

for (const field of all("[data-time]")) {
  const shown = field.closest(".field").querySelector(".understood");
  const look = calmly(async () => {
    const text = field.value;
    const found = text.trim() ? await ask("/-/time", { text }) : null;
    if (field.value !== text) return;
    shown.textContent = found?.understood ?? found?.wrong ?? "";
    shown.classList.toggle("bad", Boolean(found?.wrong));
  }, 250);
  field.addEventListener("input", look);
  if (field.value) look();
}

for (const list of all("[data-search-options]")) {
  const options = [...list.options];
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "Search";
  search.setAttribute("aria-label", `Search: ${list.labels[0]?.textContent ?? "list"}`);
  search.setAttribute("aria-controls", list.id);
  list.before(search);
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = options.filter((each) => words.every((word) => each.text.toLowerCase().includes(word)));
    list.replaceChildren(...fitting);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") (event.preventDefault(), list.focus());
  });
}

const zone = document.querySelector("input[data-zone]");
if (zone && (!zone.value || zone.value === "UTC")) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;

for (const form of all("form[data-guard]")) {
  let isChanged = false;
  form.addEventListener("input", () => (isChanged = true));
  form.addEventListener("submit", () => (isChanged = false));
  addEventListener("beforeunload", (event) => {
    if (isChanged) event.preventDefault();
  });
}
