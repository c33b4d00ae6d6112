// Adds a list of options with keyboard navigation to a line: the jump dialog, fields for one record, and long lists.
import { all, calmly, enhance, isPlain } from "./page.js";
import { t } from "./say.js";

let made = 0;

// find(text) returns [{label, note, ...}], for "" all there are, null if it failed; take(option) puts the chosen option
// into the line; isSettled() returns whether the line shows that option, so that its text is not searched for. Late
// results are dropped. With `data-query` the line completes a text: it stays silent without matches, Tab accepts an
// option, too, and the first one is marked only if the result has `takesFirst`. Returns the function
// that searches and shows the list.
export function combobox(input, find, take, isSettled) {
  const list = document.createElement("ul");
  list.id = `options-${++made}`;
  list.className = "options";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", input.labels[0]?.textContent ?? t("Options"));
  list.hidden = true;
  const told = document.createElement("p");
  told.className = "unseen";
  told.setAttribute("role", "status");
  (input.parentElement.matches(".pick") ? input.nextElementSibling : input).after(list, told); // after the button of the line
  const set = (name, value) => input.setAttribute(name, value);
  set("role", "combobox");
  set("aria-autocomplete", "list");
  set("aria-controls", list.id);
  set("aria-expanded", "false");
  const isHelp = "query" in input.dataset;
  let options = [];
  let at = -1;
  let asked = 0;
  let changes = 0; // edits of the line; seen: those that the list reflects
  let seen = 0;
  let held = []; // keys pressed while the list is about an older text; handled once it is current
  let settled = input.value;
  isSettled ??= () => input.value === settled;

  function tell(text, isSeen = true) {
    told.textContent = text;
    told.className = isSeen && text ? "help" : "unseen";
  }

  function close() {
    asked += 1;
    seen = changes;
    held = [];
    list.hidden = true;
    at = -1;
    set("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(place) {
    at = place;
    [...list.children].forEach((each, index) => each.setAttribute("aria-selected", index === at));
    const now = list.children[at];
    if (!now) return input.removeAttribute("aria-activedescendant");
    set("aria-activedescendant", now.id);
    now.scrollIntoView({ block: "nearest" });
  }

  function choose(place) {
    const chosen = options[place];
    close();
    tell("");
    if (!chosen) return;
    take(chosen);
    settled = input.value;
  }

  async function look() {
    const mine = ++asked;
    const known = changes;
    const text = isSettled() ? "" : input.value.trim();
    if (!text && "several" in input.dataset) return close();
    const wait = setTimeout(() => mine === asked && (set("aria-busy", "true"), tell("Looking…")), 150);
    const found = await find(text);
    clearTimeout(wait);
    if (mine !== asked) return;
    input.removeAttribute("aria-busy");
    options = found ?? [];
    list.replaceChildren(...options.map((each, place) => {
      const item = document.createElement("li");
      item.id = `${list.id}-${place}`;
      item.setAttribute("role", "option");
      const label = document.createElement("bdi");
      label.textContent = each.label;
      item.append(label);
      if (each.note) {
        const note = document.createElement("span");
        note.className = "muted";
        note.textContent = ` ${each.note}`;
        item.append(note);
      }
      item.addEventListener("pointerdown", (event) => event.preventDefault()); // or the line would lose focus first
      item.addEventListener("click", () => choose(place));
      return item;
    }));
    if (found === null) tell(t("The server does not respond. Type again in a moment."));
    else if (options.length) tell(t("{count} found.", { count: options.length }), false);
    else tell(isHelp ? "" : t("No matches."));
    list.hidden = !options.length;
    set("aria-expanded", String(!list.hidden));
    mark((isHelp ? found?.takesFirst : text) && options.length ? 0 : options.findIndex((each) => each.isNow));
    seen = known;
    if (found === null) held = isHelp ? held.filter((key) => key === "Enter") : []; // a search needs no completion to be sent
    while (held.length && seen === changes) {
      const key = held.shift();
      if (!press(key) && key === "Enter") submit();
    }
  }

  // Acts on Enter as a line without a list does.
  function submit() {
    const act = input.closest(".pick")?.querySelector("button");
    if (act) return act.click();
    const isOfMail = "several" in input.dataset && input.form?.matches("[data-writing]");
    if (isOfMail) return input.dispatchEvent(new Event("entered")); // adds one address
    input.form?.requestSubmit([...input.form.elements].find((each) => each.type === "submit"));
  }

  function isTaking(key) {
    return key === "Enter" || (isHelp && key === "Tab");
  }

  // Returns whether a key waits for the list. Tab leaves a line without a marked option.
  function isWaiting(key) {
    if (key === "Enter") return true;
    return isTaking(key) ? held.length > 0 || at >= 0 : !list.hidden && /^Arrow(Up|Down)$/.test(key);
  }

  // Returns whether the list used the key.
  function press(key) {
    const isOpen = !list.hidden;
    const last = options.length - 1;
    if (key === "ArrowDown" && !isOpen) look();
    else if (key === "ArrowDown") mark(at < last ? at + 1 : 0);
    else if (key === "ArrowUp" && isOpen) mark(at > 0 ? at - 1 : last);
    else if (isTaking(key) && isOpen && at >= 0) choose(at);
    else return false;
    return true;
  }

  input.addEventListener("input", () => (changes += 1));
  input.addEventListener("input", calmly(look, isHelp ? 20 : 120));
  input.addEventListener("blur", close);
  input.addEventListener("click", () => {
    if (!list.hidden) return;
    if (isSettled()) input.select();
    look();
  });
  input.addEventListener("keydown", (event) => {
    const { key } = event;
    if (event.isComposing || (isTaking(key) && !isPlain(event))) return;
    const isOpen = !list.hidden;
    const isOld = seen !== changes && (isOpen || !isHelp);
    if (key === "Escape" && isOpen) close();
    else if (isOld && isWaiting(key)) held.push(key);
    else if (!press(key)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return look;
}

export async function asked(path, q = "") {
  try {
    const answer = await fetch(`${path}?${new URLSearchParams({ q })}`, { redirect: "error" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

const last = (text) => text.slice(text.lastIndexOf(",") + 1).trim();

enhance((root) => {
  for (const input of all("[data-chooser]", root)) {
    const field = input.closest(".field") ?? input.parentElement;
    field.classList.add("chooser");
    const none = input.dataset.none; // label of the option for no record
    for (const plain of all("[data-plain]", field)) plain.hidden = true;
    combobox(
      input,
      async (text) => (await asked(input.dataset.chooser + (input.form?.elements[input.dataset.of]?.value ?? ""), text.replace(/#\d+$/, "")))?.results
        .map((each) => ({ label: each.label, note: `#${each.id}`, id: each.id }))
        .concat(none?.toLowerCase().startsWith(text.toLowerCase()) ? [{ label: none, id: 0 }] : []) ?? null,
      (chosen) => {
        input.value = `${chosen.label} #${chosen.id}`;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      },
    );
  }

  // Adds suggestions to lines that accept any text, or several separated by commas.
  for (const input of all("[data-suggest]", root)) {
    (input.closest(".field") ?? input.parentElement).classList.add("chooser");
    const isSeveral = "several" in input.dataset;
    combobox(
      input,
      async (text) => (await asked(input.dataset.suggest, isSeveral ? last(text) : text))?.results ?? null,
      (chosen) => {
        input.value = isSeveral ? `${input.value.slice(0, input.value.lastIndexOf(",") + 1)} ${chosen.label}, `.trimStart() : chosen.label;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      },
    );
  }

  const lists = all("[data-search-options]", root);
  if (lists.length) import("./long_lists.js").then(({ shorten }) => lists.forEach(shorten)); // they work without it, too
});

const jump = document.getElementById("jump");
if (jump) {
  const input = jump.querySelector("input");
  async function find(text) {
    const acts = import("./acts.js").then((each) => each.acts(text), () => []);
    const places = (await asked("/-/jump", text))?.hits.map((each) => ({ ...each, note: each.kind }));
    return places ? [...(await acts), ...places] : null;
  }
  function take(chosen) {
    if (!chosen.run) return location.assign(chosen.path);
    input.value = "";
    jump.close();
    chosen.run();
  }
  const look = combobox(input, find, take);
  const open = () => {
    if (document.querySelector("dialog[open]")) return;
    jump.showModal();
    input.select();
    look();
  };
  for (const link of all("[data-jump]")) {
    link.setAttribute("aria-haspopup", "dialog");
    link.addEventListener("click", (event) => isPlain(event) && (event.preventDefault(), open()));
  }
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
}
