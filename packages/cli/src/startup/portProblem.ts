import { once } from "node:events";
import { get } from "node:http";
import { get as getByTls } from "node:https";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { isReason } from "@gas-waiver/protocol";
import { listenErrorMessage } from "../errorMessage.js";

/** Opens a port and closes it again. @returns a sentence if that is not possible. */
export async function portProblem(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    await new Promise<void>((done, failed) => {
      server.once("error", failed);
      server.listen({ host: host === "localhost" ? "127.0.0.1" : host, port, exclusive: true }, done);
    });
  } catch (error) {
    const failure = Object.assign(error as Error, { address: host, port });
    return listenErrorMessage(failure) ?? `port ${port} of ${host} cannot be opened: ${failure.message}`;
  }
  await new Promise((done) => server.close(done));
  return undefined;
}

/** A service answers at once, and another program may never. */
const ANSWER_WITHIN_MS = 5_000;
/** The addresses of this machine by which those that stand for all of them are reached. */
const REACHED_BY: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Asks who has a port: each port of a service refuses an unknown path without a key, and with a reason of the closed list (D21). */
export async function isPortOfService(host: string, port: number, isTls: boolean): Promise<boolean> {
  try {
    const place = { host: REACHED_BY[host] ?? host, port, path: "/who-has-this-port" };
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    // Nothing secret is sent, and the certificate may be for another name.
    const options = { ...place, agent: false, rejectUnauthorized: false, signal };
    const [answer] = await once((isTls ? getByTls : get)(options), "response");
    return isReason(JSON.parse(await text(answer)).error.reason);
  } catch {
    return false;
  }
}
