// What scripts add to pages that work without them. Every part finds its own marks in the page and touches nothing else.
import "./bell.js";
import "./combobox.js";
import "./copy.js";
import "./dialogs.js";
import "./drafts.js";
import "./fields.js";
import "./keys.js";
import "./rail.js";
import "./swap.js";
import "./toasts.js";
import "./waiting.js";
addEventListener("load", () => {
  import("./offline.js"); // after all others, so that it hears of a form last
  if (navigator.serviceWorker?.controller || matchMedia("(display-mode: standalone)").matches) import("./device.js");
});
