// Shows the number of unread notifications in the bell and the title. One of a worker's pages follows it for all: a
// browser has few connections to a site. Without locks (plain http), each page follows it while visible.
import { follow as share } from "./page.js";

const PATH = "/notifications/unread";
const bell = document.querySelector(".bell");
const name = `bell ${document.documentElement.dataset.worker}`;
const MARK = /^\([\p{Nd}\p{P}\s]+?\) /u; // before the title, set here or by the server

function put({ html }) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector(".bell");
  bell.replaceChildren(...fresh.childNodes);
  bell.ariaLabel = fresh.ariaLabel;
  bell.dataset.unread = fresh.dataset.unread;
  const number = bell.querySelector(".number");
  document.querySelector("[data-unread-number]").textContent = number?.textContent ?? "";
  document.title = (number ? `(${number.textContent}) ` : "") + document.title.replace(MARK, "");
}

if (bell) {
  const tabs = new BroadcastChannel(name);
  let feed;
  async function look() {
    const answer = await fetch(PATH, { redirect: "error", headers: { "X-Live": "1" } }).catch(() => null);
    if (!answer?.ok) return;
    const news = await answer.json();
    put(news);
    tabs.postMessage(news);
  }
  function follow() {
    feed = share(`${PATH}?since=${bell.dataset.unread}`, { message: look });
  }
  tabs.addEventListener("message", ({ data }) => put(data));
  if (navigator.locks) navigator.locks.request(name, () => new Promise(follow));
  else {
    const seen = () => (feed?.close(), document.hidden || follow());
    document.addEventListener("visibilitychange", seen);
    seen();
  }
  if (self.Notification?.permission === "granted") import("./alerts.js");
}
