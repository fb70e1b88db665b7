// Serves browser.html, and relays its transactions to the service:  node examples/browser-server.mjs
// A page must not hold a secret key, so this server adds it, and decides what the page may send.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRelayHandler, nodeListener } from "@gas-waiver/client/relay";
import { apiKey, rpcUrl, token, url } from "./settings.mjs";

const root = new URL("..", import.meta.url);
/** The modules of the page's import map. The server hands out no other files. */
const MODULE =
  /^\/(?:packages\/(?:client|protocol)\/dist\/[\w/-]+|node_modules\/ethers\/dist\/ethers\.min)\.js$/;

// Here you decide who may send what: this page sends transfers of the test token.
const TRANSFER = "0xa9059cbb";
const relay = nodeListener(
  createRelayHandler({
    ...{ url, apiKey, path: "/gasless", onError: console.error },
    allow: ({ to, selector }) => to === token.toLowerCase() && selector === TRANSFER,
  }),
);

/** The reads of the chain that the page needs. The node has other methods, which are not for everybody. */
const READS = [
  ...["eth_chainId", "eth_blockNumber", "eth_call", "eth_estimateGas", "eth_getTransactionCount"],
  ...["eth_getTransactionByHash", "eth_getTransactionReceipt"],
];
const LONGEST_READ = 100_000;

/** Answers reads of the chain: one JSON-RPC request, or a batch of them. */
async function read(request, response) {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
    if (body.length > LONGEST_READ) return response.writeHead(413, { connection: "close" }).end();
  }
  const calls = [JSON.parse(body)].flat();
  if (!calls.every((call) => READS.includes(call?.method))) return response.writeHead(403).end();
  const headers = { "content-type": "application/json" };
  const answer = await fetch(rpcUrl, { method: "POST", headers, body: JSON.stringify(JSON.parse(body)) });
  response.writeHead(answer.status, headers).end(await answer.text());
}

async function answer(request, response) {
  const { pathname } = new URL(request.url, "http://page");
  if (pathname.startsWith("/gasless/")) return await relay(request, response);
  if (pathname === "/rpc" && request.method === "POST") return await read(request, response);
  const page = pathname === "/";
  if (!page && !MODULE.test(pathname)) return response.writeHead(404).end();
  const body = await readFile(new URL(page ? "examples/browser.html" : `.${pathname}`, root));
  response.writeHead(200, { "content-type": page ? "text/html" : "text/javascript" }).end(body);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error.message);
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  });
});
server.listen(Number(process.env.PORT ?? 8000), "127.0.0.1", () => {
  console.log(`open http://127.0.0.1:${server.address().port}`);
});
