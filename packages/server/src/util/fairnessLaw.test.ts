import { describe, expect, it, vi } from "vitest";
import { LoopQueue, SMALL } from "./loopQueue.js";

/** An attacker, who sends a request with one piece of work again and again from each address. */
interface Flood {
  readonly key: string;
  readonly addresses: number;
  /** In µs. */
  readonly price: number;
  readonly part: typeof SMALL | "";
  /** The pause behind each answer, in ms. */
  readonly restMs: number;
  /** All addresses are IPv6 networks of one site, and send at the same moments. */
  readonly isSite?: boolean;
}

const END_MS = 5_000;
/** Whoever comes at the same moment as a flood waits for the first request of each of its parties. */
const FROM_MS = 1_500;
const INTERVAL_MS = 40;
const WALLETS = 25;
/** The pauses and the work of a submission and of a wallet's call: what is read, checked, and sent on. */
const SUBMISSION = [0.5, 100, 4, 400, 3, 100];
const CALL = [0.5, 50, 4, 80];

/** An event loop in virtual time, on which work takes as long as it says. */
function createVirtualLoop() {
  let [now, busyMs] = [0, 0];
  let turn: (() => void)[] = [];
  const timers = new Map<object, { readonly at: number; readonly run: () => void }>();
  let nextAt = 0;
  const later = (run: () => void, ms: number) => {
    const timer = { unref: () => timer };
    const at = now + Math.max(1, ms);
    timers.set(timer, { at, run });
    nextAt = Math.min(nextAt, at);
    return timer;
  };
  vi.stubGlobal("setTimeout", later);
  vi.stubGlobal("clearTimeout", (timer: object) => timers.delete(timer));
  vi.stubGlobal("setImmediate", (run: () => void) => turn.push(run));
  let last = { now, busyMs };
  const measureUse = () => {
    const share = (busyMs - last.busyMs) / Math.max(1, now - last.now);
    last = { now, busyMs };
    return share;
  };
  return {
    loop: new LoopQueue({ now: () => now, measureUse }),
    now: () => now,
    later,
    work(us: number) {
      now += us / 1_000;
      busyMs += us / 1_000;
    },
    async runUntil(end: number) {
      while (now < end) {
        if (nextAt <= now) {
          const due = [...timers].filter(([, { at }]) => at <= now).sort(([, a], [, b]) => a.at - b.at);
          for (const [timer, { run }] of due) if (timers.delete(timer)) run();
          nextAt = Math.min(...[...timers.values()].map(({ at }) => at));
        }
        const begun = turn;
        turn = [];
        for (const run of begun) run();
        // The work behind promises.
        for (let i = 0; i < 4; i++) await undefined;
        if (turn.length === 0) now = Math.max(now, nextAt);
        else now += 0.01;
      }
    },
  };
}

/** @returns the latencies of one who submits with a secret key, and of wallets under a key that everybody knows, in ms. */
async function latenciesBeside(floods: readonly Flood[]) {
  const { loop, now, later, work, runUntil } = createVirtualLoop();
  const request = (party: string, part: string, steps: readonly number[], onEnd: () => void) => {
    const go = (step: number) => {
      const [pause, price] = [steps[step], steps[step + 1]];
      if (pause === undefined || price === undefined) return onEnd();
      const done = () => {
        work(price);
        go(step + 2);
      };
      // The first step waits for its turn. Databases and nodes answer when they do.
      later(() => (step === 0 ? void loop.run(party, price, done, part) : done()), pause);
    };
    const begin = () => {
      work(300);
      go(0);
    };
    loop.enter(party, 200, begin, part);
  };
  const latencies = { submission: [] as number[], call: [] as number[] };
  const measure = (party: string, steps: readonly number[], times: number[]) => {
    const from = now();
    request(party, SMALL, steps, () => from > FROM_MS && times.push(now() - from));
  };
  const ask = (n: number) => {
    measure("honest", SUBMISSION, latencies.submission);
    measure(`page 198.51.100.${n % WALLETS}`, CALL, latencies.call);
    later(() => ask(n + 1), INTERVAL_MS);
  };
  ask(0);
  for (const { key, addresses, price, part, restMs, isSite = false } of floods) {
    const addressOf = (i: number) => (isSite ? `2001:db8:7:${i.toString(16)}::/64` : `203.0.113.${i}`);
    for (let i = 0; i < addresses; i++) {
      const party = addresses === 1 ? key : `${key} ${addressOf(i)}`;
      const pause = () => (isSite ? restMs - (now() % restMs) : restMs);
      const again = () => request(party, part, [1, price], () => void later(again, pause()));
      later(again, (i * 37) % 50);
    }
  }
  await runUntil(END_MS);
  return latencies;
}

function quantile(list: readonly number[], share: number): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length * share)] ?? Number.NaN;
}

const page = { key: "page", part: SMALL } as const;
const FLOODS: Readonly<Record<string, readonly Flood[]>> = {
  "small requests of many addresses": [{ ...page, addresses: 100, price: 500, restMs: 1 }],
  "large requests of addresses and secret keys": [
    { ...page, addresses: 75, part: "", price: 3_000, restMs: 1 },
    ...["a", "b", "c"].map((key) => ({ key, addresses: 1, part: "" as const, price: 2_000, restMs: 0 })),
  ],
  "a request every two seconds of each network of a site, all at once": [
    { ...page, addresses: 600, price: 500, restMs: 1_900, isSite: true },
  ],
  "a large request a second of each of many addresses": [
    { ...page, addresses: 200, part: "", price: 3_000, restMs: 900 },
    ...["a", "b", "c", "d"].map((key) => ({
      key,
      addresses: 1,
      part: "" as const,
      price: 5_000,
      restMs: 20,
    })),
  ],
};

let quiet: Awaited<ReturnType<typeof latenciesBeside>> | undefined;

describe("the law of fairness, in virtual time", () => {
  it.each(Object.entries(FLOODS))("holds beside %s", async (_, floods) => {
    quiet ??= await latenciesBeside([]);
    const beside = await latenciesBeside(floods);
    vi.unstubAllGlobals();
    for (const party of ["submission", "call"] as const) {
      const [own, alone] = [beside[party], quiet[party]];
      expect(quantile(own, 0.5)).toBeLessThan(2 * quantile(alone, 0.5) + 20);
      expect(quantile(own, 0.99)).toBeLessThan(5 * quantile(alone, 0.99));
      expect(own.length).toBeGreaterThan(0.9 * alone.length);
    }
  });
});
