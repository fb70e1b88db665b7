// Every reason of docs/errors.md in every place that it names there, from a running service (D13, D21, D23).
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  bytesToHex,
  detailNamesOf,
  detailsOf,
  type ErrorBody,
  parseCheckLine,
  type Reason,
  type ResultLine,
  signTransaction,
} from "@gas-waiver/protocol";
import { REASON_NOTES } from "@gas-waiver/protocol/description";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenKeyAdmin, openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { problemsOfDetails } from "../support/description.js";
import { failRecords } from "../support/failRecords.js";
import { REGISTRY, withRegistry } from "../support/policies.js";
import { replyToBytes } from "../support/rawReply.js";
import {
  GOOD_HEADERS,
  OTHER_API_KEY,
  type Reply,
  type TestService,
  testServices,
} from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { APPROVE, hashOf, innerOf, TOKEN, TRANSFER, userAddress, userKey } from "../support/user.js";

const services = testServices({ reach: "tcp" });
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** The reasons that were seen, each with its place, and the values that the details of each had. */
const seen = new Set<string>();
const seenValues = new Set<string>();
const see = (place: string, ...errors: (ErrorBody | undefined)[]) => {
  for (const error of errors) {
    if (error?.reason === undefined) continue;
    seen.add(`${error.reason} ${place}`);
    expect(problemsOfDetails(error)).toEqual([]);
    for (const name of Object.keys(error.details ?? {})) seenValues.add(`${error.reason} ${name}`);
  }
};

const bodyOf = (...transactions: string[]) => JSON.stringify({ transactions });

async function submit(
  service: TestService,
  transactions: readonly string[],
  query = "",
): Promise<ResultLine[]> {
  const lines = await service.submit(transactions, { query });
  see("submit", ...lines.map((line) => (line.success ? undefined : line.error)));
  return lines;
}

async function check(service: TestService, transactions: readonly string[], headers = {}): Promise<void> {
  const body = bodyOf(...transactions);
  const { text } = await service.call("POST", "/v1/check", body, { ...GOOD_HEADERS, ...headers });
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => parseCheckLine(JSON.parse(line)));
  see("check", ...lines.map((line) => (line.success ? undefined : line.error)));
}

async function readRecords(service: TestService, lines: readonly ResultLine[]): Promise<void> {
  for (const { id } of lines) {
    const { status, text } = await service.call("GET", `/v1/submissions/${id}`, undefined, GOOD_HEADERS);
    const record = JSON.parse(text);
    // The record of a refused line repeats what the line says (D15).
    if (status === 200 && !record.refused) see("record", record.error);
  }
}

const seeReply = ({ text }: Reply) => see("http", JSON.parse(text).error);

async function seeFrames(service: TestService, ...frames: unknown[]): Promise<void> {
  const client = await TestSocket.open(service);
  for (const frame of frames) {
    client.send(frame);
    see("frame", (await client.next()).error as ErrorBody);
  }
  client.socket.close();
}

function errorOf(line: ResultLine | undefined): ErrorBody {
  if (line === undefined || line.success) throw new Error("the line has no error");
  return line.error;
}

/** A call whose access list makes its wrapper larger than nodes take. */
function withAccessList(keys: number): string {
  const storageKeys = Array.from({ length: keys }, () => new Uint8Array(32).fill(9));
  const tx = {
    ...({ type: "eip2930", chainId: 2_201n, nonce: 0n, gasPrice: 0n, gasLimit: 10_000_000n } as const),
    ...{ to: TOKEN, value: 0n, data: APPROVE, accessList: [{ address: TOKEN, storageKeys }] },
  };
  return bytesToHex(signTransaction(tx, userKey(1)).raw);
}

interface Vector {
  readonly expect: { readonly verdict: string; readonly reason?: string };
  readonly service?: { readonly verdict: string; readonly transaction: string };
}

const vectors: readonly Vector[] = JSON.parse(
  readFileSync(`${ROOT}packages/protocol/vectors/wrappers.json`, "utf8"),
).cases;

/** Reasons with their places that other test files produce, keyed by the file. */
const IN_OTHER_TESTS: Readonly<Record<string, readonly string[]>> = {
  "packages/server/test/limits/abuse.test.ts": [
    "REQUEST_TOO_SLOW http",
    "SOCKETS_AT_CAPACITY http",
    "BODIES_AT_CAPACITY http",
  ],
  "packages/server/test/http/requestErrors.test.ts": ["MALFORMED_HTTP http", "HEAD_TOO_LARGE http"],
  "packages/server/test/keys/keys.test.ts": ["BODY_TOO_LARGE http"],
  "packages/server/test/keys/caps.test.ts": ["CAP_EXCEEDED record"],
  "packages/server/test/keys/authentication.test.ts": ["TOO_MANY_UNKNOWN_KEYS http"],
  "packages/server/test/keys/publishableKeys.test.ts": ["ORIGIN_NOT_ALLOWED http", "KEY_IS_PUBLISHABLE http"],
  "packages/server/test/limits/queueCapacity.test.ts": ["KEY_SHARE_EXHAUSTED http", "QUEUE_AT_CAPACITY http"],
  "packages/server/test/http/socket.test.ts": [
    "DUPLICATE_REQUEST_ID frame",
    "CONNECTION_FULL frame",
    "RATE_EXCEEDED frame",
    "SHUTTING_DOWN frame",
  ],
  "packages/server/test/operations/shutdown.test.ts": ["SHUTTING_DOWN http"],
  "packages/devnet/src/rpc/dispatch.test.ts": ["TRANSACTION_TOO_LARGE node"],
  "test/devSnapshots.test.ts": ["NOT_INCLUDED record"],
  "packages/server/src/admin/admin.test.ts": [
    "INVALID_KEY_TERMS admin",
    "KEY_STATE_FINAL admin",
    "NO_SUCH_KEY admin",
    "ROLE_TOO_LOW admin",
    "TOO_MANY_UNKNOWN_KEYS admin",
  ],
};

/** The pairs that the files have. Each file must name the reason, and the value if the pair has one. */
function pairsOfFiles(files: Readonly<Record<string, readonly string[]>>): string[] {
  return Object.entries(files).flatMap(([file, pairs]) => {
    const text = readFileSync(`${ROOT}${file}`, "utf8");
    for (const pair of pairs) {
      const [reason = "", second = ""] = pair.split(" ");
      expect(text.includes(reason), `${pair} in ${file}`).toBe(true);
      if (files === VALUES_IN_OTHER_TESTS) expect(text.includes(second), `${pair} in ${file}`).toBe(true);
    }
    return pairs;
  });
}

/** Values of details that other test files see, keyed by the file. */
const VALUES_IN_OTHER_TESTS: Readonly<Record<string, readonly string[]>> = {
  "packages/server/test/limits/abuse.test.ts": [
    "SOCKETS_AT_CAPACITY capacity",
    "BODIES_AT_CAPACITY capacity",
  ],
  "packages/server/test/http/socket.test.ts": ["CONNECTION_FULL capacity"],
  "packages/server/test/keys/keys.test.ts": ["BODY_TOO_LARGE maxBodyBytes"],
  "packages/server/test/keys/caps.test.ts": ["CAP_EXCEEDED record"],
  "packages/server/test/keys/authentication.test.ts": ["TOO_MANY_UNKNOWN_KEYS retryAfterSeconds"],
  "packages/server/test/results/revertCauses.test.ts": [
    "REVERTED cause",
    "REVERTED causeMessage",
    "REVERTED panic",
    "REVERTED revertData",
    "REVERTED causeFrom",
  ],
  "packages/server/src/lane/law/reconcile.test.ts": ["NONCE_TOO_LOW usedBy", "NONCE_TOO_LOW blockNumber"],
};

describe("every reason of the documentation", () => {
  const admins: OpenKeyAdmin[] = [];
  afterAll(async () => {
    for (const admin of admins) await admin.close();
  });

  beforeAll(() => seen.clear());

  it("of unreadable transactions and broken rules, in a submit and a check", async () => {
    const targets = [{ address: TOKEN, selectors: [TRANSFER, APPROVE] }];
    const service = await services.start({ allowedTargets: targets, requestTimeoutMs: 2_000 });
    const refused = vectors.flatMap(({ service: expected }) =>
      expected?.verdict === "refused" ? [expected.transaction] : [],
    );
    const long = innerOf(1, 0, { data: new Uint8Array(131_073), gasLimit: 9_000_000n });
    const transactions = [...new Set(refused), "zz", long, withAccessList(3_970)];
    for (let from = 0; from < transactions.length; from += 100) {
      await submit(service, transactions.slice(from, from + 100));
      await check(service, transactions.slice(from, from + 100));
    }
  });

  it("of validators, on the line and in the record (D7)", async () => {
    const reasons = Object.entries(REASON_NOTES).flatMap(([reason, { where }]) =>
      where.includes("node") && where.includes("record") ? [reason] : [],
    );
    const service = await services.start();
    const inners = reasons.map((_, i) => innerOf(i + 1));
    inners.forEach((inner, i) => {
      if (!/^NONCE_(TOO_LOW|GAP)$/.test(reasons[i] ?? ""))
        service.node.chain.refused.set(hashOf(inner), reasons[i] ?? "");
    });
    await readRecords(service, await submit(service, inners));
    const nodes = vectors.flatMap(({ expect: { verdict, reason } }) =>
      verdict === "refused" ? [reason] : [],
    );
    // test/vectors/devnet.test.ts has the devnet refuse each of them with its reason.
    for (const reason of nodes) seen.add(`${reason} node`);
  });

  it("of the sender's account and of the node", async () => {
    const service = await services.start({ nonceGapTimeoutMs: 50 }, { automine: false });
    const { chain } = service.node;
    chain.setNonce(userAddress(1), 5n);
    const nodeError = { code: -32_000, message: "oversized data: a rule of this node" };
    await submit(service, [innerOf(2, 0)]);
    const rival = innerOf(2, 0, { data: APPROVE });
    const batch = [innerOf(1, 4), innerOf(3, 7), rival, innerOf(5, 0, { value: 10n ** 30n })];
    await check(service, batch);
    await readRecords(service, await submit(service, batch));
    service.node.mine();
    await submit(service, [innerOf(2, 0)], "?wait=included");
    await submit(service, [rival]);
    chain.refused.set(hashOf(innerOf(8, 0)), "WRAPPER_GAS_LIMIT_TOO_LOW");
    const [failed] = await submit(service, [innerOf(8, 0)]);
    const lines = await submit(service, [innerOf(8, 1)]);
    expect(detailsOf(errorOf(lines[0]), "NONCE_GAP")).toMatchObject({ missing: "0", submission: failed?.id });
    await readRecords(service, lines);
    service.node.onSends({ kind: "error", of: () => nodeError });
    await readRecords(service, await submit(service, [innerOf(6)]));
  });

  it("of the wait for a result, and of submissions that end after it", async () => {
    const service = await services.start({ requestTimeoutMs: 200, rpcTimeoutMs: 100 }, { automine: false });
    await submit(service, [innerOf(1)], "?wait=included");
    service.node.onSends({ kind: "silence", carriedOut: true });
    await submit(service, [innerOf(2)]);
    const reverting = await services.start();
    reverting.node.chain.reverting.add(hashOf(innerOf(1)));
    await readRecords(reverting, await submit(reverting, [innerOf(1)], "?wait=included"));
    const withoutNode = await services.start({ requestTimeoutMs: 100, maxQueueMs: 200, sweepIntervalMs: 50 });
    await withoutNode.node.close();
    const lines = await submit(withoutNode, [innerOf(1)]);
    await withoutNode.until("select 1 from submissions where state = 'failed'");
    await readRecords(withoutNode, lines);
    await withoutNode.node.open();
  });

  it("of waivers, caps and watches", async () => {
    const unregistered = await services.start(REGISTRY, { prepare: withRegistry("none") });
    await submit(unregistered, [innerOf(1)]);
    await check(unregistered, [innerOf(1)]);
    const service = await services.start();
    const admin = await openKeyAdmin({ databaseUrl: service.databaseUrl });
    admins.push(admin);
    const { key } = await admin.create("tests", { label: "capped", caps: { transactions: 1 } });
    const headers = { authorization: `Bearer ${key}` };
    while ((await service.call("GET", "/v1/submissions", undefined, headers)).status === 401);
    const lines = await service.submit([innerOf(1), innerOf(2)], { headers });
    see("submit", ...lines.map((line) => (line.success ? undefined : line.error)));
    await check(service, [innerOf(3), innerOf(4)], headers);
    const client = await TestSocket.open(service);
    client.send({ id: 1, watch: ["no submission"] });
    see("watch", (await client.next()).error as ErrorBody);
    client.socket.close();
  });

  it("of requests and frames that are refused whole", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 100, maxBatchSize: 100 });
    const many = bodyOf(...Array(101).fill("0x"));
    for (const body of ["{", "[]", '{"transactions":["0x",1]}', '{"transactions":[]}', many])
      seeReply(await service.post(body));
    seeReply(await service.post(bodyOf("0x"), { query: "?wait=soon" }));
    seeReply(await service.post(bodyOf("0x"), { headers: { "content-type": "text/plain" } }));
    seeReply(await service.post(bodyOf("0x"), { headers: { "idempotency-key": "a b" } }));
    const named = { headers: { "idempotency-key": "a" } };
    await service.post(bodyOf(innerOf(901)), named);
    seeReply(await service.post(bodyOf(innerOf(902)), named));
    seeReply(await service.post(bodyOf(...Array(100).fill("0x"))));
    seeReply(await service.call("GET", "/v1/submit", undefined, GOOD_HEADERS));
    seeReply(await service.call("GET", "/v1/nothing"));
    seeReply(await service.call("PUT", "/v1/submit"));
    seeReply(await service.call("GET", "/v1/submissions/none", undefined, GOOD_HEADERS));
    seeReply(await service.call("GET", "/v1/ready"));
    seeReply(await service.call("GET", "/v1/ready", undefined, { authorization: "Bearer gw_test_no_key" }));
    const guess = { authorization: "Bearer gw_test_guess" };
    while ((await service.call("GET", "/v1/ready", undefined, guess)).status === 401);
    seeReply(await service.call("GET", "/v1/ready", undefined, guess));
    seeReply(await replyToBytes(service, "SSH-2.0-client\r\n\r\n"));
    const frames = ["{", "[]", { id: 1 }, { id: 1, transactions: [] }, { id: 1, ...JSON.parse(many) }];
    await seeFrames(service, ...frames, { id: 1, transactions: ["0x"], wait: "soon" });
  });

  it("of API keys that are no longer valid", async () => {
    const service = await services.start();
    const admin = await openKeyAdmin({ databaseUrl: service.databaseUrl });
    admins.push(admin);
    const errorOf = async (key: string): Promise<ErrorBody | undefined> => {
      const reply = await service.call("GET", "/v1/ready", undefined, { authorization: `Bearer ${key}` });
      return reply.status === 401 ? JSON.parse(reply.text).error : undefined;
    };
    const until = async (key: string, reason: string | undefined) => {
      while ((await errorOf(key))?.reason !== reason);
      see("http", await errorOf(key));
    };
    const { key, record } = await admin.create("tests", { label: "one" });
    await until(key, undefined);
    await admin.disable("tests", record.id);
    await until(key, "KEY_DISABLED");
    await admin.enable("tests", record.id);
    const rotated = await admin.rotate("tests", record.id, 1);
    await until(key, "KEY_EXPIRED");
    await admin.revoke("tests", record.id);
    await until(rotated.key, "KEY_REVOKED");
  });

  it("of a service without its store, its chain or room in its queue", async () => {
    const first = await services.start(REGISTRY, { prepare: withRegistry() });
    await first.submit([innerOf(1)]);
    await first.server.close();
    await first.node.close();
    // This service knows its chain from the store, and has read no policy yet.
    const withoutPolicy = services.closeAfterTest(await first.startReplica());
    seeReply(await withoutPolicy.post(bodyOf(innerOf(2))));
    await seeFrames(withoutPolicy, { id: 1, transactions: [innerOf(2)] });
    const full = await services.start({ queueCapacity: 4, keyQueueShare: 0.5, requestTimeoutMs: 100 });
    await full.node.close();
    await full.submit([innerOf(1)]);
    await seeFrames(full, { id: 1, transactions: [innerOf(2), innerOf(3)] });
    await full.submit([innerOf(4), innerOf(5)], { headers: { authorization: `Bearer ${OTHER_API_KEY}` } });
    await full.submit([innerOf(6)]);
    const other = await TestSocket.open(full, OTHER_API_KEY);
    other.send({ id: 1, transactions: [innerOf(7)] });
    see("frame", (await other.next()).error as ErrorBody);
    other.socket.close();
    await failRecords(full);
    seeReply(await full.call("GET", "/v1/submissions", undefined, GOOD_HEADERS));
    await seeFrames(full, { id: 1, watch: ["019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a72"] });
    const stored = await services.start();
    const client = await TestSocket.open(stored);
    await services.databases.halt();
    seeReply(await stored.post(bodyOf(innerOf(1))));
    client.send({ id: 1, transactions: [innerOf(1)] });
    see("frame", (await client.next()).error as ErrorBody);
    client.socket.close();
    await services.databases.resume();
  });

  it("is produced in each of its places, by this file or another test file, and in no other place", () => {
    for (const pair of pairsOfFiles(IN_OTHER_TESTS)) seen.add(pair);
    const documented = (Object.keys(REASON_NOTES) as Reason[]).flatMap((reason) =>
      REASON_NOTES[reason].where.map((place) => `${reason} ${place}`),
    );
    expect([...seen].filter((pair) => !documented.includes(pair))).toEqual([]);
    expect(documented.filter((pair) => !seen.has(pair))).toEqual([]);
  });

  it("has each of its values in the details somewhere", () => {
    const documented = (Object.keys(REASON_NOTES) as Reason[]).flatMap((reason) =>
      detailNamesOf(reason).map((name) => `${reason} ${name}`),
    );
    const elsewhere = pairsOfFiles(VALUES_IN_OTHER_TESTS);
    expect(documented.filter((pair) => !seenValues.has(pair) && !elsewhere.includes(pair))).toEqual([]);
  });
});
