import { ROUTES } from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import { KEY, KNOWN_ID, type Probe } from "./probe.js";
import { body, inPieces, json, mutated, text } from "./values.js";

const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "get", "X"];
const PATHS = [
  ...Object.values(ROUTES).map(({ path }) => path),
  ...["/", "*", "//", "/v1", "/v1/submit/", "/v1/%2e%2e/health", "/v1/submissions/%00", "/v1/%zz", "/docs/x"],
];
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  wait: ["included", "broadcast", "", "long"],
  simulate: ["true", "false", "1"],
  limit: ["1", "100", "0", "-1", "1e3", "99999999999999999999"],
  cursor: ["", "a", KNOWN_ID, "%00", "x".repeat(500)],
  sender: ["0x1111111111111111111111111111111111111111", "0x", "%ff"],
  state: ["queued", "included", "none"],
  txHash: [`0x${"11".repeat(32)}`, "0x"],
  from: ["2026-01-01T00:00:00Z", "yesterday", "9".repeat(30)],
  to: ["2999-01-01T00:00:00Z", "-1", "275760-09-13T00:00:00.001Z"],
  since: ["2026-01-01T00:00:00Z", "0"],
  until: ["2026-01-01T00:00:00Z", "+275760-09-13T00:00:00.000Z"],
  after: ["2026-01-01T00:00:00Z", "a"],
  before: ["0001-01-01T00:00:00Z", "-271821-04-20T00:00:00.000Z"],
};
const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  ["Idempotency-Key", ["a", "", "x".repeat(255), "x".repeat(256), "a b", "é", '"quoted"']],
  ["Accept-Encoding", ["gzip", "gzip;q=0", "*", "br, gzip;q=0.5", ";;;", "gzip;q=x"]],
  ["Content-Encoding", ["gzip", "identity", ""]],
  ["Accept", ["text/html", "*/*", "application/json;q=0"]],
  ["Origin", ["https://app.example.com", "null", "http://localhost:1", ""]],
  ["Access-Control-Request-Method", ["POST", "X"]],
  ["Expect", ["100-continue", "200-ok"]],
  ["Upgrade", ["websocket", "h2c"]],
  ["Connection", ["close", "keep-alive", "Upgrade", "close, Upgrade"]],
  ["Sec-WebSocket-Version", ["13", "8"]],
  ["Range", ["bytes=0-1"]],
  ["X-Long", ["x".repeat(5_000), "x".repeat(20_000)]],
  ["Content-Length", ["0", "5", "-1", "abc", "99999999999999999999"]],
  ["Transfer-Encoding", ["chunked", "gzip, chunked", "identity"]],
  ["Host", ["", "a b", "example.com:99999"]],
];
const JSON_TYPE = "application/json";
const CONTENT_TYPES = [JSON_TYPE, `${JSON_TYPE}; charset=utf-8`, "text/plain", "", `${JSON_TYPE};`, "a/b"];
const VALID_AUTHORIZATION = `Bearer ${KEY}`;
const KEYS = [
  VALID_AUTHORIZATION,
  `Bearer  ${KEY} `,
  "Bearer x",
  "Basic eA==",
  "Bearer",
  `Bearer gw_test_${"0".repeat(16)}_x`,
];

/** A request from the grammar, sometimes with corrupted bytes. */
export function requestProbe(random: SeededRandom): Probe {
  const isPlain = random.chance(0.6);
  const route = random.pick(Object.values(ROUTES));
  const method = random.chance(0.8) ? route.method : random.pick(METHODS);
  const path = (random.chance(0.85) ? route.path : random.pick(PATHS)).replace(":id", id(random));
  const url = `${path}${query(random)}`;
  const fields = [
    "Host: x",
    `Authorization: ${random.chance(0.9) ? VALID_AUTHORIZATION : random.pick(KEYS)}`,
  ];
  if (!isPlain) for (let i = random.between(1, 3); i > 0; i--) fields.push(header(random));
  const content = method === "POST" || random.chance(0.1) ? Buffer.from(body(random), "utf8") : undefined;
  if (content !== undefined) {
    fields.push(`Content-Type: ${random.chance(0.9) ? JSON_TYPE : random.pick(CONTENT_TYPES)}`);
    if (!fields.some((field) => /^(content-length|transfer)/i.test(field))) {
      fields.push(`Content-Length: ${content.length}`);
    }
  }
  const head = Buffer.from(`${method} ${url} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`, "latin1");
  const bytes = Buffer.concat([head, content ?? Buffer.alloc(0)]);
  if (random.chance(0.25)) return { pieces: inPieces(mutated(bytes, random), random) };
  const request =
    isPlain && /^[\x21-\x7e]+$/.test(url) && /^[A-Z]+$/.test(method) ? { method, url } : undefined;
  return { pieces: inPieces(bytes, random), ...(request && { request }) };
}

function id(random: SeededRandom): string {
  return random.pick([KNOWN_ID, KNOWN_ID.toUpperCase(), "x", "%00", encoded(json(random, 1)), "..", ""]);
}

function query(random: SeededRandom): string {
  if (random.chance(0.5)) return "";
  const parameter = () => {
    const name = random.pick(Object.keys(PARAMETERS));
    const value = random.chance(0.7) ? random.pick(PARAMETERS[name] ?? [""]) : encoded(text(random));
    return `${name}=${value}`;
  };
  return `?${Array.from({ length: random.between(0, 4) }, parameter).join("&")}`;
}

/** Percent-encodes a text, without lone surrogates, which have no encoding. */
function encoded(value: string): string {
  return encodeURIComponent(value.replace(/[\ud800-\udfff]/g, ""));
}

function header(random: SeededRandom): string {
  const [name, values] = random.pick(HEADERS);
  return `${name}: ${random.chance(0.9) ? random.pick(values) : text(random).replace(/[\r\n]/g, "")}`;
}
