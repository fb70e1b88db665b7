import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { ChildProgram, GAS_WAIVER } from "../support/childProgram.js";
import { SeededRandom } from "../support/seededRandom.js";
import { account, CHAIN_ID, TOKEN } from "../support/user.js";
import { KEY, type Probe, withKnownId } from "./probe.js";
import { transaction } from "./values.js";

/** Longer than all time-outs of the service in this test. */
const TIMEOUT_MS = 15_000;
const CLIENT_INTERVAL_MS = 200;
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

/** A service in a process of its own, on a devnet, with a well-behaved client beside the probes. */
export class Target {
  readonly #folder = mkdtempSync(join(tmpdir(), "gas-waiver-fuzz-"));
  #devnet: Devnet | undefined;
  #program: ChildProgram | undefined;
  #url = "";
  #knownId = "";
  #client: NodeJS.Timeout | undefined;
  #clientProblem: string | undefined;

  static async start(): Promise<Target> {
    const target = new Target();
    try {
      target.#devnet = await createDevnet({ blockTimeMs: 100 });
      await target.#serve((await target.#devnet.listen({ port: 0 })).url);
    } catch (error) {
      await target.close();
      throw error;
    }
    target.#client = setInterval(() => void target.#checkClient(), CLIENT_INTERVAL_MS);
    return target;
  }

  async #serve(rpcUrl: string): Promise<void> {
    const policyFile = join(this.#folder, "policy.json");
    writeFileSync(policyFile, JSON.stringify([{ address: TOKEN, selectors: ["0x095ea7b3"] }]));
    this.#program = new ChildProgram(
      [
        ...[GAS_WAIVER, "serve", "--port", "0", "--rpc-url", rpcUrl, "--chain-id", String(CHAIN_ID)],
        ...["--allowed-targets", policyFile, "--data-dir", join(this.#folder, "data"), ...FLAGS],
      ],
      { env: { GAS_WAIVER_KEYS: account(10).privateKey, GAS_WAIVER_API_KEYS: KEY } },
    );
    this.#url = (await this.#program.ready()).url;
    const [line = ""] = (await this.#post([transaction(new SeededRandom("a good client"))])).split("\n");
    this.#knownId = JSON.parse(line).id;
  }

  /** Sends a probe. Resolves with the answer's bytes when the service closes the connection; undefined if it never does. */
  send(probe: Probe): Promise<Buffer | undefined> {
    const { hostname, port } = new URL(this.#url);
    return new Promise((resolve) => {
      const parts: Buffer[] = [];
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const timer = setTimeout(() => {
        resolve(undefined);
        socket.destroy();
      }, TIMEOUT_MS);
      socket.on("data", (part) => parts.push(part));
      socket.on("error", () => {});
      socket.once("close", () => {
        clearTimeout(timer);
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

  /** The problem of the service or of its well-behaved client; undefined if there is none. */
  get problem(): string | undefined {
    if (this.#program?.hasEnded) return `the service ended:\n${this.#program.output.slice(-4_000)}`;
    const logged = /^.*"level":(?:50|60).*$/m.exec(this.#program?.output ?? "")?.[0];
    return logged === undefined ? this.#clientProblem : `the service logged an error: ${logged}`;
  }

  async close(): Promise<void> {
    clearInterval(this.#client);
    this.#program?.signal("SIGTERM");
    await this.#program?.ended;
    await this.#devnet?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #checkClient(): Promise<void> {
    try {
      const lines = await this.#post(["0x"]);
      if (!lines.includes("EMPTY_TRANSACTION"))
        this.#clientProblem ??= `a well-behaved client received ${lines}`;
    } catch (error) {
      this.#clientProblem ??= `a well-behaved client had no answer: ${error}`;
    }
  }

  async #post(transactions: readonly string[]): Promise<string> {
    const response = await fetch(`${this.#url}/v1/submit`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ transactions }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return await response.text();
  }
}
