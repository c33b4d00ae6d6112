// A Markdown text of a form without files: a note, or a reply to several tickets. Signs by buttons and keys, tables from a
// spreadsheet, and rich text for who writes so.
import { click, marks, press } from "./marks.js";
import { say } from "./page.js";
import { markdownOf, readClipboard } from "./pasting.js";
import { t } from "./say.js";
import { rove } from "./tools.js";

export function write(area) {
  const form = area.closest("form");
  const text = form.elements[area.dataset.written];
  const changed = () => text.dispatchEvent(new Event("input", { bubbles: true }));
  const box = marks(text, changed);
  let rich = null;
  const place = () => (rich?.isShown() ? rich : box);
  form.put = (words) => place().put(words);
  const tools = area.querySelector("[data-tools]");
  tools.hidden = false;
  tools.addEventListener("click", (event) => click(event, place()));
  rove(tools);
  text.addEventListener("keydown", (event) => press(event, box));
  const attach = () => say(t("No files can be added here."));
  text.addEventListener("paste", async (event) => {
    const { files, rows, plain } = readClipboard(event.clipboardData);
    if (!files && !rows && (!plain || event.clipboardData.getData("text/plain"))) return; // the browser pastes the text
    event.preventDefault();
    if (files) attach();
    else box.put(rows ? await markdownOf(rows) : plain);
  });
  if ("rich" in area.dataset) import("./rich.js").then(({ enrich }) => (rich = enrich(form, changed, attach, { text })), () => null);
}
