// Suggests whom to mention after @, and snippets and emoji after :, while a text is typed.
import { emoji } from "./emoji.js";
import { ask, say } from "./page.js";
import { t } from "./say.js";
import { suggest } from "./suggest.js";

const known = new WeakSet();
const SIGN = /(?:^|[\s(])([@:])([\p{L}\p{N}._-]{0,40})$/u;

const mentionable = (q) => fetch(`/-/mentions?${new URLSearchParams({ q })}`).then((each) => each.ok ? each.json() : null, () => null);
const signs = () => emoji().map(({ sign, name }) => ({ name: sign, note: name }));
const snippets = (select) => [...select.options].filter(({ value }) => value).map(({ value, text }) => ({ name: text, value }));

async function fitting(text) {
  const [, sign, typed] = SIGN.exec(text.value.slice(0, text.selectionStart)) ?? [];
  const select = text.form.elements.snippet;
  const length = (typed ?? "").length + 1;
  if (!sign || !text.dataset.typing.includes(sign)) return null;
  if (sign === ":") return { typed, length, isByNote: true, found: [...(select ? snippets(select) : []), ...(length > 2 ? signs() : [])] };
  return { typed, length, isByNote: true, found: ((await mentionable(typed))?.results ?? []).map(({ name, label }) => ({ name: `@${name} `, note: label })) };
}

async function put({ name, value }) {
  if (!value) return name;
  const filled = await ask(`/-/snippets/${value}`, { ticket: document.querySelector("[data-ticket]")?.dataset.id ?? "" });
  if (!filled) say(t("The snippet could not be filled in."));
  return filled?.text ?? "";
}

// Starts suggestions in a text where a sign was typed.
export function begin(text) {
  if (known.has(text)) return;
  known.add(text);
  const box = text.closest(".field");
  box.classList.add("chooser");
  const { takes, open } = suggest(box, text, t("Suggestions"), () => fitting(text), put);
  text.addEventListener("keydown", takes);
  open(false);
}
