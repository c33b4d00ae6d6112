// Frames as high as the mail in them.
import { tidy } from "./folding.js";

const MOST = 4000; // pixels

function fit(frame) {
  const inside = frame.contentDocument?.body; // the document itself is never lower than the frame
  if (inside) frame.style.height = `${Math.min(Math.ceil(inside.getBoundingClientRect().height) + 8, MOST)}px`;
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
