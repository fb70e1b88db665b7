// The result lines of a submit (D13, D14, D16, D18).
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { GOOD_HEADERS, outcomeOf, testServices, txHashOf } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

const services = testServices();

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("a result line", () => {
  it("is exactly index, id, success and txHash, in this order", async () => {
    const service = await services.start();
    const inner = innerOf(1);
    const { status, headers, text } = await service.post(JSON.stringify({ transactions: [inner] }));
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/x-ndjson");
    const { id } = JSON.parse(text) as { id: string };
    expect(id).toMatch(UUID_V7);
    expect(text).toBe(`{"index":0,"id":"${id}","success":true,"txHash":"${hashOf(inner)}"}\n`);
  });

  it("is exactly index, id, success and error of code, message, reason and details, in this order", async () => {
    const service = await services.start();
    const { text } = await service.post(JSON.stringify({ transactions: [""] }));
    const { id } = JSON.parse(text) as { id: string };
    expect(text).toBe(
      `{"index":0,"id":"${id}","success":false,"error":{"code":"PARSE_ERROR","message":"the transaction is an empty string","reason":"EMPTY_TRANSACTION","details":{"retry":"corrected"}}}\n`,
    );
  });

  it("comes once for each transaction of a batch, whatever the outcome of the others", async () => {
    const service = await services.start();
    const batch = [innerOf(1), "0x", innerOf(2), "nonsense", innerOf(3, 0, { gasPrice: 1n })];
    const lines = await service.submit(batch);
    expect(lines.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(new Set(lines.map(({ id }) => id)).size).toBe(5);
    expect(lines.map(outcomeOf)).toEqual([
      "success",
      "PARSE_ERROR/EMPTY_TRANSACTION",
      "success",
      "PARSE_ERROR/INVALID_HEX",
      "VALIDATION_FAILED/NON_ZERO_GAS_PRICE",
    ]);
  });
});

describe("the stream of lines", () => {
  it("has each line as soon as its result is known: a refused transaction does not wait for a valid one", async () => {
    const service = await services.start({}, { automine: false });
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const lines = service.stream([innerOf(1), "0x12"]);
    expect((await lines.next()).value).toMatchObject({ index: 1, success: false });
    nodeAnswer.resolve();
    expect((await lines.next()).value).toMatchObject({ index: 0, success: true });
    expect((await lines.next()).done).toBe(true);
  });

  it("has chunks that end at a line end, and no blank line", async () => {
    const service = await services.start();
    const transactions = Array.from({ length: 100 }, (_, i) => (i % 2 ? innerOf(i) : `0x${"ab".repeat(i)}`));
    const body = JSON.stringify({ transactions });
    const response = await service.open("POST", "/v1/submit", body, GOOD_HEADERS);
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) {
      expect(chunk).toMatch(/\n$/);
      expect(chunk).not.toMatch(/\n\n/);
      text += chunk;
    }
    const lines = text.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).index).sort((a, b) => a - b)).toEqual([...Array(100).keys()]);
  });
});

describe("a client that closes its sending half behind its request", () => {
  it("gets its lines, and then the end of the connection", async () => {
    const service = await services.start({}, { automine: false });
    const { port, hostname } = new URL(service.url);
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const body = JSON.stringify({ transactions: [innerOf(1)], wait: "included" });
    const head = Object.entries({ host: "x", ...GOOD_HEADERS, "content-length": body.length });
    const fields = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(`POST /v1/submit HTTP/1.1\r\n${fields}\r\n${body}`);
    await service.node.until(({ chain }) => chain.pending.length === 1);
    service.node.mine();
    let answer = "";
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk;
    expect(answer).toContain(`"success":true,"txHash":"${hashOf(innerOf(1))}"`);
    expect(answer).toMatch(/\r\n0+\r\n\r\n$/);
  });
});

describe("the same InnerTx", () => {
  it("is the same submission while it is unfinished, twice in one batch, and after its inclusion (D18)", async () => {
    const service = await services.start({}, { automine: false });
    const inner = innerOf(1);
    const [first, twin] = await service.submit([inner, inner]);
    const [later] = await service.submit([inner]);
    service.node.mine();
    const [included] = await service.submit([inner], { query: "?wait=included" });
    expect([first, twin, later, included].map(txHashOf)).toEqual(Array(4).fill(hashOf(inner)));
    expect(new Set([first, twin, later, included].map((line) => line?.id)).size).toBe(1);
    expect(await service.submit([inner])).toEqual([first]);
    expect(service.node.sent).toHaveLength(1);
    expect(service.node.chain.executed).toEqual([hashOf(inner)]);
  });
});

describe("?wait=included", () => {
  it("holds the line until the InnerTx is in a block (D16)", async () => {
    const service = await services.start({}, { automine: false });
    const lines = service.stream([innerOf(1)], "?wait=included");
    const line = lines.next();
    await service.node.until(({ chain }) => chain.pending.length === 1);
    expect(await Promise.race([line, Promise.resolve("none yet")])).toBe("none yet");
    service.node.mine();
    expect((await line).value).toMatchObject({ success: true, txHash: hashOf(innerOf(1)) });
  });

  it("may be a member of the body instead, or the same in both", async () => {
    const service = await services.start({}, { automine: false });
    const body = JSON.stringify({ transactions: [innerOf(1)], wait: "included" });
    const replies = [service.post(body), service.post(body, { query: "?wait=included" })];
    await service.node.until(({ chain }) => chain.pending.length === 1);
    service.node.mine();
    for (const { text } of await Promise.all(replies)) expect(JSON.parse(text).success).toBe(true);
    expect(await service.rows()).toMatchObject([{ state: "included" }]);
  });

  it.each([
    ["unknown in the body", { wait: "soon" }, ""],
    ["not a text in the body", { wait: true }, ""],
    ["unknown in the query", {}, "?wait=soon"],
    ["one in the query and another in the body", { wait: "included" }, "?wait=broadcast"],
  ])("is refused: %s", async (_, member, query) => {
    const service = await services.start();
    const reply = await service.post(JSON.stringify({ transactions: [innerOf(1)], ...member }), { query });
    expect([reply.status, JSON.parse(reply.text).error.reason]).toEqual([400, "MALFORMED_QUERY"]);
    expect(await service.rows()).toEqual([]);
  });

  it("answers BROADCAST_FAILED/REVERTED for an InnerTx that reverted, whose record says included", async () => {
    const service = await services.start();
    const inner = innerOf(1);
    service.node.chain.reverting.add(hashOf(inner));
    const [line] = await service.submit([inner], { query: "?wait=included" });
    expect(outcomeOf(line)).toBe("BROADCAST_FAILED/REVERTED");
    expect(line).toMatchObject({
      error: { message: expect.stringContaining(`${hashOf(inner)} is on the chain`) },
    });
    expect(await service.rows()).toMatchObject([{ id: line?.id, state: "included" }]);
    const [broadcast] = await service.submit([inner]);
    expect(txHashOf(broadcast)).toBe(hashOf(inner));
  });

  it("is refused with any other value", async () => {
    const service = await services.start();
    const reply = await service.post(JSON.stringify({ transactions: [innerOf(1)] }), {
      query: "?wait=forever",
    });
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error).toMatchObject({
      code: "INVALID_REQUEST",
      reason: "MALFORMED_QUERY",
    });
  });
});
