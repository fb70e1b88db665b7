// The HTTP side of both sample relays: Fastify, the API key, and one NDJSON line for each transaction as it is done.
import { PassThrough } from "node:stream";
import { fastify } from "fastify";
import { answerBenchmark } from "./contestant.mjs";
import { API_KEY } from "./shape.mjs";

/**
 * @param {(raw: string) => Promise<{ id: string, hash: string }>} relay checks, wraps, signs and sends one
 * transaction; resolves with the inner hash once the node has accepted the wrapper.
 */
export async function serveRelay(relay) {
  const app = fastify({ bodyLimit: 32 * 2 ** 20 });
  app.post("/v1/submit", async (request, reply) => {
    if (request.headers.authorization !== `Bearer ${API_KEY}`)
      return reply.code(401).send({ error: "unknown API key" });
    const lines = new PassThrough();
    reply.type("application/x-ndjson").send(lines);
    await Promise.all(
      request.body.transactions.map(async (raw, index) => {
        lines.write(`${JSON.stringify({ index, ...(await lineOf(raw)) })}\n`);
      }),
    );
    lines.end();
    return reply;
  });
  async function lineOf(raw) {
    try {
      const { id, hash } = await relay(raw);
      return { id, success: true, txHash: hash };
    } catch (error) {
      return { success: false, error: { message: error.message } };
    }
  }
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  answerBenchmark({ url, close: () => app.close() });
}
