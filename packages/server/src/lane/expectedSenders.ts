import { bytesToHex } from "@gas-waiver/protocol";

/** Whose submissions a lane of this replica will find next: a hint, which may be wrong or missing. */
export interface ExpectedSenders {
  add(waiver: Uint8Array, sender: Uint8Array): void;
  /** The senders since the last call, each once. */
  take(waiver: Uint8Array): readonly Uint8Array[];
}

/** Of one lane; of more the lane asks when it has found them. */
const REMEMBERED = 100;

export function createExpectedSenders(): ExpectedSenders {
  const byWaiver = new Map<string, Map<string, Uint8Array>>();
  return {
    add(waiver, sender) {
      const name = bytesToHex(waiver);
      const senders = byWaiver.get(name) ?? new Map<string, Uint8Array>();
      byWaiver.set(name, senders);
      if (senders.size < REMEMBERED) senders.set(bytesToHex(sender), sender);
    },
    take(waiver) {
      const name = bytesToHex(waiver);
      const senders = byWaiver.get(name);
      byWaiver.delete(name);
      return [...(senders?.values() ?? [])];
    },
  };
}
