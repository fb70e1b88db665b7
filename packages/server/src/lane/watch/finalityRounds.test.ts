import { expect, it, onTestFinished } from "vitest";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { Store } from "../../store/store.js";
import type { Lane } from "../lane.js";
import { startFinalityRounds } from "./finalityRounds.js";
import { createSchedule } from "./schedule.js";

type Outcome = () => Promise<bigint[]>;

const silence: Outcome = () => Promise.reject(new RpcUnavailableError("the node gave no answer", "unknown"));
const otherSilence: Outcome = () => Promise.reject(new RpcUnavailableError("time-out", "unknown"));
const answer: Outcome = () => Promise.resolve([1n]);

/** Runs one round for each outcome of the call to the nodes. @returns what was logged, by the rounds. */
async function roundsOf(...outcomes: Outcome[]): Promise<string[][]> {
  const logged: string[][] = [];
  const tell = (level: string) => (first: unknown, message?: string) =>
    void logged.at(-1)?.push(`${level} ${message ?? first}`);
  const log = Object.fromEntries(["debug", "info", "warn"].map((level) => [level, tell(level)]));
  const lane = {
    lease: () => ({ lane: { chain: 1, waiver: new Uint8Array(20) }, state: "open" }),
    onFinality: () => {},
  } as unknown as Lane;
  // The lane has a final block.
  const rows = [{ place: "1", waiver_nonce: "0", block_number: "1", block_hash: Buffer.alloc(32) }];
  const store = { pool: { query: async () => ({ rows }) }, moves: { hasMoved: async () => false } };
  await new Promise<void>((resolve) => {
    const rounds = startFinalityRounds(() => [lane], {
      store: store as unknown as Store,
      chain: {
        nonces() {
          const outcome = outcomes[logged.push([]) - 1];
          // The outcomes of all rounds before have been logged.
          if (outcome === undefined) resolve();
          return (outcome ?? answer)();
        },
      },
      options: { pollIntervalMs: 0 },
      schedule: createSchedule(),
      log: log as unknown as Logger,
    });
    onTestFinished(() => rounds.end());
  });
  return logged.slice(0, outcomes.length);
}

const UNANSWERED = "warn finality: tries again";
const WELL = "info finality: a node answers again";

it("tells once that no node answers, and once that one does again", async () => {
  expect(await roundsOf(answer, silence, otherSilence, silence, answer, answer, silence, answer)).toEqual([
    [],
    [UNANSWERED],
    [],
    [],
    [WELL],
    [],
    [UNANSWERED],
    [WELL],
  ]);
});

it("tells of each other failure, also while no node answers", async () => {
  const refusal: Outcome = () => Promise.reject(new Error("method not found"));
  expect(await roundsOf(silence, refusal, silence, refusal)).toEqual([
    [UNANSWERED],
    [UNANSWERED],
    [],
    [UNANSWERED],
  ]);
});
