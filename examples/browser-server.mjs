// Serves browser.html and forwards its requests to the service:  node examples/browser-server.mjs
// A page must not hold an API key, so this server adds it. The page also needs no requests to other origins.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { pipeline } from "node:stream/promises";
import { apiKey, rpcUrl, url } from "./settings.mjs";

const root = new URL("..", import.meta.url);
/** The modules of the page's import map. The server hands out no other files. */
const MODULE =
  /^\/(?:packages\/(?:client|protocol)\/dist\/[\w/-]+|node_modules\/ethers\/dist\/ethers\.min)\.js$/;

async function answer(request, response) {
  const { pathname, search } = new URL(request.url, "http://page");
  const { origin, host } = request.headers;
  // Otherwise another site could use the key through a visitor of this page.
  if (origin !== undefined && origin !== `http://${host}`) return response.writeHead(403).end();
  if (pathname === "/rpc") return await forward(request, response, rpcUrl);
  if (pathname.startsWith("/v1/")) {
    const headers = { authorization: `Bearer ${apiKey}` };
    return await forward(request, response, `${url}${pathname}${search}`, headers);
  }
  const page = pathname === "/";
  if (!page && !MODULE.test(pathname)) return response.writeHead(404).end();
  const body = await readFile(new URL(page ? "examples/browser.html" : `.${pathname}`, root));
  response.writeHead(200, { "content-type": page ? "text/html" : "text/javascript" }).end(body);
}

/** Forwards a request, and streams the answer back. */
async function forward(request, response, target, headers = {}) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const type = { "content-type": "application/json" };
  const post = request.method === "POST" && { method: "POST", body: Buffer.concat(chunks) };
  const upstream = await fetch(target, { headers: { ...headers, ...(post && type) }, ...post });
  response.writeHead(upstream.status, {
    "content-type": upstream.headers.get("content-type") ?? "text/plain",
  });
  await pipeline(upstream.body, response);
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
