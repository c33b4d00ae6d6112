// Counts down the seconds in the message about an email to be sent, but not for screen readers, which would read each.
export function count(toast) {
  const seconds = toast.querySelector("[name=seconds]").value;
  const [told, shown] = [toast.querySelector("span"), document.createElement("span")];
  const text = toast.dataset.text ??= told.textContent;
  const heard = Object.assign(document.createElement("span"), { className: "unseen", textContent: text });
  shown.ariaHidden = "true";
  told.replaceChildren(shown, heard);
  const tick = () => {
    const left = Math.ceil((toast.dataset.until - Date.now()) / 1000);
    shown.textContent = text.replace(seconds, Math.max(left, 0));
    if (left > 0 && toast.isConnected) return;
    clearInterval(timer);
    toast.remove();
  };
  const timer = setInterval(tick, 250);
  tick();
}
