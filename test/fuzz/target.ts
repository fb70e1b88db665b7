import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { Process } from "../chaos/process.js";
import { Random } from "../chaos/random.js";
import { account, CHAIN_ID, TOKEN } from "../support/user.js";
import { KEY, type Probe, withKnownId } from "./probe.js";
import { transaction } from "./values.js";

/** Longer than any of the service's own time-outs here: whoever waits so long is forgotten. */
const PATIENCE_MS = 15_000;
const GOOD_EVERY_MS = 200;
const FLAGS = [
  ...[
    "--rate",
    "1000000",
    "--rate-burst",
    "1000000",
    "--request-timeout",
    "300",
    "--nonce-gap-timeout",
    "50",
  ],
  ...["--head-timeout", "2000", "--body-timeout", "3000", "--log-level", "error"],
];

/** A service in a process of its own, on a devnet, with a good client beside the probes. */
export class Target {
  readonly #folder = mkdtempSync(join(tmpdir(), "gas-waiver-fuzz-"));
  #devnet: Devnet | undefined;
  #process: Process | undefined;
  #url = "";
  #knownId = "";
  #asking: NodeJS.Timeout | undefined;
  #goodProblem: string | undefined;

  static async start(): Promise<Target> {
    const target = new Target();
    try {
      target.#devnet = await createDevnet({ blockTimeMs: 100 });
      await target.#serve((await target.#devnet.listen({ port: 0 })).url);
    } catch (error) {
      await target.close();
      throw error;
    }
    target.#asking = setInterval(() => void target.#askWell(), GOOD_EVERY_MS);
    return target;
  }

  async #serve(rpcUrl: string): Promise<void> {
    const policyFile = join(this.#folder, "policy.json");
    writeFileSync(policyFile, JSON.stringify([{ address: TOKEN, selectors: ["0x095ea7b3"] }]));
    this.#process = new Process(
      [
        ...["serve", "--port", "0", "--rpc-url", rpcUrl, "--chain-id", String(CHAIN_ID)],
        ...["--allowed-targets", policyFile, "--data-dir", join(this.#folder, "data"), ...FLAGS],
      ],
      { GAS_WAIVER_KEYS: account(10).privateKey, GAS_WAIVER_API_KEYS: KEY },
    );
    const url = await this.#process.ready();
    if (url === undefined) throw new Error(`the service does not start: ${this.#process.output}`);
    this.#url = url;
    const [line = ""] = (await this.#post([transaction(new Random("a good client"))])).split("\n");
    this.#knownId = JSON.parse(line).id;
  }

  /** Sends a probe; what came back until the service closed the connection, or undefined if it never did. */
  send(probe: Probe): Promise<Buffer | undefined> {
    const { hostname, port } = new URL(this.#url);
    return new Promise((resolve) => {
      const parts: Buffer[] = [];
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const limit = setTimeout(() => {
        resolve(undefined);
        socket.destroy();
      }, PATIENCE_MS);
      socket.on("data", (part) => parts.push(part));
      socket.on("error", () => {});
      socket.once("close", () => {
        clearTimeout(limit);
        resolve(Buffer.concat(parts));
      });
      const pieces = withKnownId(probe, this.#knownId);
      const next = (): void => {
        const piece = pieces.shift();
        if (piece === undefined) socket.end();
        else socket.write(piece, () => setImmediate(next));
      };
      next();
    });
  }

  /** What is wrong with the service itself; undefined, if all is well. */
  get problem(): string | undefined {
    if (this.#process?.isOver) return `the service ended:\n${this.#process.output.slice(-4_000)}`;
    const logged = /^.*"level":(?:50|60).*$/m.exec(this.#process?.output ?? "")?.[0];
    return logged === undefined ? this.#goodProblem : `the service logged an error: ${logged}`;
  }

  async close(): Promise<void> {
    clearInterval(this.#asking);
    this.#process?.signal("SIGTERM");
    await this.#process?.ended;
    await this.#devnet?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #askWell(): Promise<void> {
    try {
      const lines = await this.#post(["0x"]);
      if (!lines.includes("EMPTY_TRANSACTION")) this.#goodProblem ??= `a good client was told ${lines}`;
    } catch (error) {
      this.#goodProblem ??= `a good client was not answered: ${error}`;
    }
  }

  async #post(transactions: readonly string[]): Promise<string> {
    const response = await fetch(`${this.#url}/v1/submit`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ transactions }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return await response.text();
  }
}
