// Runs "Test now" of a token just created: sends a request from the browser, with the token shown on the page.
import { all } from "./page.js";
import { t } from "./say.js";

for (const button of all("[data-try-token]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = document.getElementById(button.dataset.says);
    const shown = document.getElementById(button.dataset.shows);
    said.textContent = "…";
    shown.hidden = true;
    const token = document.getElementById(button.dataset.tryToken).textContent.trim();
    try {
      const answer = await fetch(button.dataset.path, { headers: { Authorization: `Bearer ${token}` }, credentials: "omit" });
      const text = await answer.text();
      const found = read(text);
      said.textContent = answer.ok && found._label ? t("Works: you are signed in as {name}.", { name: found._label })
        : t("Does not work ({status}): {reason}", { status: answer.status, reason: found.message ?? text });
      shown.textContent = found === NOTHING ? text : JSON.stringify(found, null, 2);
      shown.hidden = false;
    } catch (error) {
      said.textContent = t("No response: {reason}", { reason: error.message });
    }
  });
}

const NOTHING = {};

// Parses JSON; NOTHING for null and for other text, such as from a proxy.
function read(text) {
  try {
    return JSON.parse(text) ?? NOTHING;
  } catch {
    return NOTHING;
  }
}
