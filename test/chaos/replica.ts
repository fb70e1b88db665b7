import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex } from "@gas-waiver/protocol";
import { Process } from "./process.js";
import type { TcpGate } from "./tcpGate.js";

export interface ReplicaPlace {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly policyFile: string;
  /** Who says what may be sent: the file, or the file and the chain's registry. */
  readonly policySource: "config" | "both";
  readonly apiKeys: readonly string[];
}

const RESTART_MS = 300;
/** Limits that are not what is tested are out of the way, and waiting ends soon enough to be seen. */
const FLAGS = [
  ...["--rate", "100000", "--rate-burst", "100000"],
  ...["--request-timeout", "4000", "--nonce-gap-timeout", "3000", "--log-level", "info"],
];

/** One `gas-waiver serve` that is started again whenever it ends, as an operator's supervisor would. */
export class Replica {
  readonly name: string;
  /** Its way to the chain's node. */
  readonly gate: TcpGate;
  /** Ends that nobody asked for after it was ready, with what it wrote: a fault of the service. */
  readonly crashes: string[] = [];
  readonly #place: ReplicaPlace;
  readonly #keyFile: string;
  #keys: readonly Uint8Array[];
  #process: Process | undefined;
  #url: string | undefined;
  #wanted = false;
  #killing = false;
  #log = "";
  #ready: Promise<void> = Promise.resolve();

  constructor(name: string, gate: TcpGate, place: ReplicaPlace, keys: readonly Uint8Array[]) {
    this.name = name;
    this.gate = gate;
    this.#place = place;
    this.#keys = keys;
    this.#keyFile = join(place.folder, `${name}.keys`);
    this.#writeKeys();
  }

  /** Where it serves; undefined while it does not. */
  get url(): string | undefined {
    return this.#url;
  }

  get keys(): readonly Uint8Array[] {
    return this.#keys;
  }

  /** What all its lives wrote. */
  get log(): string {
    return this.#log + (this.#process?.output ?? "");
  }

  /** Starts it, again and again until it is ready. */
  start(): Promise<void> {
    this.#wanted = true;
    this.#ready = this.#run();
    return this.#ready;
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  /** Ends it without a chance to tidy up; it stays away until it is started. */
  async kill(): Promise<void> {
    this.#wanted = false;
    this.#url = undefined;
    this.#killing = true;
    await this.#process?.kill();
    this.#killing = false;
  }

  freeze(): void {
    this.#process?.signal("SIGSTOP");
  }

  thaw(): void {
    this.#process?.signal("SIGCONT");
  }

  /** Gives it other waiver keys: at once if it runs, else from its next start on. */
  setKeys(keys: readonly Uint8Array[]): void {
    this.#keys = keys;
    this.#writeKeys();
    if (this.#url !== undefined) this.#process?.signal("SIGHUP");
  }

  #writeKeys(): void {
    writeFileSync(this.#keyFile, this.#keys.map((key) => `${bytesToHex(key)}\n`).join(""));
  }

  async #run(): Promise<void> {
    while (this.#wanted) {
      const { databaseUrl, policyFile, policySource, apiKeys } = this.#place;
      this.#log += this.#process?.output ?? "";
      const process = new Process(
        [
          ...["serve", "--port", "0", "--rpc-url", this.gate.url, "--chain-id", "2201"],
          ...["--allowed-targets", policyFile, "--policy-source", policySource],
          ...["--waiver-key-file", this.#keyFile, ...FLAGS],
        ],
        { DATABASE_URL: databaseUrl, GAS_WAIVER_API_KEYS: apiKeys.join(",") },
      );
      this.#process = process;
      const url = await process.ready();
      if (url !== undefined && this.#wanted) {
        this.#url = url;
        process.ended.then((how) => this.#fell(process, how));
        return;
      }
      // A start that fails, as while the database is away, is tried again.
      await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
    }
  }

  #fell(process: Process, how: string): void {
    if (this.#process !== process || this.#killing || !this.#wanted) return;
    this.#url = undefined;
    this.crashes.push(`${this.name} ended by itself (${how}):\n${process.output.slice(-2_000)}`);
    this.#ready = this.#run();
  }
}
