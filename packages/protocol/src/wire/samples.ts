// The values that the examples of several schemas share. They are consistent: the hash is the one of the transaction.
import { define } from "../define.js";

/** A signed InnerTx of the local chain: user 1 gives user 2 one test token. It can be sent once after each start. */
export const SIGNED_SAMPLE =
  "0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb0000000000000000000000003c44cdddb6a900fa2b585dd299e03d12fa4293bc0000000000000000000000000000000000000000000000000de0b6b3a7640000821155a0f048d16004aa5c545793d3660fbc381e8fef74f688e2c20ab1a429d55e3892b4a007d90b2bb03f340b962cba0145a51694f0be9383bf2556810f55db5f01c4e519";

export const TX_HASH_SAMPLE = "0xbf2535c5c9be7c3c940bbd8a77e582f732d8041b5ff4b91484de85c89910c324";

export const ID_SAMPLE = "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a71";

const REFUSED_ID_SAMPLE = "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a72";

export const EMPTY_BATCH_SAMPLE = {
  code: "INVALID_REQUEST",
  message: "`transactions` is empty",
  reason: "EMPTY_BATCH",
  details: { retry: "corrected" },
};

export const GAS_PRICE_SAMPLE = {
  code: "VALIDATION_FAILED",
  message: "the transaction's gas price is 1000000000 wei; a gas-waived transaction is signed with 0",
  reason: "NON_ZERO_GAS_PRICE",
  details: { retry: "corrected", gasPrice: "1000000000" },
};

export const SUCCESS_SAMPLE = { index: 0, id: ID_SAMPLE, success: true, txHash: TX_HASH_SAMPLE };

export const FAILURE_SAMPLE = { index: 1, id: REFUSED_ID_SAMPLE, success: false, error: GAS_PRICE_SAMPLE };

const INNER_TX_SAMPLE = {
  txHash: TX_HASH_SAMPLE,
  sender: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  nonce: "0",
  target: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selector: "0xa9059cbb",
};

export const QUEUED_SAMPLE = /* @__PURE__ */ define(() => ({
  id: ID_SAMPLE,
  state: "queued",
  certainty: "not_broadcast",
  ...INNER_TX_SAMPLE,
  acceptedAt: "2026-05-18T09:30:00.000Z",
}));

export const WAITING_SAMPLE = /* @__PURE__ */ define(() => ({
  ...QUEUED_SAMPLE,
  waitsFor: "no node has taken its wrapper; it is tried again after a pause",
}));

export const INCLUDED_SAMPLE = /* @__PURE__ */ define(() => ({
  ...QUEUED_SAMPLE,
  state: "included",
  certainty: "broadcast",
  wrapperHash: "0x5c1f7c1f0e7a4d6f3c0c1a39d6a0b6f0b7c4c8d5e2f1a0938271605f4e3d2c1b",
  waiver: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  waiverNonce: "17",
  blockNumber: "204",
  blockHash: "0x9a3b5f0c2d8e6a71019e3b1c7d527c4e5c1f7c1f0e7a4d6f3c0c1a39d6a0b6f0",
  gasUsed: "51438",
  reverted: true,
  error: {
    code: "BROADCAST_FAILED",
    message: "the transaction is in a block and reverted (insufficient balance)",
    reason: "REVERTED",
    details: {
      retry: "corrected",
      txHash: TX_HASH_SAMPLE,
      blockNumber: "204",
      gasUsed: "51438",
      gasLimit: "60000",
      cause: "error",
      causeMessage: "insufficient balance",
      causeFrom: "call",
    },
  },
  signedAt: "2026-05-18T09:30:00.004Z",
  broadcastAt: "2026-05-18T09:30:00.012Z",
  includedAt: "2026-05-18T09:30:01.030Z",
  finalAt: "2026-05-18T09:30:01.030Z",
}));

export const FAILED_SAMPLE = /* @__PURE__ */ define(() => ({
  ...QUEUED_SAMPLE,
  state: "failed",
  nonce: "3",
  error: {
    code: "VALIDATION_FAILED",
    message: "nonce 3 is ahead of the sender's next, 2, which did not come within 10000 ms",
    reason: "NONCE_GAP",
    details: { retry: "later", nonce: "3", missing: "2", missingHolder: "unknown" },
  },
  failedAt: "2026-05-18T09:30:10.020Z",
}));

export const REFUSED_SAMPLE = /* @__PURE__ */ define(() => ({
  id: REFUSED_ID_SAMPLE,
  state: "failed",
  refused: true,
  certainty: "not_broadcast",
  error: GAS_PRICE_SAMPLE,
  ...INNER_TX_SAMPLE,
  failedAt: "2026-05-18T09:30:00.000Z",
}));
