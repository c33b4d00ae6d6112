// Sets up a Markdown text without files: a note, or a reply to several tickets.
import { markdownBox } from "./markdown_box.js";
import { say } from "./page.js";
import { t } from "./say.js";
import { rove } from "./tools.js";

export function write(area) {
  const form = area.closest("form");
  const text = form.elements[area.dataset.written];
  const tools = area.querySelector("[data-tools]");
  tools.hidden = false;
  rove(tools);
  markdownBox(form, text, tools, {
    changed: () => text.dispatchEvent(new Event("input", { bubbles: true })),
    attach: () => say(t("No files can be added here.")),
    richText: "rich" in area.dataset ? { text } : null,
  });
}
