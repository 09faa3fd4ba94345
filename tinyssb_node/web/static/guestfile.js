// Files that a guest's phone makes and signs: the same bytes as the node's (docs/formats/files.md), as many as the node takes of a phone.

import { ApiError, get } from "/static/api.js";
import { bipf, fromBase64, minutesOf, split } from "/static/entries.js";
import { t, tn } from "/static/language.js";
import { person } from "/static/person.js";
import { line } from "/static/words.js";

/** Returns the content of an entry that is a file for everybody. */
export const fileContent = ({ name, type, data }, nowS) => bipf(["FIL", name, type, fromBase64(data), minutesOf(nowS)]);

/** Returns how many packets the node takes now, behind those that wait on this phone. Throws ApiError. */
async function packetsLeft() {
  const { left } = await get("/api/guest");
  return person.me.waiting.reduce((rest, entry) => rest - entry.packets.length, left);
}

/** What a guest's phone sends; it asks the node only how much that may be. */
export const guestFiles = {
  sizeMax: 11_700, // bytes, with the longest name in 119 packets; the node takes 120 of a phone in an hour
  budgets: [20, 40, 80],
  usual: 40,
  unchanged: 3_750, // bytes of a picture that is sent as it is unless the guest chooses otherwise

  async cost(request) {
    const { chunks } = await split(fileContent(request, Date.now() / 1_000), person.me.dialect);
    const packets = 1 + chunks.length;
    const left = Math.max(0, await packetsLeft());
    const taken = tn(left, "The node takes {n} packet more of you in this hour.", "The node takes {n} packets more of you in this hour.");
    if (packets > left) throw new ApiError("quota", `${tn(packets, "This file has {n} packet.", "This file has {n} packets.")} ${taken}`, t("Make it smaller, or send it later."));
    return { packets, costly: false, words: `${tn(packets, "{n} packet", "{n} packets")}. ${taken}` };
  },

  async send(request) {
    await this.cost(request); // other guests may have sent something meanwhile
    return person.hand((nowS) => fileContent(request, nowS), t("File {name}", { name: line(request.name) || t("without a name") }));
  },
};
