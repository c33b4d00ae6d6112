// Checks texts of several lines while somebody types, and lists the mistakes below them.
import { all, ask, calmly } from "./page.js";
import { t } from "./say.js";

for (const told of all("[data-checks]")) {
  const text = document.getElementById(told.dataset.checks);
  const look = calmly(async () => {
    const value = text.value;
    const found = await ask(told.dataset.path, { text: value });
    if (!found || text.value !== value) return;
    document.getElementById(`${text.id}-error`)?.remove(); // it was about the previous text
    told.replaceChildren(...found.mistakes.map(([line, reason]) => {
      const item = document.createElement("li");
      item.textContent = t("Line {line} {reason}.", { line, reason });
      return item;
    }));
  }, 400);
  text.addEventListener("input", look);
}
