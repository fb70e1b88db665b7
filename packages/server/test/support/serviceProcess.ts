import type { ServerOptions } from "../../src/model/options/options.js";
import { runProgram } from "./childProgram.js";
import { GOOD_HEADERS, optionsFor, type PostOptions } from "./testService.js";
import { WAIVER_KEY } from "./user.js";

const PROGRAM = `
  import { parseAllowedTargets } from "@gas-waiver/protocol";
  import { createServer, privateKeyWaiver } from "@gas-waiver/server";
  const waivers = input.waiverKeys.map((key) => privateKeyWaiver(Uint8Array.from(key)));
  const allowedTargets = parseAllowedTargets([{ address: "*" }]);
  const server = await createServer({ ...input.options, waivers, allowedTargets });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  console.log(url);`;

/** A service in a process of its own, so that a test can kill or suspend it. */
export interface ServiceProcess {
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL, and resolves when the process has ended. */
  kill(): Promise<void>;
  /**
   * POSTs to `/v1/submit`; resolves with the body's text.
   * @throws the error of `fetch` if the process dies before it has answered.
   */
  post(transactions: readonly string[], options?: PostOptions): Promise<string>;
}

/** Starts the built service on this database and node. Its policy permits every target. */
export async function startServiceProcess(
  databaseUrl: string,
  rpcUrl: string,
  changes: Partial<ServerOptions> = {},
  waiverKeys: readonly Uint8Array[] = [WAIVER_KEY],
): Promise<ServiceProcess> {
  const { waivers, allowedTargets, ...options } = optionsFor(databaseUrl, rpcUrl, changes);
  const child = await runProgram(PROGRAM, { options, waiverKeys: waiverKeys.map((key) => [...key]) });
  return {
    signal: child.signal,
    kill: child.kill,
    async post(transactions, { query = "", headers = {} } = {}) {
      const response = await fetch(`${child.line}/v1/submit${query}`, {
        method: "POST",
        headers: { ...GOOD_HEADERS, ...headers },
        body: JSON.stringify({ transactions }),
      });
      return await response.text();
    },
  };
}
