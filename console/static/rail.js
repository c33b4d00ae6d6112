// Stores which sections of the rail are closed, and loads its numbers.
import { all } from "./page.js";

// Closed sections stay closed on the next page.
const sections = all(".rail [data-group]");
for (const section of sections) {
  section.querySelector("summary").addEventListener("click", () => {
    const closed = sections.filter((each) => (each === section ? each.open : !each.open)); // open changes after this
    const names = closed.map((each) => each.dataset.group).join(".");
    document.cookie = `rail=${names}; Path=/; SameSite=Lax; Max-Age=31536000`;
  });
}

// Scrolls tabs to that of the page if they overflow.
const tabs = document.querySelector(".tabs");
const shown = tabs?.querySelector("[aria-current]");
if (shown && tabs.scrollWidth > tabs.clientWidth) tabs.scrollLeft += shown.getBoundingClientRect().left - tabs.getBoundingClientRect().left - (tabs.clientWidth - shown.clientWidth) / 2;

// Leaves the rail, which is a full page on a phone.
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && location.hash === "#rail") location.hash = "#main";
});

// Loaded late: the first view does not need live numbers.
if (document.getElementById("rail")) import("./counts.js");
