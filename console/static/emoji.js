// Lists emoji for replies to customers, with the words that find them.
import { t } from "./say.js";

export const emoji = () => [
  ["🙂", t("smile")], ["😀", t("grin")], ["😉", t("wink")], ["😊", t("happy")], ["😂", t("laughing")], ["😅", t("relieved")],
  ["😕", t("confused")], ["😞", t("sad")], ["🤔", t("thinking")], ["👍", t("thumbs up")], ["👎", t("thumbs down")], ["👋", t("wave")],
  ["🙏", t("thank you")], ["👏", t("applause")], ["💪", t("strong")], ["🎉", t("party")], ["❤️", t("heart")], ["⭐", t("star")],
  ["✅", t("check mark")], ["❌", t("cross")], ["⚠️", t("warning")], ["❓", t("question")], ["💡", t("idea")], ["🔧", t("wrench")],
  ["📦", t("parcel")], ["🚚", t("delivery")], ["📞", t("telephone")], ["📅", t("calendar")], ["🔒", t("lock")], ["☕", t("coffee")],
].map(([sign, name]) => ({ sign, name }));
