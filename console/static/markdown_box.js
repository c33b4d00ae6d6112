// The box of a Markdown text: signs by buttons and keys, tables from a spreadsheet, files that are pasted, and rich text for
// who writes so.
import { click, marks, press } from "./marks.js";
import { markdownOf, readClipboard } from "./pasting.js";

// changed(): what follows a change. attach(files, isInline): uploads files. takesTables(): whether a pasted table becomes
// one. richText: options of enrich(), null for the box alone. moreActs(box): of the toolbar, beside the signs.
// Returns the box, and place(): where words are put, the box or the rich text.
export function markdownBox(form, text, tools, { changed, attach, takesTables = () => true, richText = null, moreActs = () => ({}) }) {
  const box = marks(text, changed);
  Object.assign(box, moreActs(box));
  let rich = null;
  let isPlain = false; // pasted by Ctrl Shift V
  const place = () => (rich?.isShown() ? rich : box);
  form.put = (words) => place().put(words);
  tools.addEventListener("click", (event) => click(event, place()));
  text.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey) isPlain = event.shiftKey && event.key.toLowerCase() === "v";
    press(event, box);
  });
  text.addEventListener("paste", async (event) => {
    const { files, rows, plain } = readClipboard(event.clipboardData, isPlain);
    if (!files && !(rows && takesTables()) && (!plain || event.clipboardData.getData("text/plain"))) return; // the browser pastes the text
    event.preventDefault();
    if (files) attach(files, true);
    else box.put(rows ? await markdownOf(rows) : plain);
  });
  if (richText) import("./rich.js").then(({ enrich }) => (rich = enrich(form, changed, attach, richText)), () => null);
  return { box, place };
}
