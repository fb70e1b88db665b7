import { ProtocolError, requestErrorBody, type SubmissionRecord } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { createWaiverClient } from "../index.js";

const record = (n: number): SubmissionRecord => ({
  ...{ id: `01890000-0000-7000-8000-00000000000${n}`, state: "queued", certainty: "not_broadcast" },
  ...{ txHash: `0x${String(n).repeat(64)}`, sender: `0x${"cd".repeat(20)}`, nonce: "0" },
  acceptedAt: "2030-01-01T00:00:00.000Z",
});
const page = (records: readonly number[], next?: string) =>
  Response.json({ submissions: records.map(record), ...(next !== undefined && { next }) });

/** Creates a client of a service that gives these answers in turn. `requestedUrls` are the URLs that it requested. */
function serviceOf(...answers: (Response | Error)[]) {
  const requestedUrls: string[] = [];
  const fetch: typeof globalThis.fetch = async (url) => {
    requestedUrls.push(String(url));
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer ?? new Error("the test has no further answer");
  };
  return { requestedUrls, client: createWaiverClient({ url: "http://service", apiKey: "gw_test", fetch }) };
}

const RETRY_AT_ONCE = { attempts: 3, minDelayMs: 0 };

describe("list", () => {
  it("yields the records of all pages, also of those after an empty page", async () => {
    const { requestedUrls, client } = serviceOf(page([3, 2], "b"), page([], "c"), page([1]));
    const filter = { states: ["queued", "failed"], from: new Date("2030-01-01") } as const;
    const ids: string[] = [];
    for await (const { id } of client.list({ ...filter, pageSize: 2 })) ids.push(id);
    expect(ids).toEqual([3, 2, 1].map((n) => record(n).id));
    const parameters = "state=queued%2Cfailed&from=2030-01-01T00%3A00%3A00.000Z&limit=2";
    expect(requestedUrls.map((url) => new URL(url).searchParams.get("cursor"))).toEqual([null, "b", "c"]);
    expect(requestedUrls[0]).toBe(`http://service/v1/submissions?${parameters}`);
  });

  it("reads no page before the iteration reaches it", async () => {
    const { requestedUrls, client } = serviceOf(page([3, 2], "b"));
    for await (const { id } of client.list()) if (id === record(2).id) break;
    expect(requestedUrls).toHaveLength(1);
  });

  it("tries again if the service cannot be reached", async () => {
    const { client } = serviceOf(new TypeError("fetch failed"), page([1], "b"));
    expect(await client.listPage({ cursor: "a", retry: RETRY_AT_ONCE })).toEqual({
      submissions: [record(1)],
      next: "b",
    });
  });

  it("throws the service's refusal, and refuses an answer that is not a list", async () => {
    const refusal = requestErrorBody(new ProtocolError("MALFORMED_QUERY", "sender is not an address"));
    const { client } = serviceOf(Response.json(refusal, { status: 400 }), Response.json({}));
    await expect(client.listPage({ sender: "x" })).rejects.toMatchObject({ reason: "MALFORMED_QUERY" });
    await expect(client.listPage()).rejects.toMatchObject({ name: "MalformedAnswerError" });
  });
});
