import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { crypto } from "@gas-waiver/protocol";
import { createChain } from "./chain.js";
import { StartError } from "./errors.js";
import { createApp } from "./http/app.js";
import { createIntake } from "./intake.js";
import { type Lane, startLane } from "./lane.js";
import { createLog } from "./log.js";
import { resolveOptions, type ServerOptions } from "./options.js";
import { createResults } from "./results.js";
import { confirmServedChain, findServedChain } from "./servedChain.js";
import { countSubmissions } from "./store/chains.js";
import { openStore } from "./store/Store.js";

/** The running service. */
export interface Server {
  /** How many submissions the store already held at the start. */
  readonly earlierSubmissions: number;
  /** @throws {@link StartError} if the port cannot be had. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ url: string; port: number }>;
  /**
   * Stops accepting, answers the lines that wait, finishes the lanes' steps, closes the store. Called again, it
   * resolves with the first call.
   */
  close(): Promise<void>;
}

/**
 * Builds the submission service, each part once, in order: store, chain, lanes, intake, HTTP. The lanes work from
 * here on; `listen` opens the door.
 * @throws InvalidOptionsError with every problem, or {@link StartError} with one sentence.
 */
export async function createServer(given: ServerOptions): Promise<Server> {
  const options = resolveOptions(given);
  const log = createLog(options.logLevel);
  const closing = new AbortController();
  const chain = createChain({ ...options, signal: closing.signal });
  const store = await openStore(options, log);
  try {
    const earlierSubmissions = await countSubmissions(store);
    const { chainRef, confirmed } = await findServedChain({ chain, store, options });
    const results = createResults(store, log);
    const laneDependencies = { store, chain, results, log, options, chainRef, owner: randomUUID() };
    const lanes: Lane[] = [];
    const startLanes = () => lanes.push(...options.waiverKeys.map((key) => startLane(key, laneDependencies)));
    const confirmation = confirmed
      ? Promise.resolve(true)
      : confirmServedChain({ chain, store, options }, log, closing.signal);
    const started = confirmation.then((ours) => ours && startLanes());
    const wakeLanes = () => {
      for (const lane of lanes) lane.wake();
    };
    const intake = createIntake({ store, results, options, log, chainRef, wakeLanes });
    const version = await readVersion();
    const health = { status: "ok", version, chainId: options.chainId } as const;
    const app = createApp({ store, intake, options, health, log });
    log.info({ crypto: crypto.name, chainId: options.chainId, version }, "the service is built");
    const shutDown = async () => {
      intake.close();
      await app.close();
      closing.abort();
      await started;
      await Promise.all(lanes.map((lane) => lane.stop()));
      results.close();
      await store.close();
    };
    let closed: Promise<void> | undefined;
    return {
      earlierSubmissions,
      async listen({ host, port }) {
        try {
          const url = await app.listen({ host, port });
          return { url, port: portOf(app.server.address()) ?? port };
        } catch (error) {
          throw new StartError(listenProblem(error, host, port), { cause: error });
        }
      },
      close() {
        closed ??= shutDown();
        return closed;
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function listenProblem(error: unknown, host: string, port: number): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return `port ${port} of ${host} is in use by another program`;
  if (code === "EACCES") return `port ${port} of ${host} needs rights that this user does not have`;
  if (code === "EADDRNOTAVAIL") return `${host} is not an address of this machine`;
  return `the service cannot listen on ${host}:${port}: ${message}`;
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
