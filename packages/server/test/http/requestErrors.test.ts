// The answers to unknown paths and methods, and to malformed HTTP (D21).
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { API_KEY, OTHER_API_KEY, testServices } from "../support/testService.js";
import { upgradeRequest } from "../support/upgradeRequest.js";

const services = testServices();

describe("an unknown path or method", () => {
  const shared = services.shared();

  it.each(["/v1", "/v1/submit/", "/v2/submit", "/v1/%zz", "/v1/submission"])("%s gets 404", async (path) => {
    const service = shared();
    const reply = await service.call("GET", path);
    expect(reply.status).toBe(404);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "NOT_FOUND", reason: "NO_SUCH_PATH" });
  });

  it("gets 404 for a path far longer than any route, and the route's own 404 for a long id", async () => {
    const id = "x".repeat(2_000);
    const nowhere = await shared().call("GET", `/v1/nothing/${id}`);
    expect([nowhere.status, JSON.parse(nowhere.text).error.reason]).toEqual([404, "NO_SUCH_PATH"]);
    const authorization = `Bearer ${API_KEY}`;
    const record = await shared().call("GET", `/v1/submissions/${id}`, undefined, { authorization });
    expect([record.status, JSON.parse(record.text).error.reason]).toEqual([404, "NO_SUCH_SUBMISSION"]);
  });

  it("gets 404 with a body of an unknown type", async () => {
    const reply = await shared().call("POST", "/v1/nothing", "{}", { "content-type": "" });
    expect([reply.status, JSON.parse(reply.text).error.reason]).toEqual([404, "NO_SUCH_PATH"]);
  });

  it.each([
    ["PUT", "/v1/submit", "POST"],
    ["DELETE", "/v1/submit?wait=included", "POST"],
    ["POST", "/v1/health", "GET"],
  ])("%s %s gets 405 with Allow", async (method, path, allow) => {
    const service = shared();
    const reply = await service.call(method, path);
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toContain(allow);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "NOT_FOUND", reason: "NO_SUCH_METHOD" });
  });
});

describe("an unknown query parameter", () => {
  const shared = services.shared();

  it.each([
    ["POST", "/v1/submit?waits=included", "waits"],
    ["POST", "/v1/check?wait=included", "wait"],
    ["GET", "/v1/submissions?sate=failed", "sate"],
    ["GET", `/v1/submissions/0x${"1".repeat(64)}?fields=state`, "fields"],
    ["GET", "/v1/policy?key=own", "key"],
    ["GET", "/v1/health?verbose", "verbose"],
  ])("of %s %s is refused by its name", async (method, path, name) => {
    const body = method === "POST" ? JSON.stringify({ transactions: ["0x00"] }) : undefined;
    const reply = await shared().call(method, path, body, { authorization: `Bearer ${API_KEY}` });
    const { error } = JSON.parse(reply.text);
    expect([reply.status, error.reason]).toEqual([400, "MALFORMED_QUERY"]);
    expect(error.message).toContain(`"${name}"`);
  });
});

describe("bytes that are not an HTTP request", () => {
  const shared = services.shared();

  it.each([
    ["another protocol", "SSH-2.0-client\r\n\r\n", 400, "MALFORMED_HTTP"],
    [
      "a header that is too long",
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`,
      431,
      "HEAD_TOO_LARGE",
    ],
    ["no Host", "GET /v1/health HTTP/1.1\r\n\r\n", 400, "MALFORMED_HTTP"],
    [
      "two Hosts, of an upgrade too",
      `${upgradeRequest(API_KEY).join("\r\n")}\r\nHOST: x\r\n\r\n`,
      400,
      "MALFORMED_HTTP",
    ],
    [
      "two Authorizations, of which a proxy may have read another one",
      `GET /v1/ready HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${API_KEY}\r\nauthorization: Bearer ${OTHER_API_KEY}\r\n\r\n`,
      400,
      "MALFORMED_HTTP",
    ],
    [
      "two Authorizations, one behind two thousand other fields",
      `GET /v1/ready HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${API_KEY}\r\n${"a:\r\n".repeat(2_000)}Authorization: x\r\n\r\n`,
      400,
      "MALFORMED_HTTP",
    ],
    [
      "two Authorizations, of an upgrade too",
      `${upgradeRequest(API_KEY).join("\r\n")}\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`,
      400,
      "MALFORMED_HTTP",
    ],
  ])("get an error of the usual shape: %s", async (_, bytes, status, reason) => {
    const { hostname, port } = new URL(shared().url);
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    let answer = "";
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk;
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const { error } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
    expect(error).toMatchObject({ code: "INVALID_REQUEST", reason });
  });
});

describe("an unknown Expect field", () => {
  const shared = services.shared();

  it("is ignored", async () => {
    const reply = await shared().call("GET", "/v1/health", undefined, { expect: "foo" });
    expect([reply.status, JSON.parse(reply.text).status]).toEqual([200, "ok"]);
  });
});
