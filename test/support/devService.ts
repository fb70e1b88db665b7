import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll } from "vitest";
import { freshFolder } from "./freshFolder.js";
import { Program } from "./program.js";
import { connect } from "./user.js";

/** A running `gas-waiver dev`: the service and its chain. */
export interface DevService {
  readonly program: Program;
  /** The service's URL. */
  readonly url: string;
  readonly rpcUrl: string;
  /** The folder of its database. */
  readonly dataDir: string;
  /** A connection to the chain, with ethers. */
  readonly chain: JsonRpcProvider;
}

/**
 * Starts `gas-waiver dev` on free ports before the file's tests, without its demonstration unless the flags say
 * otherwise, and ends it after them. The returned function gives the service once it runs.
 */
export function useDevService(flags: readonly string[] = ["--no-demo"]): () => DevService {
  let service: DevService | undefined;
  let program: Program | undefined;
  beforeAll(async () => {
    const dataDir = freshFolder();
    program = Program.gasWaiver([
      ...["dev", "--port", "0", "--rpc-port", "0", "--data-dir", dataDir],
      ...["--block-time", "100", ...flags],
    ]);
    const { url, rpcUrl } = await program.ready();
    service = { program, url, rpcUrl, dataDir, chain: connect(rpcUrl) };
  });
  afterAll(async () => {
    service?.chain.destroy();
    await program?.end();
  });
  return () => {
    if (service === undefined) throw new Error("the service has not been started");
    return service;
  };
}
