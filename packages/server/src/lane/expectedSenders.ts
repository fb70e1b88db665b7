import { bytesToHex } from "@gas-waiver/protocol";

/** The senders whose submissions a lane of this replica will find next. A hint, which may be wrong or incomplete. */
export interface ExpectedSenders {
  add(waiver: Uint8Array, sender: Uint8Array): void;
  /** Returns the senders that were added since the last call, each once. */
  take(waiver: Uint8Array): readonly Uint8Array[];
}

/** The maximum number of senders for one lane. The lane fetches the nonces of others after it has read its queue. */
const MAX_SENDERS = 100;

export function createExpectedSenders(): ExpectedSenders {
  const byWaiver = new Map<string, Map<string, Uint8Array>>();
  return {
    add(waiver, sender) {
      const waiverHex = bytesToHex(waiver);
      const senders = byWaiver.get(waiverHex) ?? new Map<string, Uint8Array>();
      byWaiver.set(waiverHex, senders);
      if (senders.size < MAX_SENDERS) senders.set(bytesToHex(sender), sender);
    },
    take(waiver) {
      const waiverHex = bytesToHex(waiver);
      const senders = byWaiver.get(waiverHex);
      byWaiver.delete(waiverHex);
      return [...(senders?.values() ?? [])];
    },
  };
}
