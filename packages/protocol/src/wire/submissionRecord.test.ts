import { describe, expect, it } from "vitest";
import { parseSubmissionRecord, type SubmissionRecord } from "./submissionRecord.js";
import { WireError } from "./wireError.js";

const queued: SubmissionRecord = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  state: "queued",
  certainty: "not_broadcast",
  txHash: `0x${"ab".repeat(32)}`,
  sender: `0x${"cd".repeat(20)}`,
  nonce: "0",
  target: `0x${"45".repeat(20)}`,
  selector: "0xa9059cbb",
  acceptedAt: "2030-01-01T00:00:00.000Z",
};

const included: SubmissionRecord = {
  ...queued,
  state: "included",
  certainty: "broadcast",
  wrapperHash: `0x${"ef".repeat(32)}`,
  waiver: `0x${"01".repeat(20)}`,
  waiverNonce: "7",
  blockNumber: "12",
  blockHash: `0x${"23".repeat(32)}`,
  gasUsed: "51000",
  reverted: true,
  error: { code: "BROADCAST_FAILED", message: "it reverted", reason: "REVERTED" },
  signedAt: "2030-01-01T00:00:00.001Z",
  broadcastAt: "2030-01-01T00:00:00.002Z",
  includedAt: "2030-01-01T00:00:01.000Z",
  finalAt: "2030-01-01T00:00:02.000Z",
};

describe("parseSubmissionRecord (D15, D17)", () => {
  it.each([queued, included])("reads a record in the state $state", (record) => {
    expect(parseSubmissionRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  it("reads a record of an older service, without the members added since (D26)", () => {
    const { target, selector, ...older } = queued;
    expect(parseSubmissionRecord(older)).toEqual(older);
  });

  it("keeps the members that a newer service adds (D26)", () => {
    expect(parseSubmissionRecord({ ...queued, newer: 1 })).toEqual({ ...queued, newer: 1 });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["an array", []],
    ["an unknown state", { ...queued, state: "lost" }],
    ["an unknown certainty", { ...queued, certainty: "maybe" }],
    ["no hash", { ...queued, txHash: undefined }],
    ["a nonce as number", { ...queued, nonce: 0 }],
    ["a waiver's nonce as number", { ...included, waiverNonce: 7 }],
    ["a block hash of null", { ...included, blockHash: null }],
    ["a time as number", { ...included, includedAt: 0 }],
    ["reverted as text", { ...included, reverted: "yes" }],
    ["an error without a code", { ...included, error: { message: "it reverted" } }],
  ])("refuses %s", (_, value) => {
    expect(() => parseSubmissionRecord(value)).toThrow(WireError);
  });
});
