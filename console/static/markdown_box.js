// Sets up the box of a Markdown text: signs by buttons and keys, tables from spreadsheets, pasted files, and rich text
// for workers who use it.
import { click, marks, press } from "./marks.js";
import { markdownOf, readClipboard } from "./pasting.js";

// changed() runs after a change; attach(files, isInline) uploads files; takesTables() returns whether a pasted table
// stays one. richText: options of enrich(), null for the box alone. moreActs(box) returns more toolbar acts.
// Returns {box, place}; place() returns where text goes: box or rich text.
export function markdownBox(form, text, tools, { changed, attach, takesTables = () => true, richText = null, moreActs = () => ({}) }) {
  const box = marks(text, changed);
  Object.assign(box, moreActs(box));
  let rich = null;
  let isPlain = false; // pasted with Ctrl Shift V
  const place = () => (rich?.isShown() ? rich : box);
  form.put = (words) => place().put(words);
  tools.addEventListener("click", (event) => click(event, place()));
  text.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey) isPlain = event.shiftKey && event.key.toLowerCase() === "v";
    press(event, box);
  });
  text.addEventListener("paste", async (event) => {
    const { files, rows, plain } = readClipboard(event.clipboardData, isPlain);
    // The browser pastes the text.
    if (!files && !(rows && takesTables()) && (!plain || event.clipboardData.getData("text/plain"))) return;
    event.preventDefault();
    if (files) attach(files, true);
    else box.put(rows ? await markdownOf(rows) : plain);
  });
  if (richText) import("./rich.js").then(({ enrich }) => (rich = enrich(form, changed, attach, richText)), () => null);
  return { box, place };
}
