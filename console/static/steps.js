// Reorders the steps of a macro or a rule by dragging; the buttons of each step do the same.
import { all } from "./page.js";
import { t } from "./say.js";

const steps = all("fieldset.step");
let dragged = null;
for (const step of steps.length > 1 ? steps : []) {
  const handle = Object.assign(document.createElement("span"), { className: "handle", draggable: true, title: t("Drag"), textContent: "⠿" });
  handle.setAttribute("aria-hidden", "true");
  step.querySelector(".row").prepend(handle);
  handle.addEventListener("dragstart", (event) => {
    dragged = step;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setDragImage(step, 0, 0);
  });
  handle.addEventListener("dragend", () => (dragged = null));
  step.addEventListener("dragover", (event) => dragged && event.preventDefault());
  step.addEventListener("drop", (event) => {
    if (!dragged || dragged === step) return;
    event.preventDefault();
    const { form } = step;
    const value = `move:${steps.indexOf(dragged)}:${steps.indexOf(step)}`;
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "step", value }));
    form.requestSubmit();
  });
}
