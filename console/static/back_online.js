// The page without a connection gives way to the one that was asked for, once the server responds again.
const SECONDS = 5;

const look = () => fetch("/offline", { cache: "no-store" }).then(() => location.reload(), () => {});
addEventListener("online", look);
setInterval(() => navigator.onLine && look(), SECONDS * 1000);
