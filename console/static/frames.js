// Frames as high as the mail in them.
import { tidy } from "./folding.js";

const MOST = 4000; // pixels

function fit(frame) {
  const inside = frame.contentDocument?.body; // the document itself is never lower than the frame
  if (!inside) return;
  const root = inside.parentElement;
  if (root.scrollWidth > root.clientWidth) root.dataset.narrow = ""; // gives up the widths of the email
  const bar = root.scrollWidth > root.clientWidth ? frame.clientHeight - root.clientHeight : 0; // of a table that stays wider
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
