// Opens a contact form in a dialog of another website: include this script, and mark links to the form with
// data-contact-form. Without it they are plain links.

(function () {
  "use strict";
  document.addEventListener("click", function (event) {
    const link = event.target.closest ? event.target.closest("a[data-contact-form]") : null;
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open(link);
  });

  function open(link) {
    const address = new URL(link.href);
    address.searchParams.set("embed", "1");
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", link.textContent.trim());
    style(dialog, { padding: "0", border: "0", borderRadius: "12px", width: "min(42rem, 96vw)", height: "min(50rem, 94vh)", overflow: "hidden" });
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "\u00d7";
    close.setAttribute("aria-label", link.dataset.close || "Close");
    style(close, { position: "absolute", top: "8px", right: "8px", width: "44px", height: "44px", fontSize: "24px", border: "0", borderRadius: "8px", background: "#fff", color: "#1b2129", cursor: "pointer" });
    const frame = document.createElement("iframe");
    frame.src = address.href;
    frame.title = link.textContent.trim();
    style(frame, { width: "100%", height: "100%", border: "0", background: "#fff" });
    function receive(message) {
      if (message.source === frame.contentWindow && message.origin === address.origin && message.data === "contact-form-close") dialog.close();
    }
    close.addEventListener("click", function () { dialog.close(); });
    window.addEventListener("message", receive);
    dialog.addEventListener("close", function () {
      window.removeEventListener("message", receive);
      dialog.remove();
      link.focus();
    });
    dialog.append(close, frame);
    document.body.append(dialog);
    dialog.showModal();
  }

  function style(element, values) {
    Object.assign(element.style, values);
  }
})();
