// A connection costs the service the same stalls, listeners and memory after hundreds of requests as after a few.
// `npm run bench:abuse -- --only one-connection` sends 200,000 of each kind.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MeasuredService } from "../support/measuredService.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { optionsFor } from "../support/testService.js";
import { useTestPostgres } from "../support/testStore.js";
import { upgradeRequest } from "../support/upgradeRequest.js";
import { innerOf } from "../support/user.js";

/** In processor time. When listeners piled up, 50,000 requests stalled the event loop for 17.7 s. */
const LONGEST_TURN_MS = 2_000;
/** Node and the service add up to four listeners to an event of a connection. */
const MAX_LISTENERS = 8;
/**
 * Requests of each kind before the first count, and again after it: what the first ones bring, such as Node's own tables, is there by
 * then. A party may be refused 400 times before it has to wait.
 */
const ROUND = 150;
/** A leak grows by at least an object, or an entry of a list or map, with each request. */
const MAX_GROWTH = ROUND / 2;
/** Objects that come and go while nobody asks for anything. */
const SETTLED = 20;

const GATEWAY_KEY = "gwp_test_wallets";
const KEYS = Array.from({ length: 50 }, (_, i) => `gw_test_${i}_secret-of-one-kind-of-request`);

const databases = useTestPostgres();
let node: ScriptedNode;
let service: MeasuredService;
beforeAll(async () => {
  node = await ScriptedNode.start({ automine: false });
  const { waivers, allowedTargets, ...options } = optionsFor(await databases.createDatabase(), node.url);
  // Connections to the database come and go with the load, and have objects of their own.
  const connections = { laneConnections: 2, acceptConnections: 1, readConnections: 1, adminConnections: 1 };
  service = await MeasuredService.start({
    ...options,
    ...connections,
    apiKeys: KEYS,
    ...{ publicApiKeys: [GATEWAY_KEY], gatewayAddressRatePerSecond: 10_000, gatewayRatePerSecond: 10_000 },
  });
});
afterAll(async () => {
  for (const socket of opened) socket.destroy();
  await service?.kill();
  await node?.close();
});

/** The sender of one kind of requests: nobody else has its key or address. */
interface Sender {
  readonly key: string;
  readonly address: string;
}

const opened: Socket[] = [];

async function open({ address }: Sender): Promise<Socket> {
  const { port, hostname } = new URL(service.url);
  const socket = connect({ port: Number(port), host: hostname, localAddress: address });
  opened.push(socket);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Writes bytes. Resolves when `count` answers came, or the connection is closed. */
function answersTo(socket: Socket, bytes: string, answer: RegExp, count: number): Promise<void> {
  return new Promise((resolve) => {
    let text = "";
    const onData = (part: Buffer) => {
      text += part.toString("latin1");
      if ([...text.matchAll(answer)].length < count) return;
      socket.off("data", onData);
      resolve();
    };
    socket.on("data", onData).once("close", resolve);
    socket.write(bytes, "latin1");
  });
}

const JSON_TYPE = "Content-Type: application/json";
const bearer = (key: string) => `Authorization: Bearer ${key}`;
const request = (first: string, fields: readonly string[] = [], body = "") =>
  [`${first} HTTP/1.1`, "Host: x", ...fields, `Content-Length: ${body.length}`, "", body].join("\r\n");
const submit =
  (body: unknown, query = ""): BytesOf =>
  ({ key }) =>
    request(
      `POST /v1/submit${query}`,
      [bearer(key), JSON_TYPE],
      typeof body === "string" ? body : JSON.stringify(body),
    );

const TEXT = 1;
const BINARY = 2;
const PING = 9;

/** A short WebSocket frame of a client, masked with zeros. */
const frame = (payload: string, opcode = TEXT) =>
  `${String.fromCharCode(0x80 | opcode, 0x80 | payload.length)}\0\0\0\0${payload}`;

/** Bytes of one request or frame, as latin1. */
type BytesOf = (sender: Sender) => string;

const withoutBody =
  (first: string, fields?: readonly string[]): BytesOf =>
  () =>
    request(first, fields);
const UPGRADE = withoutBody("GET /v1/health", ["Connection: Upgrade", "Upgrade: foo"]);
const REFUSED_UPGRADE = () => `${upgradeRequest("gw_test_bad").join("\r\n")}\r\n\r\n`;
const BAD_JSON = submit("{a}");

const rpc = (method: string, ...params: unknown[]) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const gatewayCall =
  (body: string): BytesOf =>
  () =>
    request(`POST /rpc/${GATEWAY_KEY}`, [JSON_TYPE], body);

const REQUESTS: Readonly<Record<string, BytesOf>> = {
  "GET /v1/health": withoutBody("GET /v1/health"),
  "HEAD /v1/health": withoutBody("HEAD /v1/health"),
  "a path that does not exist": withoutBody("GET /v1/nothing"),
  "a method that the path does not take": withoutBody("DELETE /v1/submit"),
  "no key": withoutBody("GET /v1/submissions"),
  "a bad key": withoutBody("GET /v1/policy", [bearer("gw_test_bad")]),
  "a good key that reads": ({ key }) => request("GET /v1/submissions", [bearer(key)]),
  "a transaction that the service has": submit({ transactions: [innerOf(1)] }),
  "bad JSON": BAD_JSON,
  "an empty batch": submit({ transactions: [] }),
  "a batch that does not decode": submit({ transactions: ["0x"] }),
  "another content type": ({ key }) =>
    request("POST /v1/submit", [bearer(key), "Content-Type: text/plain"], "x"),
  "an upgrade that is refused": REFUSED_UPGRADE,
  "Expect: 100-continue": withoutBody("GET /v1/health", ["Expect: 100-continue"]),
  "an unknown Expect": withoutBody("GET /v1/health", ["Expect: foo"]),
  "a call of the gateway": gatewayCall(rpc("eth_chainId")),
  "a read of the gateway": gatewayCall(rpc("eth_getBalance", `0x${"00".repeat(20)}`, "latest")),
  "a call that the gateway refuses": gatewayCall("[]"),
  "a CORS preflight": withoutBody("OPTIONS /v1/submit", ["Origin: https://a.example"]),
};

const FRAMES: Readonly<Record<string, BytesOf>> = {
  "a ping": () => frame("", PING),
  "a frame that is no JSON": () => frame("{"),
  "a binary frame": () => frame("{}", BINARY),
  "a watch of nothing": () => frame('{"id":1,"watch":[]}'),
  "a watch of an unknown id": () => frame('{"id":2,"watch":["x"]}'),
  "a frame without an id": () => frame('{"transactions":["0x"]}'),
  "a frame with an id": () => frame('{"id":3,"transactions":["0x"]}'),
};
const GATEWAY_FRAMES: Readonly<Record<string, BytesOf>> = {
  "a gateway's frame that is no JSON": () => frame("{"),
  "a gateway's frame with a call": () => frame(rpc("eth_chainId")),
  "a subscription of the gateway": () => frame(rpc("eth_subscribe", "newHeads")),
  "an end of no subscription": () => frame(rpc("eth_unsubscribe", "0x1")),
};
/** A pong, or the last frame of a request. */
const FRAME_ANSWER = /\x8a\0|"request":[^,]+,"(?:done|error)"|"jsonrpc":"2.0","id"/g;

/**
 * Requests that a client breaks off when their answer begins, or after which the service closes the connection. Node 22 and
 * newer keep the connection after a declined upgrade, and drop the bytes behind the upgrade.
 */
const LAST_REQUESTS: Readonly<Record<string, BytesOf>> = {
  "an upgrade to an unknown protocol": UPGRADE,
  "an upgrade that is refused": REFUSED_UPGRADE,
  "bad JSON": BAD_JSON,
  "a body that breaks off": ({ key }) =>
    submit("{")({ key, address: "" }).replace("Length: 1", "Length: 2\r\nExpect: 100-continue"),
  "a client that does not wait": submit({ transactions: [innerOf(2), "0x"] }, "?wait=included"),
};

const names = [REQUESTS, FRAMES, GATEWAY_FRAMES, LAST_REQUESTS].flatMap(Object.keys);
const senders = Object.fromEntries(
  names.map((name, i) => [name, { key: KEYS[i] ?? "", address: `127.0.1.${i + 1}` }]),
);

/** Sends a number of requests of one kind. Resolves when they are answered, or the connection is closed. */
type Send = (count: number) => Promise<void>;

/** Sends requests of a kind on one connection, all at once. Only a connection that the service has closed is opened again. */
function onOneConnection(
  bytesOf: BytesOf,
  sender: Sender,
  handshakeLines: readonly string[] | undefined = undefined,
): Send {
  const bytes = bytesOf(sender);
  let socket: Socket | undefined;
  return async (count) => {
    if (socket === undefined || socket.destroyed) {
      socket = await open(sender);
      const handshake = `${handshakeLines?.join("\r\n")}\r\n\r\n`;
      if (handshakeLines) await answersTo(socket, handshake, /\r\n\r\n/g, 1);
    }
    await answersTo(socket, bytes.repeat(count), handshakeLines ? FRAME_ANSWER : /\r\nDate: /g, count);
  };
}

/** Sends each request on a connection of its own, and closes that when the answer begins. */
function onManyConnections(bytesOf: BytesOf, sender: Sender): Send {
  return async (count) => {
    for (let i = 0; i < count; i++) {
      const socket = await open(sender);
      await answersTo(socket, bytesOf(sender), /^HTTP/g, 1);
      socket.destroy();
    }
  };
}

/** Counts the service's objects when those of the last answers are gone. */
async function settledObjects(): Promise<number> {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    const count = await service.countObjects();
    if (count > last - SETTLED) return Math.min(count, last);
    last = count;
  }
}

/** Sends requests of each kind twice, and holds what is there after the second round to what was there after the first. */
async function expectNoGrowth(sends: readonly Send[]): Promise<void> {
  await Promise.all(sends.map((send) => send(ROUND)));
  const before = await settledObjects();
  await service.costs();
  await Promise.all(sends.map((send) => send(ROUND)));
  const { longestTurnMs, listeners } = await service.costs();
  const growth = async () => (await settledObjects()) - before;
  await expect.poll(growth, { timeout: 60_000, interval: 50 }).toBeLessThan(MAX_GROWTH);
  expect(listeners).toBeGreaterThan(0);
  expect(listeners).toBeLessThanOrEqual(MAX_LISTENERS);
  expect(longestTurnMs).toBeLessThan(LONGEST_TURN_MS);
}

const sendsOf = (
  kinds: Readonly<Record<string, BytesOf>>,
  sendOf: (bytesOf: BytesOf, sender: Sender) => Send,
) => Object.entries(kinds).map(([name, bytesOf]) => sendOf(bytesOf, senders[name] as Sender));

describe(`${2 * ROUND} requests of each kind`, () => {
  it("pile up nothing on one connection, and the event loop turns", async () => {
    await expectNoGrowth(sendsOf(REQUESTS, (bytesOf, sender) => onOneConnection(bytesOf, sender)));
  });

  it("pile up nothing on one WebSocket, and the event loop turns", async () => {
    const ofSubmit = sendsOf(FRAMES, (bytesOf, sender) =>
      onOneConnection(bytesOf, sender, upgradeRequest(sender.key)),
    );
    const ofGateway = sendsOf(GATEWAY_FRAMES, (bytesOf, sender) =>
      onOneConnection(bytesOf, sender, upgradeRequest(sender.key, `/rpc/${GATEWAY_KEY}`)),
    );
    await expectNoGrowth([...ofSubmit, ...ofGateway]);
  });

  it("pile up nothing on a key, an address or a lane when each ends its connection", async () => {
    await expectNoGrowth(sendsOf(LAST_REQUESTS, onManyConnections));
  });

  it("after one another, without reading an answer, let the event loop turn", async () => {
    await service.costs();
    const socket = await open({ key: KEYS.at(-1) ?? "", address: "127.0.2.1" });
    socket.pause();
    // The other kinds make the service close the connection.
    const kept = Object.entries(REQUESTS).filter(([name]) => !/upgrade|JSON|content type/.test(name));
    const piece = kept.map(([, bytesOf]) => bytesOf({ key: KEYS.at(-1) ?? "", address: "" })).join("");
    for (let i = 0; i < 2 * ROUND; i++) socket.write(piece, "latin1");
    expect((await fetch(`${service.url}/v1/health`)).status).toBe(200);
    socket.destroy();
    const { longestTurnMs, listeners } = await service.costs();
    expect(listeners).toBeLessThanOrEqual(MAX_LISTENERS);
    expect(longestTurnMs).toBeLessThan(LONGEST_TURN_MS);
  });
});
