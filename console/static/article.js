// The text of an article: signs of Markdown by buttons and keys, rich text, pictures that are pasted or dropped, preview.
import { attach } from "./attaching.js";
import { fitted } from "./frames.js";
import { click, marks, press } from "./marks.js";
import { all } from "./page.js";
import { markdownOf, readClipboard } from "./pasting.js";

document.documentElement.classList.add("js");
all("[data-fit]").forEach(fitted);
const form = document.querySelector("[data-article-form]");
const text = form.elements.content;
const format = form.elements.format;
const changed = () => form.dispatchEvent(new Event("input"));
const box = marks(text, changed);
let rich = null;

const place = () => (rich?.isShown() ? rich : box);
form.put = (words) => place().put(words);
// Only Markdown has signs for pictures.
const isMarkdown = () => !format || format.value === "2";
function attachAll(files, isInline) {
  for (const file of [...files]) attach(form, file, changed, isInline && isMarkdown());
}

const tools = form.querySelector("[data-tools]");
tools.hidden = !isMarkdown();
tools.addEventListener("click", (event) => click(event, place()));
format?.addEventListener("change", () => (tools.hidden = !isMarkdown()));
text.addEventListener("keydown", (event) => press(event, box));
text.addEventListener("paste", async (event) => {
  const { files, rows, plain } = readClipboard(event.clipboardData);
  if (!files && !(rows && isMarkdown()) && (!plain || event.clipboardData.getData("text/plain"))) return; // the browser pastes the text
  event.preventDefault();
  if (files) attachAll(files, true);
  else box.put(rows ? await markdownOf(rows) : plain);
});

const chooser = form.querySelector("[data-attach]");
chooser.hidden = false;
const input = chooser.querySelector("input");
input.addEventListener("change", () => {
  attachAll(input.files);
  input.value = "";
});
const area = form.querySelector(".write");
for (const name of ["dragover", "dragleave", "drop"]) {
  area.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    area.classList.toggle("drops", name === "dragover");
    if (name === "drop") attachAll(event.dataTransfer.files, true);
  });
}
if ("rich" in form.dataset && isMarkdown()) import("./rich.js").then(({ enrich }) => (rich = enrich(form, changed, attachAll, { hasHeadings: true })), () => null);
