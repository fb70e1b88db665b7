// 200,000 requests or frames of each kind, on one connection for each kind, all at the same time.
import { signed } from "../../signed.mjs";
import { KIND_KEYS } from "../shape.mjs";
import { frame, head, request } from "./attacker.mjs";

const COUNT = 200_000;
/** Requests or frames of one write. */
const PIECE = 100;
/** A number above those of the other clients' users. */
const USER = 30_000_000;
const BINARY = 2;
const PING = 9;

const without =
  (first, ...fields) =>
  () =>
    [`${first} HTTP/1.1`, "Host: x", ...fields, "", ""].join("\r\n");
const withKey = (first) => (key) => without(first, `Authorization: Bearer ${key}`)();
const submit = (body) => (key) => request(JSON.stringify(body), { key });
const again = { transactions: [signed(USER)] };
const UNDECODABLE = { transactions: ["0x"] };

/** The bytes of one request, by the key of its kind. */
const REQUESTS = {
  "GET /v1/health": without("GET /v1/health"),
  HEAD: without("HEAD /v1/health"),
  OPTIONS: without("OPTIONS /v1/submit", "Origin: https://a.example"),
  "Expect: 100-continue": without("GET /v1/health", "Expect: 100-continue"),
  "Expect: more": without("GET /v1/health", "Expect: more"),
  "an unknown path": without("GET /v1/nothing"),
  "a bad key": () => withKey("GET /v1/policy")("gw_bad"),
  "Upgrade: foo": without("GET /v1/health", "Connection: Upgrade", "Upgrade: foo"),
  "a WebSocket with a bad key": () =>
    withKey("GET /v1/submit")("gw_bad").replace(
      "\r\n\r\n",
      "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ),
  "a read": withKey("GET /v1/policy"),
  "an empty batch": submit({ transactions: [] }),
  "bad JSON": (key) => request("{a}", { key }),
  "a body that breaks off": (key) => head(["Content-Length: 3"], { key }),
  "an undecodable transaction": submit(UNDECODABLE),
  "one transaction again": submit(again),
};

const text = (value) => () => frame(JSON.stringify(value));
const FRAMES = {
  "a ping": () => frame("", { opcode: PING }),
  "a frame that is no JSON": () => frame("{"),
  "a binary frame": () => frame("{}", { opcode: BINARY }),
  "a watch": text({ id: 1, watch: [] }),
  "a frame without an id": text(UNDECODABLE),
  "a frame with an id": text({ id: 2, ...UNDECODABLE }),
  "a frame with one transaction again": text({ id: 3, ...again }),
};

const PONG = "\x8a\0";
const FRAME_ANSWERS = [PONG, '"done":true', '"error":{'];

export async function oneConnection(attacker) {
  const kinds = [
    ...Object.entries(REQUESTS).map(([name, bytesOf]) => ({ name, bytesOf, answers: ["\r\nDate: "] })),
    ...Object.entries(FRAMES).map(([name, bytesOf]) => ({
      name,
      bytesOf,
      answers: FRAME_ANSWERS,
      isFrame: true,
    })),
  ];
  const sent = kinds.map((kind, i) =>
    send(attacker, kind, { key: KIND_KEYS[i], address: `127.0.1.${i + 1}` }),
  );
  await Promise.race([Promise.all(sent), attacker.finished]);
}

/** Sends a kind from an address of its own, under a key of its own, so that no kind waits for another's refusals. */
async function send(attacker, { name, bytesOf, answers, isFrame = false }, { key, address }) {
  const socket = isFrame ? await attacker.openSocket({ key, address }) : attacker.open({ address });
  const answered = new Promise((resolve) => {
    let count = 0;
    socket.once("close", resolve).on("data", (part) => {
      const received = part.toString("latin1");
      for (const answer of answers) {
        const found = received.split(answer).length - 1;
        attacker.count(`× ${name}`, found);
        count += found;
      }
      if (count >= COUNT) resolve();
    });
  });
  const bytes = Buffer.from(bytesOf(key), "latin1");
  const piece = Buffer.concat(Array(PIECE).fill(bytes));
  await attacker.pour(socket, piece, COUNT * bytes.length);
  await answered;
}
