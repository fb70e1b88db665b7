// One law for every list of calls: a request that fails whole is divided until its culprits are alone.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Endpoint, type PendingCall } from "./endpoint.js";
import { type HttpAnswer, NoAnswerError } from "./httpPoster.js";

// A list that takes a second is slow, whatever stopped the machine meanwhile.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

type Failure = (ids: readonly number[]) => HttpAnswer | Promise<HttpAnswer>;

const answer = (body: unknown, status = 200): HttpAnswer => ({
  status,
  text: typeof body === "string" ? body : JSON.stringify(body),
  requests: 1,
});
const error = (message: string, code = -32_003) => ({ code, message });

/** The ways in which a request with a culprit fails. */
const FAILURES: Readonly<Record<string, Failure>> = {
  "a proxy's page": () => answer("<h1>403 Forbidden</h1>", 403),
  "a bill": () => answer({ id: null, error: error("Insufficient balance: top up your account") }, 402),
  "a bill for each call": (ids) =>
    answer(
      ids.map((id) => ({ id, error: error("Insufficient balance") })),
      402,
    ),
  "an error without an id": () => answer({ id: null, error: error("batch response too large") }),
  "an error with the first id": ([id]) => answer([{ id, error: error("batch too large", -32_600) }]),
  "foreign ids": (ids) => answer(ids.map((id) => ({ id: id + 1_000, result: "0x1" }))),
  "ids twice": (ids) => answer([...ids, ...ids].map((id) => ({ id, result: "0x1" }))),
  "no answers": () => answer([]),
  "no JSON": () => answer('[{"id":0,"res'),
  "an error of the server": () => answer("Bad Gateway", 502),
  "a limit of rate": () => answer("slow down", 429),
  "a reset": () => {
    throw new NoAnswerError(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), 1);
  },
};

/** An endpoint that fails whole with any request that `isBad`, and counts its requests. */
function endpointThat(isBad: (ids: readonly number[]) => boolean, fails: Failure) {
  const requests: number[][] = [];
  const endpoint = new Endpoint(
    {
      async post(body) {
        const calls = [JSON.parse(body)].flat() as { readonly id: number; readonly method: string }[];
        const ids = calls.map(({ id }) => id);
        requests.push(calls[0]?.method === "eth_blockNumber" ? [] : ids);
        if (calls[0]?.method === "eth_blockNumber") return answer({ id: 0, result: "0x1" });
        return isBad(ids) ? fails(ids) : answer(ids.map((id) => ({ id, result: "0x1" })));
      },
    },
    0,
    { mayAnswerTooLong: false },
  );
  return { endpoint, requests };
}

function callsOf(count: number, isSend = false): PendingCall[] {
  return Array.from({ length: count }, (_, id) => {
    const name = `"method":"eth_getBalance","params":["${id}"]}`;
    return {
      id,
      name,
      text: `{"id":${id},${name}`,
      isSend,
      outcome: undefined,
      failure: undefined,
      requests: 0,
    };
  });
}

const LISTS = fc.record({
  count: fc.integer({ min: 1, max: 100 }),
  places: fc.uniqueArray(fc.integer({ min: 0, max: 99 }), { maxLength: 6 }),
  failure: fc.constantFrom(...Object.keys(FAILURES)),
  isSend: fc.boolean(),
});

describe("a list of calls", () => {
  it("has all calls answered but the culprits, in 2·k·log₂N requests and some, whatever fails and however", async () => {
    await fc.assert(
      fc.asyncProperty(LISTS, async ({ count, places, failure, isSend }) => {
        const culprits = new Set(places.filter((place) => place < count));
        const { endpoint, requests } = endpointThat(
          (ids) => ids.some((id) => culprits.has(id)),
          FAILURES[failure] as Failure,
        );
        const calls = callsOf(count, isSend);
        const others = calls.filter(({ id }) => !culprits.has(id));
        // A single read that fails is asked at another endpoint.
        fc.pre(count > 1);
        const isAnswered = ({ outcome }: PendingCall) => outcome !== undefined && "result" in outcome;
        let turns = 0;
        for (; turns === 0 || !others.every(isAnswered); turns++) {
          if (turns > culprits.size + 1) break;
          await endpoint.ask(calls.filter((call) => !isAnswered(call)));
        }
        expect(others.every(isAnswered)).toBe(true);
        expect(calls.filter(isAnswered)).toHaveLength(others.length);
        expect(requests.length).toBeLessThanOrEqual(
          2 * culprits.size * Math.ceil(Math.log2(count)) + 5 * turns,
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it("that an endpoint failed with while it served nothing of the method is asked again once it serves the method", async () => {
    let isDown = true;
    const bad = 1;
    const { endpoint, requests } = endpointThat(
      (ids) => isDown || ids.includes(bad),
      FAILURES["an error of the server"] as Failure,
    );
    const asked = async (...places: number[]) => {
      requests.splice(0);
      const all = callsOf(20, true);
      await endpoint.ask(places.map((place) => all[place] as PendingCall));
      return requests.flat().sort();
    };
    for (let turn = 0; turn < 4; turn++) await asked(0, 1, 2);
    // All rest by now.
    expect(await asked(0, 1, 2)).toEqual([]);
    isDown = false;
    expect(await asked(9)).toEqual([9]);
    expect(await asked(0, 1, 2)).toEqual([0, 1, 2]);
    // The one that fails though others are answered rests, whatever else is answered.
    await asked(9, 1, 0);
    expect(await asked(9, 1, 0)).toEqual([0, 9]);
  });

  it("that only is too long is answered in order, and the next one is shorter from the start", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 99 }),
        fc.constantFrom(...Object.keys(FAILURES)),
        async (limit, failure) => {
          const { endpoint, requests } = endpointThat(
            (ids) => ids.length > limit,
            FAILURES[failure] as Failure,
          );
          const first = callsOf(100);
          await endpoint.ask(first);
          expect(first.every(({ outcome }) => outcome !== undefined)).toBe(true);
          const answered = requests.filter((ids) => ids.length > 0 && ids.length <= limit).flat();
          expect(answered).toEqual(first.map(({ id }) => id));
          expect(requests.length).toBeLessThanOrEqual(Math.ceil(200 / limit) + 12);
          requests.splice(0);
          await endpoint.ask(callsOf(100));
          expect(requests.filter((ids) => ids.length > limit).length).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it("leaves a culprit out for a while, so that it costs the others nothing", async () => {
    const { endpoint, requests } = endpointThat((ids) => ids.includes(13), FAILURES["a bill"] as Failure);
    await endpoint.ask(callsOf(100));
    requests.splice(0);
    const calls = callsOf(100);
    await endpoint.ask(calls);
    expect(requests.map(({ length }) => length)).toEqual([99]);
    expect(calls.filter(({ outcome }) => outcome === undefined)).toMatchObject([
      { id: 13, failure: { isOfCall: true } },
    ]);
  });

  it("tells sends that have gone in no request from those that do not go again", async () => {
    const { endpoint } = endpointThat(() => true, FAILURES["a bill"] as Failure);
    const calls = callsOf(120, true);
    await endpoint.ask(calls);
    const heldBack = calls.flatMap(({ requests, failure }) => {
      const [, words] = failure?.message.match(/^(not sent.*), after/) ?? [];
      return words === undefined ? [] : [`${words}: ${requests > 0 ? "some requests" : "none"}`];
    });
    expect([...new Set(heldBack)]).toEqual(["not sent again: some requests", "not sent: none"]);
  });

  it("is not asked for again while the endpoint asks for silence, although it has answered others meanwhile", async () => {
    const requests: number[] = [];
    let heldUntil = 0;
    const silence = answer("slow down", 429);
    let refuse = () => {};
    const endpoint = new Endpoint(
      {
        heldUntil: () => heldUntil,
        async post(body) {
          const calls = [JSON.parse(body)].flat() as { readonly id: number }[];
          requests.push(calls.length);
          if (calls.length === 1) return answer({ id: calls[0]?.id, result: "0x1" });
          return heldUntil > 0 ? silence : await new Promise((resolve) => (refuse = () => resolve(silence)));
        },
      },
      0,
      { mayAnswerTooLong: false },
    );
    const asked = endpoint.ask(callsOf(100, true));
    await endpoint.ask(callsOf(1));
    heldUntil = performance.now() + 5_000;
    refuse();
    await asked;
    expect(requests).toEqual([100, 1]);
  });

  it("that times out shows an endpoint that is gone, although others were answered before that", async () => {
    let isGone = false;
    const timesOut = async () => {
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      throw new NoAnswerError(new Error("no answer within 10000 ms"), 1);
    };
    const endpoint = new Endpoint(
      {
        async post(body) {
          const calls = [JSON.parse(body)].flat() as { readonly id: number }[];
          if (isGone || calls.length > 1) return await timesOut();
          return answer({ id: calls[0]?.id, result: "0x1" });
        },
      },
      0,
      { mayAnswerTooLong: false },
    );
    const asked = endpoint.ask(callsOf(100, true));
    await endpoint.ask(callsOf(1));
    isGone = true;
    await vi.advanceTimersByTimeAsync(60_000);
    await asked;
    expect(endpoint.restsUntil).toBeGreaterThan(0);
  });

  it("is not divided where the endpoint answers nothing else", async () => {
    let requests = 0;
    const post = async () => {
      requests++;
      return answer("Bad Gateway", 502);
    };
    const endpoint = new Endpoint({ post }, 0, { mayAnswerTooLong: false });
    await endpoint.ask(callsOf(100));
    expect(requests).toBe(2);
    expect(endpoint.restsUntil).toBeGreaterThan(performance.now());
  });
});

describe("an endpoint that asks for silence", () => {
  it("is not asked whether it answers something else", async () => {
    let heldUntil = 0;
    const poster = {
      heldUntil: () => heldUntil,
      async post() {
        if (heldUntil > 0) return await new Promise<HttpAnswer>(() => {});
        heldUntil = performance.now() + 50_000;
        return answer("slow down", 429);
      },
    };
    const asking = new Endpoint(poster, 0, { mayAnswerTooLong: false }).ask(callsOf(3));
    const startedAt = performance.now();
    await Promise.all([asking, vi.runAllTimersAsync()]);
    expect(performance.now() - startedAt).toBe(0);
  });
});

describe("a call that hangs", () => {
  const hangs = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    throw new NoAnswerError(new Error("the time is over"), 1);
  };
  async function timeOf(asking: Promise<void>): Promise<number> {
    const startedAt = performance.now();
    const time = asking.then(() => performance.now() - startedAt);
    await vi.runAllTimersAsync();
    return await time;
  }
  /** Asks two endpoints at which the call 1 hangs for three calls, as a read does. @returns the time that it took, in ms. */
  async function readAt(endpoints: readonly Endpoint[]): Promise<number> {
    const read = async () => {
      let left = callsOf(3);
      for (const endpoint of endpoints) {
        await endpoint.ask(left, true);
        left = left.filter(({ outcome }) => outcome === undefined);
      }
      expect(left.map(({ id }) => id)).toEqual([1]);
    };
    return await timeOf(read());
  }

  it("costs the others two seconds, and later half a second, less and less often", async () => {
    const endpoints = [1, 2].map(() => endpointThat((ids) => ids.includes(1), hangs).endpoint);
    const times: number[] = [];
    for (let i = 0; i < 6; i++) times.push(await readAt(endpoints));
    expect(times).toEqual([2_250, 500, 500, 500, 250, 250]);
  });

  it("costs sends no time-out either, and what was sent again counts as sent twice", async () => {
    const { endpoint } = endpointThat((ids) => ids.includes(1), hangs);
    const calls = callsOf(3, true);
    expect(await timeOf(endpoint.ask(calls))).toBe(1_250);
    expect(calls.map(({ outcome }) => outcome !== undefined)).toEqual([true, false, true]);
    expect(calls[1]?.failure).toMatchObject({ sent: "unknown", isOfCall: true });
    expect(calls.map(({ requests }) => requests)).toEqual([2, 2, 2]);
    const alone = callsOf(2, true).slice(1);
    expect(await timeOf(endpoint.ask(alone))).toBe(250);
    expect(alone[0]?.requests).toBe(1);
  });

  it("is none where late answers come: what takes long has its time from then on", async () => {
    for (const isSend of [true, false])
      for (const count of [1, 3]) {
        const { endpoint } = endpointThat(
          () => true,
          async (ids) => {
            await new Promise((resolve) => setTimeout(resolve, 2_000));
            return answer(ids.map((id) => ({ id, result: "0x1" })));
          },
        );
        await timeOf(endpoint.ask(callsOf(count, isSend)));
        const calls = callsOf(count, isSend);
        expect(await timeOf(endpoint.ask(calls))).toBe(2_000);
        expect(calls.every(({ outcome, requests }) => outcome !== undefined && requests === 1)).toBe(true);
      }
  });

  it("lets no late answer to a read stand behind newer ones: callers compare them", async () => {
    const { endpoint } = endpointThat(
      () => true,
      async (ids) => {
        await new Promise((resolve) => setTimeout(resolve, ids.length > 1 ? 1_500 : 200));
        return answer(ids.map((id) => ({ id, result: ids.length > 1 ? "old" : "new" })));
      },
    );
    const calls = callsOf(3);
    await timeOf(endpoint.ask(calls));
    expect(calls.map(({ outcome }) => outcome)).toEqual(Array(3).fill({ result: "new" }));
  });

  it("keeps its place among reads, whose answers callers compare in this order", async () => {
    let isWell = false;
    const { endpoint, requests } = endpointThat(
      (ids) => isWell || ids.includes(0),
      async (ids) => {
        if (!isWell) return await hangs();
        await new Promise((resolve) => setTimeout(resolve, ids.includes(0) ? 400 : 200));
        return answer(ids.map((id) => ({ id, result: "0x1" })));
      },
    );
    await timeOf(endpoint.ask(callsOf(2)));
    isWell = true;
    requests.length = 0;
    const calls = callsOf(2);
    await timeOf(endpoint.ask(calls));
    expect(requests.filter(({ length }) => length > 0)).toEqual([[0], [1]]);
    expect(calls.map(({ outcome }) => outcome)).toEqual([undefined, { result: "0x1" }]);
  });

  it("is none where an endpoint takes long for many calls: it is soon asked for as few as it answers at once", async () => {
    const { endpoint, requests } = endpointThat(
      () => true,
      async (ids) => {
        await new Promise((resolve) => setTimeout(resolve, 30 * ids.length));
        return answer(ids.map((id) => ({ id, result: "0x1" })));
      },
    );
    for (let i = 0; i < 6; i++) {
      requests.splice(0);
      const calls = callsOf(100);
      const asking = endpoint.ask(calls, true);
      await vi.runAllTimersAsync();
      await asking;
    }
    expect(requests.flat()).toEqual(callsOf(100).map(({ id }) => id));
  });
});
