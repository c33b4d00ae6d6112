// Edits a snippet: signs of Markdown by buttons and keys, placeholders at the caret.
import { fitted } from "./frames.js";
import { click, marks, press } from "./marks.js";
import { all } from "./page.js";

all("[data-fit]").forEach(fitted);
const form = document.querySelector("[data-snippet-form]");
const text = form.elements.content;
const box = marks(text);

const tools = form.querySelector("[data-marks]");
tools.hidden = false;
tools.addEventListener("click", (event) => click(event, box));
text.addEventListener("keydown", (event) => press(event, box));
for (const button of all("[data-put]", form)) {
  button.hidden = false;
  button.addEventListener("click", () => box.put(button.dataset.put));
}
