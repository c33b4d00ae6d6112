// Lets cards of boards be dragged; their buttons move them as well. Cards with data-card have an order: they are dropped
// before the card below the pointer, or at the end of a column. Cards that automations draw are fetched after the page.
import { all, enhance } from "./page.js";
import { t } from "./say.js";

const known = new Map(); // what automations drew, by board, column and card: shown at once when a part is loaded again

function movable(board) {
  let dragged = null;
  const leave = () => all(".over", board).forEach((each) => each.classList.remove("over"));
  for (const card of all(".card", board)) {
    card.draggable = true;
    card.addEventListener("dragstart", (event) => {
      dragged = card;
      event.dataTransfer.effectAllowed = "move";
    });
    card.addEventListener("dragend", () => {
      dragged = null;
      leave();
    });
  }
  for (const column of all("section", board)) {
    const below = (event) => event.target.closest(".card[data-card]");
    column.addEventListener("dragover", (event) => {
      if (!dragged) return;
      event.preventDefault();
      leave();
      (below(event) ?? column).classList.add("over");
    });
    column.addEventListener("drop", (event) => {
      event.preventDefault();
      const form = dragged?.querySelector("form");
      const next = below(event);
      if (!form || next === dragged || (column.contains(dragged) && !dragged.dataset.card)) return;
      const value = next ? `${column.dataset.value},${next.dataset.card}` : column.dataset.value;
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: board.dataset.board, value }));
      form.requestSubmit();
    });
  }
}

const keyOf = (board, card) => [board.dataset.drawing, card.closest("section").dataset.value, card.dataset.card].join(" ");

// Shows a card as it was drawn. Its buttons stay.
function show(card, drawn) {
  const details = card.querySelector(".details");
  const fresh = new DOMParser().parseFromString(drawn.html, "text/html").body;
  if (details.innerHTML !== fresh.innerHTML) details.replaceChildren(...fresh.childNodes); // else a link keeps the focus
  if (drawn.title) card.querySelector("a").textContent = drawn.title;
}

function explain(board, problems) {
  for (const [column, messages] of Object.entries(problems)) {
    const list = all("section", board).find((each) => each.dataset.value === column)?.querySelector("ul");
    for (const message of list ? messages : []) {
      const text = t("Some cards are not drawn: {message}", { message });
      if (all(".wrong", list.parentElement).some((each) => each.textContent === text)) continue;
      list.before(Object.assign(document.createElement("p"), { className: "wrong", dir: "auto", textContent: text }));
    }
  }
}

// Fetches the drawn cards of a board, part by part. Without a response, the plain cards stay.
async function draw(board) {
  const cards = new Map(all("[data-card]", board).map((card) => [card.dataset.card, card]));
  for (const card of cards.values()) {
    const drawn = known.get(keyOf(board, card));
    if (drawn) show(card, drawn);
  }
  for (let path = board.dataset.drawing; path && board.isConnected;) {
    const answer = await fetch(path, { redirect: "error" }).catch(() => null);
    const part = answer?.ok ? await answer.json().catch(() => null) : null;
    if (!part) return;
    for (const drawn of part.cards) {
      const card = cards.get(drawn.ref);
      if (!card?.isConnected) continue;
      cards.delete(drawn.ref);
      known.set(keyOf(board, card), drawn);
      show(card, drawn);
    }
    explain(board, part.problems);
    path = part.next;
  }
  if (board.isConnected) for (const card of cards.values()) known.delete(keyOf(board, card)); // it stays plain
}

enhance((root) => {
  all("[data-board]", root).forEach(movable);
  all("[data-drawing]", root).forEach(draw);
});
