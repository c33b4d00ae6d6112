// Enhances the text of an article: Markdown by buttons and keys, rich text, pasted and dropped pictures, preview.
import { attach } from "./attaching.js";
import { fitted } from "./frames.js";
import { markdownBox } from "./markdown_box.js";
import { all } from "./page.js";

all("[data-fit]").forEach(fitted);
const form = document.querySelector("[data-article-form]");
const text = form.elements.content;
const format = form.elements.format;
const changed = () => form.dispatchEvent(new Event("input"));
// Pictures can only be inserted as Markdown.
const isMarkdown = () => !format || format.value === "2";
function attachAll(files, isInline) {
  for (const file of [...files]) attach(form, file, changed, isInline && isMarkdown());
}

const tools = form.querySelector("[data-tools]");
tools.hidden = !isMarkdown();
format?.addEventListener("change", () => (tools.hidden = !isMarkdown()));
markdownBox(form, text, tools, {
  changed,
  attach: attachAll,
  takesTables: isMarkdown,
  richText: "rich" in form.dataset && isMarkdown() ? { hasHeadings: true } : null,
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
