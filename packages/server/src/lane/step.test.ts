import { randomUUID } from "node:crypto";
import { hexToBytes, privateKeyAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { WAIVER, WAIVER_KEY } from "../../test/support/user.js";
import type { LaneState } from "../store/lanes/laneStatus.js";
import type { Lease } from "../store/lanes/lease.js";
import { createLaneMemory } from "./inbox/laneMemory.js";
import { HeadOfLine } from "./send/head.js";
import { createLaneParties } from "./sign/plan.js";
import { afterFailure, IDLE_MS, initialState, type StepContext, step, withLease } from "./step.js";

function leaseIn(state: LaneState, epoch = 1n): Lease {
  return { lane: { chain: 1, waiver: hexToBytes(WAIVER), owner: randomUUID(), epoch }, state };
}

/** A lane that records its effects. Nothing in it can assign nonces, so a step that would do so fails. */
function recorded({
  reason,
  breaker = "open",
  hasOffers = false,
}: {
  reason?: string;
  breaker?: "open" | "closed" | "probing";
  hasOffers?: boolean;
} = {}) {
  const effects: string[] = [];
  const record = (effect: string) => async () => void effects.push(effect);
  const context = {
    account: privateKeyAccount(WAIVER_KEY),
    headOfLine: new HeadOfLine(),
    laneSigner: { window: Number.POSITIVE_INFINITY },
    broadcaster: { resendSigned: record("resend") },
    routing: { whyUnusable: () => reason },
    breaker: { state: breaker },
    laneMemory: createLaneMemory(),
    options: { maxInFlight: 100 },
    store: {
      get laneFloors() {
        throw new Error("the step assigns");
      },
    },
    parties: createLaneParties(),
    laneOffers: {
      take() {
        if (hasOffers) throw new Error("the step takes offers");
        return [];
      },
    },
    wake() {},
  } as unknown as StepContext;
  const nonces = { assigned: { count: 0, lowest: 0n, highest: 0n }, inFlight: 0, nextAfterIncluded: 0n };
  if (hasOffers) context.laneMemory.begin(leaseIn("open").lane).endReading({ ...nonces, isEmpty: true }, []);
  return { effects, context };
}

/** The lane goes on taking steps, although it has none to take at once. */
const RESTS = { restMs: IDLE_MS, isEmpty: false, hasInFlight: false };

describe("a step of the lane", () => {
  it("has no effect in a stopped lane, and keeps its state", async () => {
    const { effects, context } = recorded();
    const state = initialState();
    expect(await step(state, leaseIn("stopped"), context)).toEqual({ state, ...RESTS, isEmpty: true });
    expect(effects).toEqual([]);
  });

  it("resends what is signed first, and only once", async () => {
    const { effects, context } = recorded();
    const first = await step(initialState(), leaseIn("open"), context);
    expect(first.state.mustResend).toBe(false);
    await step(first.state, leaseIn("open"), context);
    expect(effects).toEqual(["resend"]);
  });

  it("rests while the policies permit the waiver nothing, and says so", async () => {
    const { effects, context } = recorded({ reason: "it is not registered", breaker: "closed" });
    const state = { ...initialState(), mustResend: false };
    expect(await step(state, leaseIn("open"), context)).toEqual({
      ...{ state, ...RESTS },
      wait: { cause: "policy", sentence: "it is not registered" },
    });
    expect(effects).toEqual([]);
  });

  it("assigns only while the breaker is not open", async () => {
    const state = { ...initialState(), mustResend: false };
    expect(await step(state, leaseIn("open"), recorded().context)).toEqual({ state, ...RESTS });
    const closed = recorded({ breaker: "closed" }).context;
    await expect(step(state, leaseIn("open"), closed)).rejects.toThrow("the step assigns");
  });

  it("takes offers first, but not while it drains or probes", async () => {
    const state = { ...initialState(), mustResend: false };
    const { context } = recorded({ breaker: "closed", hasOffers: true });
    await expect(step(state, leaseIn("open"), context)).rejects.toThrow("the step takes offers");
    await expect(step(state, leaseIn("draining"), context)).rejects.toThrow("the step assigns");
    const probing = recorded({ breaker: "probing", hasOffers: true }).context;
    await expect(step(state, leaseIn("open"), probing)).rejects.toThrow("the step assigns");
  });
});

describe("the state of a lane", () => {
  const resent = { ...withLease(initialState(), leaseIn("open")), mustResend: false };

  it("demands a resend after a takeover, after a lost lease and after a failure, and not after a renewal", () => {
    expect(withLease(resent, leaseIn("draining"))).toBe(resent);
    expect(withLease(resent, leaseIn("open", 2n))).toMatchObject({ epoch: 2n, mustResend: true });
    expect(withLease(resent, undefined)).toMatchObject({ epoch: undefined, mustResend: true });
    expect(afterFailure(resent).mustResend).toBe(true);
  });

  it("forgets a broadcast that has failed", async () => {
    const broadcasting = Promise.reject(new Error("no answer"));
    broadcasting.catch(() => {});
    await expect(afterFailure({ ...resent, broadcasting }).broadcasting).resolves.toBeUndefined();
  });
});
