import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { ATTACKERS_KEY } from "../shape.mjs";

/** The most actions of an attack, such as opening a connection, at the same time. */
const MAX_CONCURRENT_ACTIONS = 100;

/** The tools of an attack: raw connections, the attack's duration, and counters. */
export class Attacker {
  /** Counts of the attack's actions and of the service's answers, by name. */
  counts = {};
  /** Resolves when the attack's time is over. */
  finished;
  #sockets = new Set();
  #ended = false;
  #target;

  constructor(url, forMs) {
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port) };
    this.finished = new Promise((resolve) => {
      setTimeout(() => {
        this.#ended = true;
        resolve();
      }, forMs);
    });
  }

  get ended() {
    return this.#ended;
  }

  count(name, by = 1) {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }

  /** Ends the attack and closes its connections. */
  release() {
    this.#ended = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Opens a connection, from one of this machine's addresses. `onClosed` is called when it closes before the attack is over. */
  open({ onClosed = () => {}, address } = {}) {
    const socket = connect({ ...this.#target, ...(address && { localAddress: address }) });
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (this.#ended) return;
      this.count("closed before the end");
      onClosed();
    });
    return socket;
  }

  /**
   * Opens a WebSocket over a raw connection, so that the attack writes the bytes of the frames itself.
   * Resolves with the connection.
   */
  async openSocket({ key = ATTACKERS_KEY, ...options } = {}) {
    const socket = this.open(options);
    const answered = new Promise((resolve) => {
      socket.once("data", (part) => resolve(String(part).slice(9, 12)));
      socket.once("close", () => resolve("closed"));
    });
    socket.write(
      [
        "GET /v1/submit HTTP/1.1",
        "Host: x",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
        `Authorization: Bearer ${key}`,
        "",
        "",
      ].join("\r\n"),
    );
    const status = await answered;
    this.count(status === "101" ? "WebSockets opened" : `WebSockets answered ${status}`);
    return socket;
  }

  /** Calls `each` with 0 to `count` - 1, {@link MAX_CONCURRENT_ACTIONS} at a time. */
  async times(count, each) {
    for (let i = 0; i < count && !this.#ended; i += MAX_CONCURRENT_ACTIONS) {
      await Promise.all(
        Array.from({ length: Math.min(MAX_CONCURRENT_ACTIONS, count - i) }, (_, j) => each(i + j)),
      );
    }
  }

  /** Writes `next()` repeatedly, as fast as the service reads, until the connection closes or the attack is over. */
  async flood(socket, next) {
    const closed = new Promise((resolve) => socket.once("close", resolve));
    while (!this.#ended && !socket.destroyed) {
      if (socket.write(next())) {
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    }
  }

  /** Writes `part` repeatedly, `bytes` in all, as fast as the service reads. */
  async pour(socket, part, bytes) {
    let partsLeft = Math.floor(bytes / part.length);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    for (; partsLeft > 0 && !this.#ended && !socket.destroyed; partsLeft--) {
      if (socket.write(part)) continue;
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    }
  }

  /** Counts the HTTP statuses of the answers. */
  countStatuses(socket) {
    socket.on("data", (part) => {
      for (const [, status] of String(part).matchAll(/HTTP\/1\.1 (\d{3})/g)) this.count(`answered ${status}`);
    });
  }
}

/** The head of a POST request, with more header fields. */
export function head(fields, { path = "/v1/submit", key = ATTACKERS_KEY } = {}) {
  return [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/json",
    `Authorization: Bearer ${key}`,
    ...fields,
    "",
    "",
  ].join("\r\n");
}

export function request(body, options) {
  return `${head([`Content-Length: ${Buffer.byteLength(body)}`], options)}${body}`;
}

/** A WebSocket frame of a client, masked with zeros. `length` may announce more than the payload has. */
export function frame(payload, { opcode = 1, fin = true, length = payload.length } = {}) {
  const first = (fin ? 0x80 : 0) | opcode;
  const mask = Buffer.alloc(4);
  if (length < 126) return Buffer.concat([Buffer.of(first, 0x80 | length), mask, Buffer.from(payload)]);
  const size = Buffer.alloc(length < 65_536 ? 2 : 8);
  if (length < 65_536) size.writeUInt16BE(length);
  else size.writeBigUInt64BE(BigInt(length));
  const second = length < 65_536 ? 254 : 255;
  return Buffer.concat([Buffer.of(first, second), size, mask, Buffer.from(payload)]);
}
