// Attacks with very many good or refused requests, most of them of one key.
import { signed } from "../../signed.mjs";
import { ATTACKERS_KEY } from "../shape.mjs";
import { frame, head, request } from "./attacker.mjs";

/** A number above those of the well-behaved client's users. */
const FIRST_USER = 20_000_000;

/** A GET request. `key: null` leaves the API key out. */
const get = (path, { key = ATTACKERS_KEY, fields = [] } = {}) =>
  [
    `GET ${path} HTTP/1.1`,
    "Host: x",
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    ...fields,
    "",
    "",
  ].join("\r\n");

/** Sends a request on each of many connections, and the next one on the same connection when its answer begins. */
async function floodWith(attacker, connections, requests) {
  const encoded = requests.map((text) => Buffer.from(text, "latin1"));
  let next = 0;
  const open = async () => {
    const socket = attacker.open({ onClosed: open });
    attacker.countStatuses(socket);
    socket.on("data", (part) => {
      // Each answer begins with a status line. The further parts of a large answer have none.
      if (!attacker.ended && part.includes("HTTP/1.1 ")) socket.write(encoded[next++ % encoded.length]);
    });
    socket.write(encoded[next++ % encoded.length]);
  };
  await attacker.times(connections, open);
}

/** Submits 200 transactions, so that there is something to list. */
async function submitSome(attacker) {
  for (let batch = 0; batch < 2; batch++) {
    const transactions = Array.from({ length: 100 }, (_, i) => signed(FIRST_USER + batch * 100 + i));
    const socket = attacker.open();
    socket.write(request(JSON.stringify({ transactions })));
    let text = "";
    await new Promise((resolve) => {
      socket.on("data", (part) => {
        text += part;
        if (text.endsWith("0\r\n\r\n")) resolve();
      });
      socket.once("close", resolve);
    });
    attacker.ids = [...(attacker.ids ?? []), ...[...text.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id)];
    socket.destroy();
  }
}

const floodOfLists = (connections) => async (attacker) => {
  await submitSome(attacker);
  await floodWith(attacker, connections, [get("/v1/submissions?limit=100")]);
};

export const lists = floodOfLists(300);
export const manyLists = floodOfLists(1_500);

/** Every other route that needs a key and only reads. */
export async function reads(attacker) {
  await submitSome(attacker);
  const [id] = attacker.ids;
  const check = request(JSON.stringify({ transactions: [signed(FIRST_USER)] }), { path: "/v1/check" });
  const paths = [`/v1/submissions/${id}`, "/v1/policy", "/v1/openapi.json", "/v1/asyncapi.json", "/v1/ready"];
  await floodWith(attacker, 300, [...paths.map((path) => get(path)), check]);
}

/** Requests of a good key that are refused. */
export async function refusals(attacker) {
  const invalidSubmits = ['{"transactions":[]}', '{"transactions":[1]}'].map((body) => request(body));
  await floodWith(attacker, 300, [...invalidSubmits, get("/v1/submissions?limit=0"), get("/v1/nothing")]);
}

/** Requests without a key. `/v1/policy` needs one and refuses them. */
export async function requestsWithoutKey(attacker) {
  const paths = ["/v1/health", "/docs", "/v1/nothing", "/v1/policy"];
  await floodWith(
    attacker,
    300,
    paths.map((path) => get(path, { key: null })),
  );
}

/** Frames with `watch`, as fast as the service reads them. */
export async function watches(attacker) {
  await submitSome(attacker);
  let id = 0;
  const open = async () => {
    const socket = await attacker.openSocket({ onClosed: () => void open() });
    socket.on("data", (part) => {
      attacker.count("bytes answered", part.length);
    });
    await attacker.flood(socket, () => {
      attacker.count("watches");
      return frame(JSON.stringify({ id: id++, watch: attacker.ids.slice(0, 100) }));
    });
  };
  await attacker.times(100, async () => void open());
}

/** A whole frame and the beginning of the next one in one packet, and nothing more. */
export async function halfFrames(attacker) {
  const whole = frame('{"id":1,"watch":[]}');
  const half = frame("x".repeat(60_000), { length: 30 * 2 ** 20 });
  const open = async () => {
    const socket = await attacker.openSocket({ onClosed: () => void open() });
    socket.write(Buffer.concat([whole, half]));
    attacker.count("half frames");
  };
  await attacker.times(1_000, open);
}

/** Repeats one Idempotency-Key with 20 lists of transactions in turn. */
export async function reusedKeys(attacker) {
  const requests = Array.from({ length: 20 }, (_, i) => {
    const body = JSON.stringify({
      transactions: Array.from({ length: 10 }, (_, j) => signed(FIRST_USER + 1_000 + i * 10 + j)),
    });
    return `${head([`Idempotency-Key: one`, `Content-Length: ${Buffer.byteLength(body)}`])}${body}`;
  });
  await floodWith(attacker, 20, requests);
}
