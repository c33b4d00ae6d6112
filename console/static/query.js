// Helps to write the search of a list: lists completions at the caret, explains a mistake, and shows the terms. It does
// not search by itself, and a search with a mistake leaves the rows as they were.
import { combobox } from "./combobox.js";
import { all, enhance } from "./page.js";
import { t } from "./say.js";

function made(name, text, values = {}) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
  element.append(...[text].flat());
  return element;
}

function leading(q) {
  const to = new URL(location.href);
  to.searchParams.delete("page");
  if (q) to.searchParams.set("q", q);
  else to.searchParams.delete("q");
  return to.pathname + to.search;
}

function reason(q, { message, start, end, instead }, id, link) {
  const parts = [message];
  if (instead) parts.push(" ", link(t("Use “{name}”", { name: instead }), q.slice(0, start) + instead + q.slice(end)));
  const copy = made("code", [q.slice(0, start), made("mark", q.slice(start, end)), q.slice(end)], { dir: "auto" });
  return made("p", [...parts, made("br", []), copy], { class: "wrong", id, role: "status" });
}

function chip({ words, without }, link) {
  const cross = made("span", "×", { "aria-hidden": "true" });
  return made("li", link([made("bdi", words), " ", cross], without, { "aria-label": t("Remove {term}", { term: words }) }));
}

enhance((root) => {
  for (const input of all("[data-query]", root)) {
    const part = input.closest("[data-part]");
    const rows = part.querySelector("[data-rows]");
    const errorId = rows ? "q-error" : `${input.id}-told`;
    const [told, chips] = ["[data-told]", "[data-chips]"].map((name) => part.querySelector(name));
    let before = "";

    // Returns a link to the list with another search, or in a form a button that sets it.
    function link(label, text, values = {}) {
      if (rows) return made("a", label, { ...values, href: leading(text) });
      const button = made("button", label, { ...values, type: "button", class: "link" });
      button.addEventListener("click", () => {
        input.value = text;
        input.focus();
        find();
      });
      return button;
    }

    function show(q, answer) {
      const mistake = answer.mistake;
      chips.replaceChildren(...answer.chips.map((each) => chip(each, link)));
      chips.hidden = !answer.chips.length;
      rows?.classList.toggle("stale", Boolean(mistake));
      const now = JSON.stringify([mistake, mistake && q]);
      if (now === before) return; // or screen readers would repeat it
      before = now;
      told.replaceChildren(...(mistake ? [reason(q, mistake, errorId, link)] : []));
      for (const [name, value] of [["aria-invalid", "true"], ["aria-describedby", errorId]]) {
        if (mistake) input.setAttribute(name, value);
        else input.removeAttribute(name);
      }
    }

    async function find() {
      const q = input.value;
      // Counts characters, some of which JavaScript stores as two units.
      const at = [...q.slice(0, input.selectionStart)].length;
      const answer = await fetch(`${input.dataset.query}?${new URLSearchParams({ q, at })}`).then((each) => each.ok ? each.json() : null, () => null);
      if (!answer || input.value !== q) return answer && [];
      const place = (count) => [...q].slice(0, count).join("").length;
      for (const each of [answer.mistake, ...answer.options, ...answer.chips]) {
        if (each) Object.assign(each, { start: place(each.start), end: place(each.end), q });
      }
      show(q, answer);
      return Object.assign(answer.options, { takesFirst: answer.takes_first });
    }

    function take({ q, insert, start, end }) {
      if (input.value !== q) return look(); // the option was for an older text
      const goesOn = /[:(]$/.test(insert);
      const text = goesOn || /^[ ,)\]]/.test(q.slice(end)) ? insert : `${insert} `;
      input.setRangeText(text, start, end, "end");
      if (goesOn) look();
    }

    input.parentElement.classList.add("chooser");
    const look = combobox(input, find, take, () => false);
  }
});

addEventListener("put", (event) => {
  const [now, next] = [event.target, event.detail].map((each) => each.querySelector("[data-rows]"));
  if (!now || !next || !event.detail.querySelector("[data-query][aria-invalid]")) return;
  now.classList.add("stale");
  next.replaceWith(now);
});
