// Fits frames to the height of their email.
import { tidy } from "./folding.js";

const MOST = 4000; // pixels

function fit(frame) {
  const inside = frame.contentDocument?.body; // a document is never shorter than its frame
  if (!inside) return;
  const root = inside.parentElement;
  if (root.scrollWidth > root.clientWidth) root.dataset.narrow = ""; // drops the widths that the email sets
  const bar = root.scrollWidth > root.clientWidth ? frame.clientHeight - root.clientHeight : 0; // scroll bar of a table
  frame.style.height = `${Math.min(Math.ceil(inside.getBoundingClientRect().height) + 8 + bar, MOST)}px`;
}

export function fitted(frame) {
  const now = () => {
    const body = frame.contentDocument?.body;
    if (!body) return;
    if (frame.loading === "lazy") tidy(frame);
    fit(frame);
    new ResizeObserver(() => fit(frame)).observe(body);
  };
  frame.addEventListener("load", now);
  if (frame.contentDocument?.readyState === "complete" && frame.contentDocument.body?.childElementCount) now();
}
