// Which groups of the rail are closed: the next page comes with them closed.
import { all } from "./page.js";

const groups = all(".rail details");
for (const group of groups) {
  group.querySelector("summary").addEventListener("click", () => {
    const closed = groups.filter((each) => (each === group ? each.open : !each.open)); // it turns after this
    const names = closed.map((each) => each.dataset.group).join(".");
    document.cookie = `rail=${names}; Path=/; SameSite=Lax; Max-Age=31536000`;
  });
}

// On a phone the rail is a page of its own.
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && location.hash === "#rail") location.hash = "#main";
});
