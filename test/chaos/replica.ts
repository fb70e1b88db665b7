import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex } from "@gas-waiver/protocol";
import { ChildProgram, GAS_WAIVER } from "../support/childProgram.js";
import type { Ending } from "../support/runningProgram.js";
import { NONCE_GAP_MS } from "./needlessFailure.js";
import type { TcpProxy } from "./tcpProxy.js";

/** The inputs of a replica besides its own keys and proxy. */
export interface ReplicaInputs {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly policyFile: string;
  /** The source of the policy: the file, or the file and the chain's registry. */
  readonly policySource: "config" | "both";
  readonly apiKeys: readonly string[];
  /** A node for when the first one fails. */
  readonly spareUrl: string | undefined;
  /** Flags in addition to those of every replica, some of which they may replace. */
  readonly flags: readonly string[];
}

const RESTART_MS = 300;
/** High rates, since the run does not test them; short times, so that rounds see their ends. */
const FLAGS = [
  ...["--rate", "100000", "--rate-burst", "100000"],
  ...["--request-timeout", "4000", "--nonce-gap-timeout", String(NONCE_GAP_MS), "--resend-after", "2000"],
  ...["--log-level", "info"],
];

/** The flags of every replica, except those that the given ones replace: a flag may occur once only. */
function withFlags(replacements: readonly string[]): string[] {
  const defaults = FLAGS.filter((_, i) => !replacements.includes(FLAGS[i - (i % 2)] ?? ""));
  return [...defaults, ...replacements];
}

/** A `gas-waiver serve` that restarts whenever it ends, as under an operator's supervisor. */
export class Replica {
  readonly name: string;
  /** The proxy between this replica and the chain's node. */
  readonly proxy: TcpProxy;
  /** One text for each time that the ready service ended by itself, with the end of its output. */
  readonly crashes: string[] = [];
  readonly #inputs: ReplicaInputs;
  readonly #keyFile: string;
  #keys: readonly Uint8Array[];
  #program: ChildProgram | undefined;
  #url: string | undefined;
  #shouldRun = false;
  #killing = false;
  #log = "";
  #ready: Promise<void> = Promise.resolve();

  constructor(name: string, proxy: TcpProxy, inputs: ReplicaInputs, keys: readonly Uint8Array[]) {
    this.name = name;
    this.proxy = proxy;
    this.#inputs = inputs;
    this.#keys = keys;
    this.#keyFile = join(inputs.folder, `${name}.keys`);
    this.#writeKeys();
  }

  /** The service's URL; undefined while it is not ready. */
  get url(): string | undefined {
    return this.#url;
  }

  get keys(): readonly Uint8Array[] {
    return this.#keys;
  }

  /** The output of all its processes. */
  get log(): string {
    return this.#log + (this.#program?.output ?? "");
  }

  /** Starts it, repeatedly until it is ready. */
  start(): Promise<void> {
    this.#shouldRun = true;
    this.#ready = this.#run();
    return this.#ready;
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  /** Kills it with SIGKILL. It stays down until `start`. */
  async kill(): Promise<void> {
    this.#shouldRun = false;
    this.#url = undefined;
    this.#killing = true;
    await this.#program?.end("SIGKILL");
    this.#killing = false;
  }

  freeze(): void {
    this.#program?.signal("SIGSTOP");
  }

  thaw(): void {
    this.#program?.signal("SIGCONT");
  }

  /** Replaces its waiver keys: at once if it runs, otherwise at its next start. */
  setKeys(keys: readonly Uint8Array[]): void {
    this.#keys = keys;
    this.#writeKeys();
    if (this.#url !== undefined) this.#program?.signal("SIGHUP");
  }

  #writeKeys(): void {
    writeFileSync(this.#keyFile, this.#keys.map((key) => `${bytesToHex(key)}\n`).join(""), { mode: 0o600 });
  }

  async #run(): Promise<void> {
    while (this.#shouldRun) {
      const { databaseUrl, policyFile, policySource, apiKeys, spareUrl, flags } = this.#inputs;
      const rpcUrls = [this.proxy.url, ...(spareUrl === undefined ? [] : [spareUrl])].join(",");
      this.#log += this.#program?.output ?? "";
      const program = new ChildProgram(
        [
          ...[GAS_WAIVER, "serve", "--port", "0", "--rpc-url", rpcUrls, "--chain-id", "2201"],
          ...["--allowed-targets", policyFile, "--policy-source", policySource],
          ...["--waiver-key-file", this.#keyFile, ...withFlags(flags)],
        ],
        { env: { DATABASE_URL: databaseUrl, GAS_WAIVER_API_KEYS: apiKeys.join(",") } },
      );
      this.#program = program;
      const url = await program.ready().then(
        (ready) => ready.url,
        () => undefined,
      );
      if (url !== undefined && this.#shouldRun) {
        this.#url = url;
        program.ended.then((ending) => this.#restart(program, ending));
        return;
      }
      // The start fails while the database is down, for instance.
      await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
    }
  }

  #restart(program: ChildProgram, { status, signal }: Ending): void {
    if (this.#program !== program || this.#killing || !this.#shouldRun) return;
    this.#url = undefined;
    this.crashes.push(
      `${this.name} ended by itself (${signal ?? `status ${status}`}):\n${program.output.slice(-2_000)}`,
    );
    this.#ready = this.#run();
  }
}
