// Opens the conversation of a ticket at its newest entry, with older ones folded to a line each.
import { all, enhance, fitFrames, isPlain } from "./page.js";

const turns = () => all(".said-list .turn");

enhance((root) => {
  fitFrames(root);
  const own = all(".said-html:has(blockquote)", root);
  if (own.length) import("./folding.js").then(({ foldQuotes }) => own.forEach((each) => foldQuotes(each)), () => null);
});

// -- folding -----------------------------------------------------------------------------------------------------------

function foldAll(link) {
  const isOpen = turns().some((turn) => !turn.open);
  for (const turn of turns()) turn.open = isOpen;
  link.textContent = isOpen ? link.dataset.collapse : link.dataset.expand;
  document.activeElement?.closest(".said-list > li")?.scrollIntoView({ block: "nearest" });
}
addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-fold]");
  if (!link || event.button) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  foldAll(link);
}, true);

// -- files -------------------------------------------------------------------------------------------------------------

// Shows files in place: the one clicked, or the first if a key opens all.
const shownFiles = () => all(".ticket .files [data-preview]").filter((each) => !each.parentElement.hidden);
enhance(() => {
  const viewAll = document.querySelector("[data-view-files]");
  if (viewAll) viewAll.hidden = !shownFiles().length;
});
addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-view-files], .ticket .files [data-preview]");
  if (!link || event.button || !isPlain(event) || link.dataset.preview === "") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const files = shownFiles();
  import("./viewer.js").then(({ view }) => view(files, Math.max(files.indexOf(link), 0)), () => link.href && location.assign(link.href));
}, true);

// -- links to entries -------------------------------------------------------------------------------------------------

// Unfolds the entry that the address links to.
function unfold() {
  const turn = /^#[a-z]+\d+$/.test(location.hash) && document.querySelector(`${location.hash} .turn`);
  if (turn) turn.open = true;
}
addEventListener("hashchange", unfold);
unfold();

// -- scroll position --------------------------------------------------------------------------------------------------

// Calls work whenever an element resizes, until the reader acts.
function until(moves, work) {
  const moved = new AbortController();
  const grown = new ResizeObserver(work);
  grown.observe(moves);
  moved.signal.addEventListener("abort", () => grown.disconnect());
  for (const name of ["wheel", "pointerdown", "keydown", "touchstart", "focusin", "leave"]) {
    addEventListener(name, () => moved.abort(), { signal: moved.signal, passive: true });
  }
}

// Restores the page as it was left: unfolded entries, heights of frames, scroll position.
function restore(left) {
  for (const turn of turns()) {
    const { id } = turn.closest("li");
    turn.open = id in left.open;
    const frame = turn.querySelector("iframe");
    if (frame && left.open[id]) frame.style.height = `${left.open[id]}px`;
  }
  until(document.querySelector(".said-list"), () => scrollTo({ top: left.top, behavior: "instant" }));
}
function remember() {
  const open = turns().filter((turn) => turn.open).map((turn) => [turn.closest("li").id, turn.querySelector("iframe")?.offsetHeight ?? 0]);
  history.replaceState({ ...history.state, turns: { open: Object.fromEntries(open), top: scrollY } }, "");
}
addEventListener("pagehide", remember);

// Scrolls to the newest entry, and stays there while frames above grow.
function reveal() {
  const newest = all(".said-list > li:not(.event)").slice(1).at(-1);
  if (!newest || location.hash || /[?&](message|comment|draft|back)=/.test(location.search)) return;
  until(newest.parentElement, () => {
    if (newest.getBoundingClientRect().bottom > innerHeight || scrollY) newest.scrollIntoView({ block: "start", behavior: "instant" });
  });
}
const arrival = performance.getEntriesByType("navigation")[0]?.type;
if (arrival !== "navigate" && history.state?.turns) restore(history.state.turns);
else if (arrival === "navigate") reveal();

// panes.js replaces this ticket with another.
addEventListener("leave", ({ detail }) => detail.isBack || remember());
addEventListener("arrive", ({ detail }) => {
  scrollTo({ top: 0, behavior: "instant" });
  if (detail.isBack && history.state?.turns) restore(history.state.turns);
  else reveal();
});
