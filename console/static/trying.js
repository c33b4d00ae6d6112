// "Test now" of a token that was just made: the request goes out from here, with the token that stands on the page.
import { all } from "./page.js";

for (const button of all("[data-try-token]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const shown = document.getElementById(button.dataset.shows);
    shown.textContent = "…";
    const token = document.getElementById(button.dataset.tryToken).textContent.trim();
    try {
      const answer = await fetch(button.dataset.path, { headers: { Authorization: `Bearer ${token}` }, credentials: "omit" });
      shown.textContent = `${answer.status} ${answer.statusText}\n${await answer.text()}`;
    } catch (error) {
      shown.textContent = `No answer: ${error.message}`;
    }
  });
}
