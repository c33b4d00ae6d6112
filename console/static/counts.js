// Shows the numbers of the rail as a stream reports them. One of a worker's open pages follows the stream and informs
// the others; after an act of the worker the page requests them at once. Without locks (plain http), each page follows
// while visible.
import { all, follow, paced } from "./page.js";

const PATH = "/-/lists";
const rail = document.getElementById("rail");
const name = `rail ${document.documentElement.dataset.worker}`;
const pages = new BroadcastChannel(name);
let at = Number(rail.dataset.at); // the last change that the numbers include
let stream = null;

function put(news) {
  if (news.at < at) return;
  at = news.at;
  dispatchEvent(new Event("lists-changed"));
  for (const each of all("[data-view]", rail)) each.textContent = news.counts[each.dataset.view] ?? each.textContent;
}
function tell(news) {
  put(news);
  pages.postMessage(news);
  if (news.is_stale) lookInTime();
}
async function look() {
  const answer = await fetch(PATH, { redirect: "error", headers: { "X-Live": "1" } }).catch(() => null);
  if (answer?.ok) tell(await answer.json());
}
const lookInTime = paced(look, 15_000);
function attend() {
  stream = follow(`${PATH}?since=${at}`, { message: tell });
}
pages.addEventListener("message", ({ data }) => put(data));
addEventListener("saved", look);
if ("stale" in rail.dataset) look();
if (navigator.locks) navigator.locks.request(name, () => new Promise(attend));
else {
  const seen = () => (stream?.close(), document.hidden || attend());
  document.addEventListener("visibilitychange", seen);
  seen();
}
