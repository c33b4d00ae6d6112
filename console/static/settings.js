// Filters the settings while a worker types: shows what the form would find, except for synonyms.
import { all } from "./page.js";

const form = document.querySelector("[data-settings-filter]");
const none = document.querySelector("[data-settings-none]");

form?.querySelector("input").addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/);
  let isFound = false;
  for (const group of all("[data-settings-group]")) {
    const entries = all("[data-words]", group);
    for (const each of entries) each.hidden = !words.every((word) => each.dataset.words.includes(word));
    group.hidden = entries.every((each) => each.hidden);
    isFound ||= !group.hidden;
  }
  none.hidden = isFound;
});
