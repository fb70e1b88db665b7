import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/**
 * Begins a request of which the server has the head alone.
 * @param after makes another request. When it is answered, the one before it has had its turn.
 * @returns a function that sends the body, and reads the reply.
 */
export async function beginRequest(
  url: string,
  headers: Record<string, string>,
  after: () => Promise<unknown>,
) {
  const sent = request(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers, expect: "100-continue" },
    agent: false,
  });
  sent.flushHeaders();
  await once(sent, "continue");
  await after();
  return async (body: string) => {
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { status: response.statusCode, text: await text(response) };
  };
}
