// npm run bench:prices: measures the prices that the service charges, on this machine. See --help.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { cpus } from "node:os";
import { join } from "node:path";
import WebSocket from "ws";
import { PRICES } from "../../packages/server/dist/model/prices.js";
import { readArguments } from "../../scripts/readArguments.mjs";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { median } from "../median.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";
import { API_KEY, BLOCK_MS } from "../service/shape.mjs";
import { signed } from "../signed.mjs";

const USAGE = `Usage: npm run bench:prices [-- --rounds N] [--json FILE]

Measures the processor time of the work that parties are charged for, in microseconds, and prints it beside the prices in
packages/server/src/model/prices.ts. All but the comparison of a log is measured, which would need blocks full of logs.

  --rounds N    rounds of requests, from 1 to 100                 (default: 5)
  --json FILE   write every figure to this file as well           (default: none)
  --help        show this text

A slow or busy machine raises all ratios alike. Prices are right as long as their ratios agree.

Status: 0 each ratio is within a factor of 3 of their median, 1 one is not, or something failed,
2 wrong usage.`;

const readOptions = (argv) => readArguments(argv, { rounds: { initial: "5", least: 1, most: 100 } });

/** A price that is further off lets parties take several times their share. */
const MOST_OFF = 3;
const REQUESTS = 2_000;
const BATCHES = 20;
const IN_BATCH = 100;
/** Transactions that are accepted together at most: each of these parts of a batch is written alone. */
const IN_WRITE = 25;
const SINGLES = 400;
const FIELDS = 1_000;
const MANY_FIELDS = Object.fromEntries(Array.from({ length: FIELDS }, (_, i) => [`x${i}`, ""]));
const AT_ONCE = 8;
const LONG_ANSWERS = 300;
const SUBSCRIBERS = 10;
/** A body of which only the bytes count, and how often it is sent. */
const READ_BYTES = 16_000_000;
const READS = 10;
const SUBSCRIPTIONS = 100;
/** The blocks of a round of notifications. */
const BLOCKS = 10;
const UPGRADES = 400;
const CONNECTIONS = 400;
/** Bodies that come at the same time, in packets of a byte, between which the service has time to read each one. */
const SLOW_BODIES = 100;
const PACKETS_OF_BODY = 100;
const PACKET_MS = 5;
/** The service charges for so many bytes of a smaller piece. */
const LEAST_BYTES = 1_024;

const run = ({ rounds, json }) =>
  inFolder("gas-waiver-prices-", async ({ folder, signal }) => {
    const pure = await runToEnd(new URL("pure.mjs", import.meta.url), [], { signal });
    const served = await withPrograms({ signal }, async (start) => {
      const node = await start(new URL("../rate/node.mjs", import.meta.url), []);
      const service = await start(new URL("service.mjs", import.meta.url), [node.url, join(folder, "store")]);
      return {
        ...(await measureServed(service, rounds)),
        ...(await measureSent(service, rounds)),
        ...(await measureRead(service, rounds)),
        ...(await measureConnections(service, rounds)),
      };
    });
    const measured = { ...served, ...pure, ...pricesOfServed(served, pure) };
    const priced = Object.entries(PRICES).filter(([name]) => measured[name] !== undefined);
    const rows = priced.map(([name, price]) => {
      return {
        price: name,
        "in code (µs)": price,
        "measured (µs)": measured[name],
        ratio: measured[name] / price,
      };
    });
    printRows(rows);
    if (json !== undefined) {
      const record = { when: new Date().toISOString(), node: process.version, cpu: cpus()[0]?.model, rows };
      await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    }
    const machine = median(rows.map(({ ratio }) => ratio));
    const isRight = ({ ratio }) => ratio < MOST_OFF * machine && ratio > machine / MOST_OFF;
    return rows.every(isRight) ? 0 : 1;
  });

/**
 * The service's processor time in µs for a request that asks for little, for one more that reads a record, for calls that the service
 * and a node answer, and for a batch of transactions.
 */
async function measureServed(service, rounds) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let user = 0;
  const batch = () =>
    JSON.stringify({ transactions: Array.from({ length: IN_BATCH }, () => signed(user++)) });
  const single = () => JSON.stringify({ transactions: [signed(user++)] });
  const busyOf = async (bodies, path, fields = {}) => {
    const before = await service.ask("usage");
    const left = [...bodies];
    const sendAll = async () => {
      while (left.length > 0) await send(`${service.url}${path}`, left.pop(), agent, 200, fields);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
    const after = await service.ask("usage");
    return ((after.cpuMs - before.cpuMs) * 1_000) / bodies.length;
  };
  let asked = 0;
  const call = (method) => {
    const params = [`0x${(++asked).toString(16).padStart(40, "0")}`, "latest"];
    return JSON.stringify({ jsonrpc: "2.0", id: asked, method, params });
  };
  const calls = (method) => Array.from({ length: REQUESTS }, () => call(method));
  const record = await acceptedRecord(service.url);
  const figures = { request: [], fields: [], record: [], ownCall: [], nodeCall: [], batch: [], single: [] };
  // The first round is for V8 to compile.
  for (let round = 0; round <= rounds; round++) {
    const bodies = Array.from({ length: BATCHES }, batch);
    const found = {
      request: await busyOf(Array(REQUESTS).fill(undefined), "/v1/policy"),
      fields: await busyOf(Array(REQUESTS).fill(undefined), "/v1/policy", MANY_FIELDS),
      record: await busyOf(Array(REQUESTS).fill(undefined), record),
      ownCall: await busyOf(calls("eth_chainId"), "/rpc/prices"),
      nodeCall: await busyOf(calls("eth_getTransactionCount"), "/rpc/prices"),
      batch: await busyOf(bodies, "/v1/submit"),
      single: await busyOf(Array.from({ length: SINGLES }, single), "/v1/submit"),
    };
    if (round > 0) for (const [name, us] of Object.entries(found)) figures[name].push(us);
  }
  agent.destroy();
  return Object.fromEntries(Object.entries(figures).map(([name, all]) => [name, median(all)]));
}

/** @returns the path of a submission that the service has accepted. */
async function acceptedRecord(url) {
  const headers = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };
  const body = JSON.stringify({ transactions: [signed(999_999)] });
  const answer = await fetch(`${url}/v1/submit`, { method: "POST", headers, body });
  const { id } = JSON.parse((await answer.text()).split("\n")[0]);
  return `/v1/submissions/${id}`;
}

/** The service's processor time in µs for a WebSocket that is opened and closed, and for a packet of a byte, its byte not counted. */
async function measureConnections(service, rounds) {
  const cpuOf = async (count, work) => {
    const before = await service.ask("usage");
    await work();
    const after = await service.ask("usage");
    return ((after.cpuMs - before.cpuMs) * 1_000) / count;
  };
  const upgradeSome = async () => {
    for (let i = 0; i < UPGRADES / AT_ONCE; i++) {
      const socket = openSocket(service.url);
      await once(socket, "open");
      socket.terminate();
      await once(socket, "close");
    }
  };
  const requestSome = async () => {
    for (let i = 0; i < CONNECTIONS / AT_ONCE; i++)
      await send(`${service.url}/v1/policy`, undefined, new Agent({ keepAlive: false }));
  };
  const figures = { upgrade: [], slowPacket: [], ofConnection: [] };
  for (let round = 0; round <= rounds; round++) {
    const ofConnection = await cpuOf(CONNECTIONS, () =>
      Promise.all(Array.from({ length: AT_ONCE }, requestSome)),
    );
    const upgrade = await cpuOf(UPGRADES, () => Promise.all(Array.from({ length: AT_ONCE }, upgradeSome)));
    const bodies = await Promise.all(Array.from({ length: SLOW_BODIES }, () => beginBody(service.url)));
    const slowPacket = await cpuOf(SLOW_BODIES * PACKETS_OF_BODY, async () => {
      for (let i = 0; i < PACKETS_OF_BODY; i++) {
        for (const body of bodies) body.write("x");
        await pause(PACKET_MS);
      }
    });
    for (const body of bodies) body.destroy();
    if (round === 0) continue;
    figures.upgrade.push(upgrade);
    figures.slowPacket.push(slowPacket);
    figures.ofConnection.push(ofConnection);
  }
  return Object.fromEntries(Object.entries(figures).map(([name, all]) => [name, median(all)]));
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Opens a connection, and sends the head of a request whose body is not small. */
async function beginBody(url) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port, noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(
    `POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${API_KEY}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`,
  );
  await pause(PACKET_MS);
  return socket;
}

/** The service's processor time in µs for a byte of a body of which nothing is parsed. */
async function measureRead(service, rounds) {
  const agent = new Agent({ keepAlive: true });
  const body = Buffer.alloc(READ_BYTES, "x");
  const figures = [];
  for (let round = 0; round <= rounds; round++) {
    const before = await service.ask("usage");
    for (let i = 0; i < READS; i++) await send(`${service.url}/v1/check`, body, agent, 400);
    const after = await service.ask("usage");
    if (round > 0) figures.push(((after.cpuMs - before.cpuMs) * 1_000) / (READS * READ_BYTES));
  }
  agent.destroy();
  return { readByte: median(figures) };
}

/** The service's processor time in µs for a byte of a long answer, and for a notification. */
async function measureSent(service, rounds) {
  const agent = new Agent({ keepAlive: true });
  const cpuOf = async (work) => {
    const before = await service.ask("usage");
    const count = await work();
    const after = await service.ask("usage");
    return { us: (after.cpuMs - before.cpuMs) * 1_000, count };
  };
  const read = async (path) => {
    let bytes = 0;
    for (let i = 0; i < LONG_ANSWERS; i++) bytes += await send(`${service.url}${path}`, undefined, agent);
    return bytes;
  };
  const subscribers = await Promise.all(Array.from({ length: SUBSCRIBERS }, () => subscribe(service.url)));
  const idle = (count) => new Promise((resolve) => setTimeout(() => resolve(count()), BLOCKS * BLOCK_MS));
  const figures = { sentByte: [], notification: [] };
  for (let round = 0; round <= rounds; round++) {
    const [short, long] = [
      await cpuOf(() => read("/v1/policy")),
      await cpuOf(() => read("/v1/openapi.json")),
    ];
    const received = () => subscribers.reduce((sum, subscriber) => sum + subscriber.received, 0);
    const before = received();
    const told = await cpuOf(() => idle(() => received() - before));
    if (round === 0) continue;
    figures.sentByte.push((long.us - short.us) / (long.count - short.count));
    figures.notification.push(told.us / told.count);
  }
  agent.destroy();
  for (const { socket } of subscribers) socket.terminate();
  return { sentByte: median(figures.sentByte), notification: median(figures.notification) };
}

function openSocket(url) {
  const headers = { authorization: `Bearer ${API_KEY}` };
  return new WebSocket(`${url.replace("http", "ws")}/rpc/prices`, { headers });
}

/** Opens a WebSocket with as many subscriptions as it may have, and counts its notifications. */
async function subscribe(url) {
  const socket = openSocket(url);
  const subscriber = { socket, received: 0 };
  await once(socket, "open");
  let answered = 0;
  await new Promise((resolve, reject) => {
    socket.on("close", () => reject(new Error("the service has closed a subscriber")));
    socket.on("message", (data) => {
      if (data.includes("eth_subscription")) subscriber.received++;
      else if (++answered === SUBSCRIPTIONS) resolve();
    });
    for (let id = 0; id < SUBSCRIPTIONS; id++)
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params: ["newHeads"] }));
  });
  return subscriber;
}

function pricesOfServed(served, { check, parsedByte }) {
  const { request: ofRequest, fields, record, ownCall, nodeCall, batch, single } = served;
  const { slowPacket, readByte, ofConnection } = served;
  // A batch has four writes and a hundred transactions, a single transaction one of each.
  const ofSingle = single - ofRequest - check;
  const writes = IN_BATCH / IN_WRITE;
  const ofBody = JSON.stringify({ transactions: [signed(0)] }).length * IN_BATCH * parsedByte;
  const ofBatch = batch - ofRequest - ofBody - IN_BATCH * check;
  const accept = (ofBatch - writes * ofSingle) / (IN_BATCH - writes);
  return {
    connection: ofConnection - ofRequest,
    field: (fields - ofRequest) / FIELDS,
    read: record - ofRequest,
    call: nodeCall - ownCall,
    packet: slowPacket - LEAST_BYTES * readByte,
    accept,
    write: ofSingle - accept,
  };
}

function send(url, body, agent, status = 200, fields = {}) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json", ...fields };
    const sent = request(url, { method: body ? "POST" : "GET", headers, agent }, (response) => {
      if (response.statusCode !== status) reject(new Error(`the service answers ${response.statusCode}`));
      let bytes = 0;
      response.on("data", (part) => {
        bytes += part.length;
      });
      response.on("end", () => resolve(bytes)).on("error", reject);
    });
    sent.on("error", reject).end(body);
  });
}

function printRows(rows) {
  console.log("price        in code (µs)  measured (µs)  ratio");
  for (const { price, ratio, ...figures } of rows) {
    const [inCode, measured] = Object.values(figures);
    const texts = [
      String(inCode).padStart(12),
      measured.toPrecision(3).padStart(13),
      ratio.toFixed(2).padStart(5),
    ];
    console.log(`${price.padEnd(11)}  ${texts.join("  ")}`);
  }
}

await runMain({ usage: USAGE, readOptions, run });
