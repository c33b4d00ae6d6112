// Adds new and older entries to the conversation of a ticket. Unchanged entries stay, with the mail in their frames and
// whatever was unfolded.
import { all, enhanced } from "./page.js";
import { put } from "./swap.js";
import { t } from "./say.js";

// Fetches the page as it is now and merges it. changes: from the stream. isOurs: whether our own act caused them, which
// is no news. Does nothing if another ticket was opened in its place meanwhile.
export async function renew(changes, isOurs) {
  const ticket = document.getElementById("ticket");
  const answer = await fetch(location.href, { headers: { "X-Live": "1" }, redirect: "manual" }).catch(() => null);
  const text = answer?.ok && (await answer.text().catch(() => ""));
  if (!ticket?.isConnected) return;
  if (answer?.type === "opaqueredirect") return showMerged(document.querySelector("[data-changed]"));
  if (!text) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const id of ["ticket-head", "panel"]) {
    const [part, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (part && fresh && !part.contains(document.activeElement?.closest("form, details[open]") ?? null)) put(part, fresh);
  }
  const [list, fresh] = [document, page].map((each) => each.querySelector(".said-list"));
  const added = list && fresh ? merge(list, fresh) : [];
  const line = document.querySelector("[data-changed]");
  const isDraft = !added.length && changes.every((each) => each.startsWith("draft")); // ours, just stored
  if (!isOurs && !isDraft) tell(line, added);
}

// Says that the ticket was merged into another one. Text being written stays, and is sent from there.
function showMerged(line) {
  const link = Object.assign(document.createElement("a"), { href: location.pathname, textContent: t("Show") });
  line?.replaceChildren(t("This ticket was merged into another one."), " ", link);
}

// Returns the text of an entry, without times relative to now.
function said(item) {
  const copy = item.cloneNode(true);
  for (const each of copy.querySelectorAll("time, iframe")) each.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

// Merges the entries of a page into the list. Entries before its first one stay. Returns the new ones.
function merge(list, fresh) {
  const known = new Map([...list.children].map((each) => [each.id, each]));
  const wanted = new Set([...fresh.children].map((each) => each.id));
  const first = [...fresh.children].find((each) => known.has(each.id));
  let place = first ? known.get(first.id) : null;
  for (let each = place, next; each; each = next) {
    next = each.nextElementSibling;
    if (!wanted.has(each.id)) {
      if (each === place) place = next;
      each.remove();
    }
  }
  const added = [];
  for (const item of [...fresh.children]) {
    const now = known.get(item.id);
    if (now && now === place) {
      place = now.nextElementSibling;
      if (said(now) !== said(item)) {
        for (const [at, each] of all("details:not(.menu)", item).entries()) each.open = all("details:not(.menu)", now)[at]?.open ?? each.open;
        now.replaceWith(item);
        enhanced(item);
      }
    } else {
      now?.remove();
      list.insertBefore(item, place);
      enhanced(item);
      if (!now) added.push(item);
    }
  }
  return added;
}

// Puts older entries on top, without moving those in view.
export async function older(link) {
  const answer = await fetch(link.href, { headers: { "X-Part": "thread" } }).catch(() => null);
  if (!answer?.ok) return location.assign(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("thread");
  const [list, more] = [document.querySelector(".said-list"), page?.querySelector(".earlier")];
  if (!page) return location.assign(link.href);
  const before = document.documentElement.scrollHeight;
  const items = [...page.querySelectorAll(".said-list > li")].filter((each) => !document.getElementById(each.id));
  list.prepend(...items);
  const box = link.closest(".earlier");
  if (more) box.replaceWith(more);
  else box.remove();
  for (const each of items) enhanced(each);
  scrollBy({ top: document.documentElement.scrollHeight - before, behavior: "instant" });
  const last = items.at(-1)?.querySelector("article") ?? list.querySelector("article");
  last?.focus({ preventScroll: true });
}

// Shows a line on top that links to what others did meanwhile.
function tell(place, items) {
  const told = items.slice(-3).map((item) => {
    const link = document.createElement("a");
    const name = item.querySelector("article")?.getAttribute("aria-label");
    link.href = `#${item.id}`;
    link.textContent = name ?? item.querySelector("span")?.textContent ?? "";
    return link;
  });
  if (!told.length) told.push(Object.assign(document.createElement("span"), { textContent: t("This ticket was changed.") }));
  const close = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: "✕", ariaLabel: t("Close the message") });
  close.addEventListener("click", () => place.replaceChildren());
  place.replaceChildren(...told, close);
}
