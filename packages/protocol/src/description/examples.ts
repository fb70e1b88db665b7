import type { SchemaName } from "../wire/schema/index.js";

/** User 1 of the local chain gives user 2 one test token; it may be sent once after each start of the chain. */
export const SIGNED =
  "0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb0000000000000000000000003c44cdddb6a900fa2b585dd299e03d12fa4293bc0000000000000000000000000000000000000000000000000de0b6b3a7640000821155a0f048d16004aa5c545793d3660fbc381e8fef74f688e2c20ab1a429d55e3892b4a007d90b2bb03f340b962cba0145a51694f0be9383bf2556810f55db5f01c4e519";

export const SUBMISSION_ID_EXAMPLE = "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a71";
const TX_HASH = "0xbf2535c5c9be7c3c940bbd8a77e582f732d8041b5ff4b91484de85c89910c324";

const GAS_PRICE = {
  code: "VALIDATION_FAILED",
  message: "the gas price is 1000000000, not 0",
  reason: "NON_ZERO_GAS_PRICE",
};
const REVERTED = {
  code: "BROADCAST_FAILED",
  message: "the transaction is in a block and reverted",
  reason: "REVERTED",
};
const EMPTY = { code: "INVALID_REQUEST", message: "`transactions` is empty", reason: "EMPTY_BATCH" };

const SUCCESS = { index: 0, id: SUBMISSION_ID_EXAMPLE, success: true, txHash: TX_HASH };
const FAILURE = { index: 1, id: "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a72", success: false, error: GAS_PRICE };

const NO_TOKENS = { success: false, kind: "error", message: "insufficient balance", data: "0x08c379a0" };
const TOKEN = {
  address: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selectors: ["0x095ea7b3", "0xa9059cbb"],
};

const QUEUED = {
  id: SUBMISSION_ID_EXAMPLE,
  state: "queued",
  certainty: "not_broadcast",
  txHash: TX_HASH,
  sender: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  nonce: "0",
  target: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selector: "0xa9059cbb",
  acceptedAt: "2026-05-18T09:30:00.000Z",
};

const INCLUDED = {
  ...QUEUED,
  state: "included",
  certainty: "broadcast",
  wrapperHash: "0x5c1f7c1f0e7a4d6f3c0c1a39d6a0b6f0b7c4c8d5e2f1a0938271605f4e3d2c1b",
  waiver: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  waiverNonce: "17",
  blockNumber: "204",
  blockHash: "0x9a3b5f0c2d8e6a71019e3b1c7d527c4e5c1f7c1f0e7a4d6f3c0c1a39d6a0b6f0",
  gasUsed: "51438",
  reverted: true,
  error: REVERTED,
  signedAt: "2026-05-18T09:30:00.004Z",
  broadcastAt: "2026-05-18T09:30:00.012Z",
  includedAt: "2026-05-18T09:30:01.030Z",
  finalAt: "2026-05-18T09:30:01.030Z",
};
const REFUSED = {
  code: "VALIDATION_FAILED",
  message: "nonce 3 did not come within 10000 ms",
  reason: "NONCE_GAP",
};

const FAILED = { ...QUEUED, state: "failed", error: REFUSED, failedAt: "2026-05-18T09:30:10.020Z" };

/** Values of every definition; together they show every member. A test holds them to the schemas. */
export const EXAMPLES: Readonly<Record<SchemaName, readonly unknown[]>> = {
  SubmitRequest: [{ transactions: [SIGNED] }],
  Wait: ["broadcast", "included"],
  ResultLine: [SUCCESS, FAILURE],
  SubmissionRecord: [INCLUDED, FAILED, QUEUED],
  SubmissionPage: [{ submissions: [INCLUDED, FAILED], next: "AZ47HH1SfE6aO18MLY5qcQ" }, { submissions: [] }],
  CheckLine: [
    { index: 0, success: true, txHash: TX_HASH, simulation: { success: true } },
    { index: 1, success: true, txHash: TX_HASH, simulation: NO_TOKENS },
    { index: 2, success: false, error: GAS_PRICE },
  ],
  Simulate: ["true", "false"],
  KeyPolicy: [
    {
      chainId: 2201,
      marker: "0x000000000000000000000000000000000000f333",
      waits: ["broadcast", "included"],
      allowedTargets: [TOKEN],
      waivers: [
        { address: "0xbcd4042de499d14e55001ccbb24a551f3b954096", usable: true, allowedTargets: [TOKEN] },
        {
          address: "0x71be63f3384f5fb98995898a86b02fb2426c5788",
          usable: false,
          message: "0x71be63f3384f5fb98995898a86b02fb2426c5788 is not a registered waiver",
          allowedTargets: [],
        },
      ],
      limits: {
        ratePerSecond: 100,
        rateBurst: 200,
        maxQueued: 5_000,
        maxBatchSize: 100,
        maxBodyBytes: 33_554_432,
        maxGasLimit: "10000000",
        maxDataLength: 131_072,
      },
      caps: {
        ends: "2026-05-19T00:00:00.000Z",
        transactions: { limit: 10_000, left: 9_312 },
        gas: { limit: "2000000000", left: "1964411730" },
        senderTransactions: { limit: 20 },
        senderGas: { limit: "4000000" },
      },
    },
  ],
  Health: [{ status: "ok", version: "0.1.0", chainId: 2201 }],
  Readiness: [
    { ready: true, parts: { store: { ok: true }, chain: { ok: true }, waivers: { ok: true, usable: 2 } } },
    {
      ready: false,
      parts: {
        store: { ok: true },
        chain: { ok: false, message: "the node cannot be used" },
        waivers: { ok: false, message: "no lane takes work", usable: 0 },
        service: { ok: false, message: "the service is shutting down" },
      },
    },
  ],
  Error: [EMPTY],
  LineError: [GAS_PRICE],
  RequestError: [{ error: EMPTY }],
  SubmitFrame: [{ id: 1, transactions: [SIGNED], wait: "included" }],
  WatchFrame: [{ id: "again", watch: [SUBMISSION_ID_EXAMPLE], wait: "included" }],
  LineFrame: [
    { request: 1, ...SUCCESS },
    { request: 1, ...FAILURE },
  ],
  DoneFrame: [{ request: 1, done: true }],
  ErrorFrame: [{ request: null, error: EMPTY }],
};
