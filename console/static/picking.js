// Fills the toolbar menus that insert an emoji, or an article or a link to it, at the caret.
import { asked as ask } from "./combobox.js";
import { emoji } from "./emoji.js";
import { calmly, say } from "./page.js";
import { t } from "./say.js";

const KINDS = {
  emoji: {
    find: async (typed) => emoji().filter(({ name }) => name.toLowerCase().includes(typed)).map(({ sign, name }) => ({ label: sign, name, text: sign })),
    text: async ({ text }) => text,
  },
  articles: {
    find: async (typed) => (await ask("/-/articles", typed))?.results ?? null,
    text: async ({ id }) => (await ask(`/-/articles/${id}`))?.text ?? null,
    link: async ({ id }, group) => (await fetchLink(id, group))?.text ?? null,
  },
};

async function fetchLink(id, group) {
  const answer = await fetch(`/-/articles/${id}?${new URLSearchParams({ link: "1", ...(group ? { group } : {}) })}`).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

// put(text) inserts a text at the caret.
export function picker(menu, put) {
  const kind = KINDS[menu.dataset.pick];
  const box = menu.querySelector(".items");
  const input = box.querySelector("input");
  const list = document.createElement("ul");
  list.className = "picks";
  box.append(list);
  let asked = 0;

  async function look() {
    const mine = ++asked;
    const found = await kind.find(input.value.trim().toLowerCase());
    if (mine !== asked) return;
    list.replaceChildren(...(found ?? []).map((each) => {
      const [item, button] = [document.createElement("li"), document.createElement("button")];
      Object.assign(button, { type: "button", className: "quiet", textContent: each.label });
      if (each.name) Object.assign(button, { ariaLabel: each.name, title: each.name });
      button.addEventListener("click", () => choose(kind.text(each)));
      item.append(button);
      if (each.is_public) {
        const link = Object.assign(document.createElement("button"), { type: "button", className: "quiet link", textContent: t("Link"), ariaLabel: t("Insert a link to {title}", { title: each.label }) });
        link.addEventListener("click", () => choose(kind.link(each, menu.dataset.group)));
        item.append(link);
      }
      return item;
    }));
    if (!found?.length) list.append(Object.assign(document.createElement("li"), { className: "muted", textContent: found ? t("No matches.") : t("The server does not respond. Type again in a moment.") }));
  }
  async function choose(fetched) {
    const text = await fetched;
    menu.open = false;
    if (text === null) say(t("The article could not be inserted."));
    else put(text);
  }
  menu.addEventListener("toggle", () => {
    if (!menu.open) return (input.value = ""); // not on opening: typing can begin before this event
    look();
    input.focus();
  });
  const soon = calmly(look, 120);
  box.addEventListener("input", (event) => (event.stopPropagation(), soon())); // a search does not edit the reply
  box.addEventListener("change", (event) => event.stopPropagation());
  box.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter" && event.target === input) buttons[0]?.click();
    else if (step && buttons.length && (at >= 0 || event.key === "ArrowDown")) (buttons[at + step] ?? input).focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
