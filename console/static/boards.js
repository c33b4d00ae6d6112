// Lets cards of boards be dragged; their buttons move them as well. Cards with data-card have an order: they are dropped
// before the card below the pointer, or at the end of a column.
import { all, enhance } from "./page.js";

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

enhance((root) => all("[data-board]", root).forEach(movable));
