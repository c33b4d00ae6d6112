// Reorders rows by dragging; the buttons next to the handle do the same.
import { all } from "./page.js";
import { t } from "./say.js";

const MOVE = "form[action$='/move']";

for (const body of all("[data-order]")) {
  let dragged = null;
  for (const row of body.rows.length > 1 ? body.rows : []) {
    const handle = Object.assign(document.createElement("span"), { className: "handle", draggable: true, title: t("Drag"), textContent: "⠿" });
    handle.setAttribute("aria-hidden", "true");
    row.querySelector(MOVE).before(handle);
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
      const form = dragged.querySelector(MOVE);
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "by", value: rows.indexOf(row) - rows.indexOf(dragged) }));
      form.requestSubmit();
    });
  }
}
