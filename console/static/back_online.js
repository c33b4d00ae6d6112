// Replaces the offline page with the requested page once the server responds again.
const SECONDS = 5;

const look = () => fetch("/offline", { cache: "no-store" }).then(() => location.reload(), () => {});
addEventListener("online", look);
setInterval(() => navigator.onLine && look(), SECONDS * 1000);
