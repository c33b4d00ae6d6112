// What scripts add to pages that work without them. Every part finds its own marks in the page and touches nothing else.
import "./copy.js";
import "./dialogs.js";
import "./editor.js";
import "./fields.js";
import "./keys.js";
import "./trying.js";
