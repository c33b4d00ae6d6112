// Finds acts on the open ticket or the rows of a list by their words; the jump dialog lists them above the places.
// "close" presses a button; "assign tom" and "snooze mon 9" fill in the field of the act.
import { asked } from "./combobox.js";
import { all } from "./page.js";
import { t } from "./say.js";

const MOST = 6; // acts in the list
const PLAIN = "#ticket-head .actions :is(button[type=submit], .items > a), #ticket-head .actions [data-print], #answer .assist button, #answer .tabs a, .bulk :not(.pick) > button";
const wordsOf = (text) => text.toLowerCase().replace(/ise\b/g, "ize").split(/\s+/).filter(Boolean);

// Returns the text of a button or link without grey remarks, hidden text and keys.
function label(element) {
  const copy = element.cloneNode(true);
  all(".muted, .unseen, kbd", copy).forEach((each) => each.remove());
  return copy.textContent.replace(/\s+/g, " ").replace("…", "").trim();
}

const fits = (typed, text) => typed.every((word) => wordsOf(text).some((each) => each.startsWith(word)));

// Returns what was typed after the words of an act, which may be shortened; null for another act.
function after(typed, act) {
  let count = 0;
  for (const word of wordsOf(act)) if (typed[count] && word.startsWith(typed[count])) count += 1;
  return count && wordsOf(act)[0].startsWith(typed[0]) ? typed.slice(count).join(" ") : null;
}

function submit(field) {
  const button = field.parentElement.matches(".pick") && field.nextElementSibling;
  if (button) button.click();
  else if (!field.form.matches("[data-auto]")) field.form.requestSubmit(field.form.querySelector("[data-quiet]"));
}

// Finds the field again: its part of the page may have been replaced since the act was listed.
const current = (field) => (field.isConnected ? field : document.querySelector(field.id ? `#${field.id}` : `[name="${field.name}"]`));

function fill(listed, value) {
  const field = current(listed);
  field.value = value;
  field.dispatchEvent(new Event("change", { bubbles: true }));
  submit(field);
}

// Returns the acts of a field that fit the text after its verb: one for each option, or one for a typed time.
async function ofField(field, verb, rest) {
  if (field.matches("select")) {
    const options = [...field.options].filter((each) => !each.matches(":disabled") && fits(wordsOf(rest), each.text));
    return options.map((each) => ({ label: `${verb}: ${each.text.trim()}`, run: () => fill(field, each.value) }));
  }
  if (field.dataset.chooser) {
    const results = (await asked(field.dataset.chooser, rest))?.results ?? [];
    const none = field.dataset.none;
    if (none?.toLowerCase().startsWith(rest.toLowerCase())) results.push({ label: none, id: 0 });
    return results.map((each) => ({ label: `${verb}: ${each.label}`, run: () => fill(field, `${each.label} #${each.id}`) }));
  }
  if (field.dataset.suggest) {
    const names = ((await asked(field.dataset.suggest, rest))?.results ?? []).map((each) => each.label);
    return [...new Set([...names, rest])].map((each) => ({ label: `${verb}: ${each}`, run: () => fill(field, each) }));
  }
  return [{ label: `${verb}: ${rest}`, run: () => fill(field, rest) }];
}

export async function acts(text) {
  const typed = wordsOf(text);
  if (!typed.length) return [];
  const press = (text) => all(PLAIN).find((each) => label(each) === text)?.click();
  const plain = [...new Set(all(PLAIN).map(label))].filter((each) => fits(typed, each)).map((each) => ({ label: each, run: () => press(each) }));
  const fields = all("[data-takes]").map((each) => [each, each.dataset.takes]);
  const picked = all(".bulk .pick > :is(select, input)").map((each) => [each, label(each.nextElementSibling)]);
  const filled = [];
  for (const [field, verb] of [...fields, ...picked]) {
    const rest = after(typed, verb);
    if (rest) filled.push(...(await ofField(field, verb, rest)));
  }
  for (const field of all(".bulk select[data-acts]")) filled.push(...(await ofField(field, label(field.nextElementSibling), text)));
  return [...plain, ...filled].slice(0, MOST).map((each) => ({ ...each, note: t("Action") }));
}
