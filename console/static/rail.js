// The rail: which of its sections are closed, and its numbers.
import { all } from "./page.js";

// The next page comes with the closed sections closed.
const sections = all(".rail [data-group]");
for (const section of sections) {
  section.querySelector("summary").addEventListener("click", () => {
    const closed = sections.filter((each) => (each === section ? each.open : !each.open)); // it turns after this
    const names = closed.map((each) => each.dataset.group).join(".");
    document.cookie = `rail=${names}; Path=/; SameSite=Lax; Max-Age=31536000`;
  });
}

// Tabs that have no room scroll; the one of the page is in view.
const tabs = document.querySelector(".tabs");
const shown = tabs?.querySelector("[aria-current]");
if (shown && tabs.scrollWidth > tabs.clientWidth) tabs.scrollLeft += shown.getBoundingClientRect().left - tabs.getBoundingClientRect().left - (tabs.clientWidth - shown.clientWidth) / 2;

// On a phone the rail is a page of its own.
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && location.hash === "#rail") location.hash = "#main";
});

// Nothing that is seen first waits for the numbers to follow.
if (document.getElementById("rail")) import("./counts.js");
