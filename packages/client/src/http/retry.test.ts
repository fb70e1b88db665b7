import { encodeResultLine, ProtocolError, type ResultLine, requestErrorBody } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { InvalidArgumentError } from "../errors.js";
import { ConnectionFailedError, createWaiverClient, type RetryOptions, StreamEndedError } from "../index.js";

const AT_ONCE: RetryOptions = { attempts: 3, minDelayMs: 0 };
const idOf = (index: number) => `01890000-0000-7000-8000-00000000000${index}`;
const hashOf = (index: number) => `0x${String(index).repeat(64)}`;

/** Returns a body with lines for some of the transactions: position in the request, number of the transaction. */
function linesOf(...lines: readonly (readonly [index: number, number: number])[]): string {
  return lines
    .map(
      ([index, number]): ResultLine => ({ index, id: idOf(number), success: true, txHash: hashOf(number) }),
    )
    .map((line) => `${encodeResultLine(line)}\n`)
    .join("");
}

type Answer = Response | Error;

/** Creates a service that gives these answers in turn. Returns it with the transactions and keys of each request. */
function serviceOf(...answers: Answer[]) {
  const sent: string[][] = [];
  const keys: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(typeof init?.body === "string" ? JSON.parse(init.body).transactions : []);
    keys.push(new Headers(init?.headers).get("idempotency-key"));
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer ?? new Error("nobody answers");
  };
  return { sent, keys, client: createWaiverClient({ url: "http://service", apiKey: "gw_test", fetch }) };
}

const refused = (status: number, headers: Record<string, string> = {}) =>
  Response.json(requestErrorBody(new ProtocolError("QUEUE_AT_CAPACITY", "full")), { status, headers });
const neverSent = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) });

async function collect(lines: AsyncIterable<ResultLine>): Promise<ResultLine[]> {
  const all: ResultLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

afterEach(() => {
  vi.useRealTimers();
});

describe("submit with retry", () => {
  it("is off by default", async () => {
    const { sent, client } = serviceOf(refused(503), new Response(linesOf([0, 0])));
    expect(await errorOf(collect(client.submit(["0x00"])))).toMatchObject({ status: 503 });
    expect(sent).toHaveLength(1);
  });

  it("sends again when the request is refused for now or the service cannot be reached", async () => {
    const { sent, client } = serviceOf(refused(503), neverSent(), new Response(linesOf([0, 0])));
    expect(await collect(client.submit(["0x00"], { retry: AT_ONCE }))).toMatchObject([{ id: idOf(0) }]);
    expect(sent).toEqual([["0x00"], ["0x00"], ["0x00"]]);
  });

  it("sends only transactions without a line, and gives indexes of the whole batch", async () => {
    const { sent, client } = serviceOf(
      new Response(linesOf([1, 1])),
      new Error("reset"),
      new Response(linesOf([1, 2], [0, 0])),
    );
    const lines = await collect(client.submit(["0x00", "0x01", "0x02"], { retry: AT_ONCE }));
    expect(lines.map(({ index, id }) => [index, id])).toEqual([
      [1, idOf(1)],
      [2, idOf(2)],
      [0, idOf(0)],
    ]);
    expect(sent).toEqual([
      ["0x00", "0x01", "0x02"],
      ["0x00", "0x02"],
      ["0x00", "0x02"],
    ]);
  });

  it("sends the whole request again under an idempotency key, and gives each line once", async () => {
    const { sent, keys, client } = serviceOf(
      new Response(linesOf([1, 1])),
      new Response(linesOf([1, 1], [0, 0])),
      new Response(linesOf([2, 2], [1, 1])),
    );
    const options = { retry: AT_ONCE, idempotencyKey: "one" };
    const lines = await collect(client.submit(["0x00", "0x01", "0x02"], options));
    expect(lines.map(({ index, id }) => [index, id])).toEqual([1, 0, 2].map((i) => [i, idOf(i)]));
    expect(sent).toEqual(Array(3).fill(["0x00", "0x01", "0x02"]));
    expect(keys).toEqual(["one", "one", "one"]);
  });

  it("refuses an invalid idempotency key", async () => {
    const { sent, keys, client } = serviceOf(new Response(linesOf([0, 0])));
    for (const idempotencyKey of ["", "a b", "ä", "~".repeat(256)]) {
      expect(await errorOf(collect(client.submit(["0x00"], { idempotencyKey })))).toBeInstanceOf(
        InvalidArgumentError,
      );
    }
    expect(sent).toEqual([]);
    await collect(client.submit(["0x00"]));
    expect(keys).toEqual([null]);
  });

  it("does not send again a request that is refused for good", async () => {
    const unauthorized = Response.json(requestErrorBody(new ProtocolError("UNKNOWN_KEY", "no")), {
      status: 401,
    });
    const { sent, client } = serviceOf(unauthorized);
    expect(await errorOf(collect(client.submit(["0x00"], { retry: AT_ONCE })))).toMatchObject({
      status: 401,
    });
    expect(sent).toHaveLength(1);
  });

  it("never claims that nothing was sent when an earlier attempt may have been accepted", async () => {
    const { client } = serviceOf(new Response(linesOf([0, 0])), refused(503), neverSent());
    const error = await errorOf(collect(client.submit(["0x00", "0x01", "0x02"], { retry: AT_ONCE })));
    expect(error).toBeInstanceOf(StreamEndedError);
    expect(error).toMatchObject({ missing: [1, 2], cause: { certainty: "not_sent" } });
  });

  it.each<[string, () => Answer, object]>([
    ["was never sent", neverSent, { certainty: "not_sent" }],
    ["was refused", () => refused(503), { reason: "QUEUE_AT_CAPACITY" }],
  ])(
    "leaves acceptance open after a failure of the store, although the last attempt %s",
    async (_, last, cause) => {
      const perhaps = new ProtocolError("STORE_UNAVAILABLE", "perhaps accepted");
      const { client } = serviceOf(Response.json(requestErrorBody(perhaps), { status: 503 }), last(), last());
      const error = await errorOf(collect(client.submit(["0x00"], { retry: AT_ONCE })));
      expect(error).toBeInstanceOf(StreamEndedError);
      expect(error).toMatchObject({ missing: [0], cause });
    },
  );

  it("reports that nothing was sent when no attempt reached the service", async () => {
    const { client } = serviceOf(neverSent(), refused(503), neverSent());
    const error = await errorOf(collect(client.submit(["0x00"], { retry: AT_ONCE })));
    expect(error).toBeInstanceOf(ConnectionFailedError);
    expect(error).toMatchObject({ certainty: "not_sent" });
  });

  it("waits for the pause that the service asks for", async () => {
    vi.useFakeTimers();
    const { sent, client } = serviceOf(refused(503, { "retry-after": "7" }), new Response(linesOf([0, 0])));
    const lines = collect(client.submit(["0x00"], { retry: AT_ONCE }));
    await vi.advanceTimersByTimeAsync(6_999);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await lines).toHaveLength(1);
  });

  it("waits for weeks rather than not at all where the service asks for a pause that no timer takes", async () => {
    vi.useFakeTimers();
    const { sent, client } = serviceOf(
      refused(503, { "retry-after": "3000000" }),
      new Response(linesOf([0, 0])),
    );
    const lines = collect(client.submit(["0x00"], { retry: AT_ONCE }));
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(30 * 86_400_000);
    expect(await lines).toHaveLength(1);
  });

  it("ends with the signal while it pauses", async () => {
    const { client } = serviceOf(refused(503, { "retry-after": "3600" }));
    const leaving = new AbortController();
    const lines = errorOf(collect(client.submit(["0x00"], { retry: AT_ONCE, signal: leaving.signal })));
    leaving.abort(new Error("changed my mind"));
    expect(await lines).toMatchObject({ message: "changed my mind" });
  });
});

const record = {
  ...{ id: idOf(0), state: "queued", certainty: "not_broadcast", txHash: hashOf(0) },
  ...{ sender: `0x${"cd".repeat(20)}`, nonce: "0", acceptedAt: "2030-01-01T00:00:00.000Z" },
};
const reverted = {
  ...{ ...record, state: "included", certainty: "broadcast", reverted: true },
  error: { code: "BROADCAST_FAILED", message: "it reverted", reason: "REVERTED" },
};

describe("status", () => {
  it("returns the record although the service cannot be reached for a moment", async () => {
    const { client } = serviceOf(refused(503), neverSent(), Response.json(record));
    expect(await client.status(idOf(0), { retry: AT_ONCE })).toEqual(record);
  });

  it("does not ask again for an unknown submission", async () => {
    const missing = requestErrorBody(new ProtocolError("NO_SUCH_SUBMISSION", "none"));
    const { sent, client } = serviceOf(Response.json(missing, { status: 404 }));
    expect(await errorOf(client.status("a/b"))).toMatchObject({ status: 404, reason: "NO_SUCH_SUBMISSION" });
    expect(sent).toHaveLength(1);
  });

  it("refuses an answer that is not a record", async () => {
    const { client } = serviceOf(Response.json({ id: idOf(0) }));
    expect(await errorOf(client.status(idOf(0)))).toMatchObject({ name: "MalformedAnswerError" });
  });
});

describe("wait", () => {
  const stages = ["queued", "signed", "broadcast", "included"];
  const life = () => stages.map((state) => Response.json({ ...record, state }));

  it("waits until the transaction is in a block", async () => {
    const { client } = serviceOf(...life());
    expect(await client.wait(idOf(0), { pollMs: 0 })).toMatchObject({ state: "included" });
  });

  it("waits only until it is broadcast, if asked to", async () => {
    const { sent, client } = serviceOf(...life());
    const options = { until: "broadcast", pollMs: 0 } as const;
    expect(await client.wait(idOf(0), options)).toMatchObject({ state: "broadcast" });
    expect(sent).toHaveLength(3);
  });

  it("throws the record's error when the submission failed", async () => {
    const error = { code: "VALIDATION_FAILED", message: "no nonce 1 came", reason: "NONCE_GAP" };
    const { client } = serviceOf(Response.json({ ...record, state: "failed", error }));
    const thrown = await errorOf(client.wait(idOf(0)));
    expect(thrown).toMatchObject({ name: "SubmissionFailedError", id: idOf(0), ...error });
    expect(thrown).toMatchObject({ record: { state: "failed" } });
  });

  it("counts a reverted call as broadcast, and not as a success", async () => {
    const { client } = serviceOf(Response.json(reverted), Response.json(reverted));
    expect(await client.wait(idOf(0), { until: "broadcast" })).toMatchObject({ reverted: true });
    expect(await errorOf(client.wait(idOf(0)))).toMatchObject({ reason: "REVERTED" });
  });

  it("tries again while the service cannot be reached, and gives up if that lasts", async () => {
    const back = serviceOf(neverSent(), refused(503), Response.json({ ...record, state: "included" }));
    expect(await back.client.wait(idOf(0), { retry: AT_ONCE })).toMatchObject({ state: "included" });
    const gone = serviceOf();
    expect(await errorOf(gone.client.wait(idOf(0), { retry: AT_ONCE }))).toBeInstanceOf(
      ConnectionFailedError,
    );
    expect(gone.sent).toHaveLength(3);
  });

  it("ends with the signal", async () => {
    vi.useFakeTimers();
    const { client } = serviceOf(Response.json(record));
    const leaving = new AbortController();
    const waiting = errorOf(client.wait(idOf(0), { signal: leaving.signal }));
    await vi.advanceTimersByTimeAsync(100);
    leaving.abort(new Error("too long"));
    expect(await waiting).toMatchObject({ message: "too long" });
  });
});
