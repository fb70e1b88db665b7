// One attacker, as the grammar describes it, against one target.
import { frame } from "../abuse/attacks/attacker.mjs";
import { signed } from "../signed.mjs";
import { PUBLIC_KEYS, SECRET_KEYS } from "./shape.mjs";

/** Bodies that an attacker prepares, and the most bytes and signatures in all of them. */
const BODIES = 24;
const MAX_PREPARED_BYTES = 8_000_000;
const MAX_SIGNATURES = 400;
const PING = 9;
const CONTINUED = 0;
const SLOW_MS = 200;

/** Attacks with prepared bodies until the attacker's time is over. */
export async function attack(attacker, spec, bodies) {
  const pace = createPace(attacker, spec.rate);
  const run = async (i) => {
    while (!attacker.ended) {
      await connectionOf(attacker, spec, bodies, pace, i);
      await pause(10);
    }
  };
  await Promise.race([
    Promise.all(Array.from({ length: spec.connections }, (_, i) => run(i))),
    attacker.finished,
  ]);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when the next request may be sent. */
function createPace(attacker, rate) {
  let due = performance.now();
  return async () => {
    if (rate === 0) return;
    due = Math.max(due, performance.now() - 1_000) + 1_000 / rate;
    while (due > performance.now() && !attacker.ended) await pause(Math.min(50, due - performance.now()));
  };
}

function keyOf({ key, keyIndex }) {
  if (key === "secret") return SECRET_KEYS[keyIndex];
  if (key === "public") return PUBLIC_KEYS[keyIndex % PUBLIC_KEYS.length];
  return key === "bad" ? `no-such-key-${keyIndex}` : undefined;
}

function addressOf({ from, keyIndex }, i) {
  if (from === "one IPv4") return `192.0.2.${1 + keyIndex}`;
  if (from === "many IPv4") return `203.0.${keyIndex}.${i % 250}`;
  return from === "own connection" ? undefined : `2001:db8:${keyIndex}:${i.toString(16)}::1`;
}

/** The keys of a mixture, each with the addresses that use it: those without a valid key are two more. */
export function addressesByKey(mixture) {
  const byKey = new Map();
  for (const spec of mixture) {
    const name = spec.key === "bad" || spec.key === "none" ? spec.key : keyOf(spec);
    const addresses = byKey.get(name) ?? new Set();
    for (let i = 0; i < spec.connections; i++) addresses.add(addressOf(spec, i) ?? ownAddressOf(spec, i));
    byKey.set(name, addresses);
  }
  return byKey;
}

const ownAddressOf = ({ keyIndex }, i) => `127.0.0.${2 + ((keyIndex * 50 + i) % 200)}`;

const isRpc = ({ action, key }) => key === "public" && ["rpc", "subscribe", "json"].includes(action);

function pathOf(spec) {
  if (isRpc(spec)) return `/rpc/${keyOf(spec)}`;
  if (spec.action === "read") return spec.path;
  return spec.action === "check"
    ? "/v1/check"
    : `/v1/submit${spec.wait === "included" ? "?wait=included" : ""}`;
}

let keyed = 0;

function headOf(spec, i, fields) {
  const [key, address] = [keyOf(spec), addressOf(spec, i)];
  return [
    `${fields.length > 0 ? "POST" : "GET"} ${pathOf(spec)} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    ...(address === undefined ? [] : [`X-Forwarded-For: ${address}`]),
    ...(spec.action === "keyed" ? [`Idempotency-Key: k${spec.keyIndex === 0 ? 0 : keyed++}`] : []),
    ...fields,
    "",
    "",
  ].join("\r\n");
}

/** Opens one connection, and uses it until it closes. */
async function connectionOf(attacker, spec, bodies, pace, i) {
  const address = spec.from === "own connection" ? ownAddressOf(spec, i) : undefined;
  const socket = attacker.open({ address });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  if (spec.reads === "nothing") socket.pause();
  if (spec.reads === "slowly") readSlowly(socket);
  if (spec.action === "half open") {
    socket.write("POST /v1/submit HTTP/1.1\r\nHost:");
    await Promise.race([closed, pause(2_000)]);
  } else if (spec.action === "slow body") {
    socket.write(headOf(spec, i, [`Content-Length: ${spec.bytes}`]));
    for (let sent = 0; sent < spec.bytes && !socket.destroyed && !attacker.ended; sent += 1_000) {
      socket.write(Buffer.alloc(1_000, "x"));
      await pause(SLOW_MS);
    }
  } else if (spec.by === "socket" || ["watch", "subscribe", "frames"].includes(spec.action)) {
    await useSocket(attacker, spec, { socket, closed, bodies, pace, i });
  } else await useHttp(attacker, spec, { socket, closed, bodies, pace, i });
  socket.destroy();
}

/** One request after the other, or with raw bytes some at a time. */
async function useHttp(attacker, spec, { socket, closed, bodies, pace, i }) {
  const atOnce = spec.by === "raw" ? spec.atOnce : 1;
  const isAnew = spec.by === "raw" && spec.anew;
  // One listener for all answers: a client that reads nothing never gets any.
  let onAnswer = () => {};
  socket.on("data", () => onAnswer());
  for (let n = i; !attacker.ended && !socket.destroyed; ) {
    await pace();
    const answered = new Promise((resolve) => {
      onAnswer = resolve;
    });
    socket.cork();
    for (let k = 0, bytes = 0; k < atOnce && bytes < MAX_PREPARED_BYTES; k++) {
      const body = bodies[n++ % bodies.length];
      const fields = body === undefined ? [] : [`Content-Length: ${body.length}`];
      const head = headOf(spec, i, fields);
      bytes += head.length + (body?.length ?? 0);
      socket.write(head);
      if (body !== undefined) socket.write(body);
      attacker.count("requests");
    }
    socket.uncork();
    if (socket.writableNeedDrain) await Promise.race([closed, new Promise((r) => socket.once("drain", r))]);
    await Promise.race([
      closed,
      answered,
      attacker.finished,
      ...(spec.reads === "nothing" || isAnew ? [pause(100)] : []),
    ]);
    if (isAnew) return;
  }
}

async function useSocket(attacker, spec, { socket, closed, bodies, pace, i }) {
  const path = isRpc(spec) ? pathOf(spec) : "/v1/submit";
  socket.write(
    headOf(spec, i, [])
      .replace(/^GET \S+/, `GET ${path}`)
      .replace(
        /\r\n\r\n$/,
        "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      ),
  );
  if (spec.reads !== "nothing") await Promise.race([closed, new Promise((r) => socket.once("data", r))]);
  else await pause(100);
  let id = 0;
  while (!attacker.ended && !socket.destroyed) {
    await pace();
    const frames = framesOf(spec, bodies, id++);
    const hasRoom = socket.write(frames);
    attacker.count("frames");
    if (!hasRoom)
      await Promise.race([closed, attacker.finished, new Promise((r) => socket.once("drain", r))]);
    else await new Promise(setImmediate);
  }
}

function framesOf(spec, bodies, id) {
  if (spec.action === "frames") {
    if (spec.size === 1) return Buffer.concat(Array(100).fill(frame("x".repeat(125), { opcode: PING })));
    if (spec.size === 5) return frame("", { length: 30 * 2 ** 20 });
    return Buffer.concat(Array(spec.size).fill(frame("x", { opcode: CONTINUED, fin: false })));
  }
  if (spec.action === "watch") {
    const watch = Array.from(
      { length: spec.size },
      (_, i) => `0x${(id * 100 + i).toString(16).padStart(64, "0")}`,
    );
    return frame(JSON.stringify({ id, watch }));
  }
  if (spec.action === "subscribe") {
    const params = id % 2 === 0 ? ["newHeads"] : ["logs", {}];
    return frame(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params }));
  }
  const body = bodies[id % bodies.length] ?? Buffer.from("{}");
  if (isRpc(spec)) return frame(body);
  const text = body.toString();
  return frame(text.startsWith('{"transactions"') ? `{"id":${id},${text.slice(1)}` : text);
}

function readSlowly(socket) {
  socket.pause();
  const timer = setInterval(() => {
    socket.resume();
    setTimeout(() => socket.pause(), 1);
  }, SLOW_MS);
  socket.once("close", () => clearInterval(timer));
}

/** Prepares the bodies of an attacker; none for one that only reads. @param firstUser a number above those of all other users. */
export function bodiesOf(spec, firstUser) {
  if (["read", "half open", "slow body", "frames", "watch", "subscribe"].includes(spec.action))
    return [undefined];
  const bodies = [];
  let bytes = 0;
  for (let n = 0; n < BODIES && bytes < MAX_PREPARED_BYTES && n * spec.size <= MAX_SIGNATURES; n++) {
    const body = Buffer.from(bodyOf(spec, firstUser, n));
    bytes += body.length;
    bodies.push(body);
  }
  return bodies;
}

function bodyOf(spec, firstUser, n) {
  if (spec.action === "json") return strangeJson(spec);
  if (spec.action === "rpc") return rpcBody(spec, firstUser, n);
  const transactions = Array.from({ length: spec.size }, (_, i) =>
    transactionOf(spec, firstUser, n * spec.size + i),
  );
  return JSON.stringify({ transactions });
}

function transactionOf({ nonces, encoding, calldata, gas }, firstUser, i) {
  if (encoding === "no hex") return "0xzz";
  if (encoding === "half bad" && i % 2 === 0) return "0x00";
  const isOne = ["one sender", "conflicts"].includes(nonces);
  const nonce = { "one sender": i, ahead: 1, conflicts: i >> 1 }[nonces] ?? 0;
  const user = nonces === "the same again" ? firstUser : isOne ? firstUser : firstUser + i;
  const end = nonces === "conflicts" ? (i % 2 === 0 ? "aa" : "bb") : "";
  const raw = signed(user, {
    nonce,
    gasLimit: BigInt(Math.max(gas, 21_000 + 50 * calldata)),
    length: calldata,
    end,
  });
  return encoding === "bad signature" ? `${raw.slice(0, -4)}0000` : raw;
}

const IDS = { small: "1", "beyond a double": "9007199254740993", "long text": `"${"i".repeat(1_000)}"` };

function rpcBody({ method, size, id, bytes }, firstUser, n) {
  const params =
    method === "eth_sendRawTransaction"
      ? [signed(firstUser + n)]
      : [`0x${(firstUser + n).toString(16).padStart(40, "0")}`, "latest"];
  const call = (i) =>
    `{"jsonrpc":"2.0",${id === "absent" ? "" : `"id":${IDS[id]},`}"method":"${method}","params":${JSON.stringify(params)},"n":${i}}`;
  const text = size === 1 ? call(0) : `[${Array.from({ length: size }, (_, i) => call(i)).join(",")}]`;
  const filler = Math.max(0, bytes - text.length - 20);
  return size === 1 ? text.replace(/}$/, `,"x":"${"x".repeat(filler)}"}`) : text;
}

function strangeJson({ json, bytes }) {
  const made = {
    "many values": () => `[${"[],".repeat(bytes / 3)}1]`,
    "one text": () => `{"transactions":["0x${"a".repeat(bytes)}"]}`,
    deep: () => `${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`,
    escapes: () => `{"a":"${"\\u0061".repeat(bytes / 6)}"}`,
    spaces: () => `{"transactions":${" ".repeat(bytes)}[]}`,
  };
  return made[json]();
}
