// A short run of `npm run chaos`. The four rounds of the first seed have faults of most kinds.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
// Ends the processes that a failed test has left running.
import "../support/program.js";
import { ChainLoss } from "./chainLoss.js";
import { FAULT_NAMES } from "./faults.js";
import { compare, type Ledgers, VIOLATIONS } from "./ledgers.js";
import { type ChaosOptions, type ChaosResult, runChaos } from "./runChaos.js";
import { StoreLoss } from "./storeLoss.js";
import type { Row } from "./storeRows.js";

/** Runs rounds in which nothing may be violated. */
async function runWithoutViolation(options: Omit<ChaosOptions, "replicas">): Promise<ChaosResult["outcome"]> {
  const { evidence, crashes, log, outcome } = await runChaos({ ...options, replicas: 2 });
  expect(evidence, log).toEqual([]);
  expect(crashes).toEqual([]);
  expect(VIOLATIONS.map((name) => outcome[name])).toEqual(VIOLATIONS.map(() => 0));
  return outcome;
}

// The tests run concurrently, because the processes mostly wait.
describe.concurrent("a service under faults of its processes, its database, its node and its chain", () => {
  it.each(["strict", "queued"] as const)(
    "keeps its answers, its store and the chain consistent, on a node with a %s pool",
    async (pool) => {
      const options = { rounds: 2, seed: 6717, reorgDepth: 0, faults: FAULT_NAMES };
      const outcome = await runWithoutViolation({ ...options, pools: [pool] });
      const { accepted, executed, failedFinal, forgotten, kills, faults, maxRecoveryMs } = outcome;
      expect(accepted).toBe(executed + failedFinal);
      expect(executed).toBeGreaterThan(20);
      expect(forgotten).toBeGreaterThan(0);
      expect(kills).toBeGreaterThan(0);
      expect(faults).toBeGreaterThan(kills);
      expect(maxRecoveryMs).toBeGreaterThan(0);
    },
    900_000,
  );

  it("stops only the lanes whose final blocks a restored chain has lost, and goes on when they are opened", async () => {
    const options = { rounds: 1, seed: 4, reorgDepth: 2, faults: ["restore"] };
    const { accepted, executed, faults } = await runWithoutViolation({ ...options, pools: ["queued"] });
    expect(faults).toBe(1);
    expect(executed).toBeGreaterThan(20);
    // The chain has lost some executions for good.
    expect(executed).toBeLessThan(accepted);
  }, 900_000);
});

describe("npm run chaos", () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ["scripts/chaos.mjs", ...args], {
      cwd: join(import.meta.dirname, "..", ".."),
      encoding: "utf8",
    });

  it("shows its flags", () => {
    const { status, stdout } = run("--help");
    expect(status).toBe(0);
    for (const flag of ["rounds", "seed", "pool", "replicas", "fault", "json", "log"])
      expect(stdout).toContain(`--${flag} `);
  });

  it("lists all wrong flags at once", () => {
    const { status, stderr } = run("--rounds", "0", "--seed", "x", "--pool", "deep", "--replicas", "4");
    expect(status).toBe(2);
    for (const flag of ["rounds", "seed", "pool", "replicas"]) expect(stderr).toContain(`--${flag} is "`);
  });
});

describe("the comparison of the ledgers", () => {
  const hash = `0x${"ab".repeat(32)}` as const;
  const sender = `0x${"01".repeat(20)}` as const;
  const waiver = `0x${"02".repeat(20)}` as const;
  const row: Row = {
    id: "a",
    state: "included",
    key_id: "k",
    inner_hash: Buffer.from("ab".repeat(32), "hex"),
    sender: Buffer.from("01".repeat(20), "hex"),
    sender_nonce: "0",
    waiver: Buffer.from("02".repeat(20), "hex"),
    waiver_nonce: "0",
    signings: 1,
    reverted: false,
    error_reason: null,
    error_message: null,
    accepted_at: new Date(0),
    finished_at: new Date(1_000),
  };
  const run = {
    block: 1,
    wrapperHash: `0x${"cd".repeat(32)}`,
    waiver,
    waiverNonce: 0,
    innerHash: hash,
    sender,
    senderNonce: 0,
    reverted: false,
  } as const;
  const failure = { code: "BROADCAST_FAILED", reason: "NODE_REFUSED", message: "" } as const;
  const timeout = { code: "TIMEOUT", reason: "NOT_BROADCAST", message: "" } as const;
  const received = (line: object, wait: "broadcast" | "included" = "broadcast") => {
    const lines = [{ line: { index: 0, id: "a", ...line }, wait, sends: 1 }];
    return [
      { raw: hash, hash, sender, nonce: 0, sentAt: [1], received: lines },
    ] as unknown as Ledgers["clients"];
  };
  const success = received({ success: true, txHash: hash });
  const all: Ledgers = {
    clients: success,
    keyedRequests: [],
    store: [row],
    chain: [run],
    loss: new StoreLoss(),
    chainLoss: new ChainLoss(),
  };
  const ofName = (...lines: object[]) =>
    [
      { name: "n", key: "k", txs: [], lines: lines.map((line) => ({ index: 0, id: "a", ...line })) },
    ] as unknown as Ledgers["keyedRequests"];

  /** A loss of one kind: the store has forgotten the id `a`. */
  const lossOf = (kind: keyof Ledgers["loss"]): Ledgers["loss"] => {
    const none = {
      hasSubmission: () => false,
      hasFailure: () => false,
      hasDecision: () => false,
    };
    return { ...none, [kind]: (id: string) => id === "a" };
  };

  it.each<[string, Ledgers, string[]]>([
    ["nothing if they agree", all, []],
    [
      "nothing in a TIMEOUT of an executed transaction",
      { ...all, clients: received({ success: false, error: timeout }) },
      [],
    ],
    ["a row that the store lost", { ...all, store: [] }, ["lost", "lost"]],
    [
      "an InnerTx that ran twice",
      { ...all, chain: [run, { ...run, block: 2 }] },
      ["doubled", "doubled", "doubled"],
    ],
    ["a submission without a final state", { ...all, store: [{ ...row, state: "signed" }] }, ["unresolved"]],
    ["a success that never ran", { ...all, chain: [] }, ["falseSuccess", "falseSuccess"]],
    [
      "an inclusion that reverted",
      {
        ...all,
        clients: received({ success: true, txHash: hash }, "included"),
        chain: [{ ...run, reverted: true }],
      },
      ["falseSuccess", "falseSuccess"],
    ],
    [
      "a failure that ran",
      {
        ...all,
        clients: received({ success: false, error: failure }),
        store: [{ ...row, state: "failed" }],
      },
      ["falseFailure", "needlessFailure"],
    ],
    [
      "a failure of an included submission",
      { ...all, clients: received({ success: false, error: failure }) },
      ["falseFailure"],
    ],
    [
      "a failure without a cause",
      { ...all, clients: [], store: [{ ...row, state: "failed", error_reason: "NODE_REFUSED" }], chain: [] },
      ["needlessFailure"],
    ],
    [
      "nothing in a failure whose nonce another transaction used",
      {
        ...all,
        clients: [],
        store: [
          {
            ...row,
            id: "b",
            state: "failed",
            error_reason: "NONCE_TOO_LOW",
            inner_hash: Buffer.alloc(32, 1),
          },
          row,
        ],
      },
      [],
    ],
    [
      "a NONCE_GAP although the earlier nonce was used",
      {
        ...all,
        clients: [],
        store: [
          row,
          {
            ...row,
            ...{ id: "b", state: "failed", error_reason: "NONCE_GAP", inner_hash: Buffer.alloc(32, 1) },
            ...{ sender_nonce: "1", waiver_nonce: null, finished_at: new Date(9_000) },
          },
        ],
      },
      ["needlessFailure"],
    ],
    ["a gap in the nonces", { ...all, chain: [{ ...run, senderNonce: 1 }] }, ["nonceGaps"]],
    [
      "nothing in a replay with a later outcome",
      { ...all, keyedRequests: ofName({ error: timeout }, { success: true }) },
      [],
    ],
    [
      "another id in a replay",
      { ...all, keyedRequests: ofName({ success: true }, { success: true, id: "b" }) },
      ["notReplayed"],
    ],
    [
      "another outcome in a replay",
      { ...all, keyedRequests: ofName({ success: true }, { success: false, error: failure }) },
      ["notReplayed"],
    ],
    ["another nonce than the store's", { ...all, store: [{ ...row, waiver_nonce: "5" }] }, ["nonceGaps"]],
    [
      "nothing in a success that a failover forgot, if the chain gave it back",
      { ...all, store: [{ ...row, id: "b", key_id: "" }], loss: lossOf("hasSubmission") },
      [],
    ],
    [
      "a success that a failover forgot, and that never ran",
      { ...all, store: [], chain: [], loss: lossOf("hasSubmission") },
      ["falseSuccess"],
    ],
    [
      "nothing in a failure that a failover forgot",
      { ...all, clients: received({ success: false, error: failure }), loss: lossOf("hasFailure") },
      [],
    ],
    [
      "nothing in a replay of a request that a failover forgot",
      {
        ...all,
        keyedRequests: ofName({ success: false, error: failure }, { success: true, id: "b" }),
        loss: lossOf("hasDecision"),
      },
      [],
    ],
  ])("finds %s", (_, ledgers, violations) => {
    expect(compare(ledgers).map(({ violation }) => violation)).toEqual(violations);
  });
});
