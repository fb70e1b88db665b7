// A target that does nothing: it answers the attacker's requests with status 429, no faster than the service answers requests
// that it refuses. The attack on it shows what the machine pays, the attacker's own work included, and the service does not.
//
//   node floor.mjs
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { answerBenchmark } from "../service/contestant.mjs";

/** The service answers so many refusals of a key at once, and then so many a second. */
const FREE_ANSWERS = 400;
const ANSWERS_PER_SECOND = 200;
const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const BODY = '{"error":{"code":"RATE_LIMITED","message":"this target does nothing"}}';

let answersLeft = FREE_ANSWERS;
const waiting = [];
setInterval(() => {
  answersLeft = Math.min(FREE_ANSWERS, answersLeft + ANSWERS_PER_SECOND / 100);
  while (answersLeft >= 1 && waiting.length > 0) begin(waiting.shift());
}, 10).unref();

function begin(answer) {
  answersLeft--;
  answer();
}

/** Some attacks begin with submissions, whose ids they use. */
function acceptAll(response, body) {
  const { transactions } = JSON.parse(body);
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  for (const _ of transactions) response.write(`{"id":"${randomUUID()}"}\n`);
  response.end();
}

async function onRequest(request, response) {
  const isFirst = !("done" in request.socket);
  request.socket.done = true;
  let body = "";
  const keepsBody = isFirst && request.method === "POST" && request.headers["content-length"] < 100_000;
  for await (const part of request) if (keepsBody) body += part;
  if (keepsBody && body.includes('"transactions":["0x')) return acceptAll(response, body);
  // The connection's later requests stay in its buffers meanwhile, not in this process.
  request.socket.pause();
  const refuse = () => {
    request.socket.resume();
    response.writeHead(429, { "content-type": "application/json", "content-length": BODY.length }).end(BODY);
  };
  if (answersLeft >= 1 && waiting.length === 0) begin(refuse);
  else waiting.push(refuse);
}

/** Accepts a WebSocket, and reads nothing from it. */
function onUpgrade(request, socket) {
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"]}${WEBSOCKET_GUID}`)
    .digest("base64");
  socket.on("error", () => {});
  socket.pause();
  socket.write(
    [
      "HTTP/1.1 101 Switching Protocols",
      "Upgrade: websocket",
      "Connection: Upgrade",
      `Sec-WebSocket-Accept: ${accept}`,
      "",
      "",
    ].join("\r\n"),
  );
}

const server = createServer((request, response) => onRequest(request, response).catch(() => {}));
server.on("upgrade", onUpgrade);
server.on("clientError", (_, socket) => socket.destroy());
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
answerBenchmark({
  url: `http://127.0.0.1:${server.address().port}`,
  close: async () => process.exit(0),
});
