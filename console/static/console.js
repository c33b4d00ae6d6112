// Enhances pages that also work without scripts. Each module finds its own marks in the page and touches nothing else.
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
  import("./offline.js"); // last, so that its submit listener runs last
  if (navigator.serviceWorker?.controller || matchMedia("(display-mode: standalone)").matches) import("./device.js");
});
