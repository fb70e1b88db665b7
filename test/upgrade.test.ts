// Replicas that are replaced by those of the next version, one after the other, while clients of the SDK work.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, createWaiverClient, type ResultLine } from "@gas-waiver/client";
import { Wallet } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Pool } from "../packages/server/src/store/database/database.js";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import { Balancer } from "./support/balancer.js";
import { freshFolder } from "./support/freshFolder.js";
import { nextVersion } from "./support/nextVersion.js";
import type { Program } from "./support/program.js";
import { proxiedChain } from "./support/proxiedChain.js";
import { startServiceProcess } from "./support/service.js";
import { API_KEY, account, transferOf } from "./support/user.js";

/** A change of the tables that every submission writes to, as a version may bring it. */
const MIGRATION = `
alter table unfinished add column remark text;
-- then
alter table finished add column remark text;
-- then
create index unfinished_remark on unfinished (remark);
`;
/** The time for which a replica serves after SIGTERM: the balancer needs some 50 ms to notice. */
const SHUTDOWN_DELAY_MS = 300;
/** The pause of a client between its requests, which bounds the load. */
const PAUSE_MS = 40;

const started = proxiedChain();
const databases = useTestPostgres();
const balancer = new Balancer();
beforeAll(() => balancer.open());
afterAll(() => balancer.close());

type Submit = (transactions: readonly string[]) => AsyncIterable<ResultLine>;

/** A user who submits batches one after the other, and keeps all lines that come. */
class Client {
  readonly sender = Wallet.createRandom();
  /** The lines of each batch that is complete. */
  readonly batches: ResultLine[][] = [];
  readonly done: Promise<void>;
  nonce = 0;
  #onBatch = () => {};

  constructor(submit: Submit, ending: AbortSignal) {
    this.done = this.#work(submit, ending);
  }

  /** Resolves when so many more batches are complete, or the client has failed. */
  async progress(batches: number): Promise<void> {
    const until = this.batches.length + batches;
    while (this.batches.length < until) {
      await Promise.race([this.done, new Promise<void>((resolve) => (this.#onBatch = resolve))]);
    }
  }

  async #work(submit: Submit, ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      const transfers = [0, 1].map(() => transferOf(account(7).address, 0n, this.nonce++));
      const batch = await Promise.all(transfers.map((transfer) => this.sender.signTransaction(transfer)));
      const lines: ResultLine[] = [];
      for await (const line of submit(batch)) lines.push(line);
      this.batches.push(lines);
      this.#onBatch();
      await sleep(PAUSE_MS);
    }
  }
}

/** Clients over HTTP, with and without an idempotency key, and over a WebSocket, for both stages of a line. */
function startClients(url: string, ending: AbortSignal): { clients: Client[]; close(): void } {
  const http = createWaiverClient({ url, apiKey: API_KEY });
  const socket = connect({ url, apiKey: API_KEY, WebSocket });
  // An idle connection may be closed while a request is on its way to it.
  const retry = { attempts: 5 };
  const submits: Submit[] = [
    (batch) => http.submit(batch, { retry, idempotencyKey: randomUUID() }),
    (batch) => http.submit(batch, { retry, wait: "included" }),
    (batch) => socket.submit(batch),
    (batch) => socket.submit(batch, { wait: "included" }),
  ];
  return {
    clients: submits.map((submit) => new Client(submit, ending)),
    close: () => socket.close(),
  };
}

describe("two replicas that are replaced one after the other by those of a version with a migration", () => {
  it("lose no line of a client of the SDK, fail no request, and execute each transaction once", async () => {
    const { proxy, chain } = started();
    const databaseUrl = await databases.createDatabase();
    const keyFile = join(freshFolder(), "waiver.keys");
    writeFileSync(keyFile, [10, 11].map((i) => `${account(i).privateKey}\n`).join(""), { mode: 0o600 });
    const next = nextVersion(MIGRATION);
    const flags = ["--metrics-port", "0", "--shutdown-delay", String(SHUTDOWN_DELAY_MS)];
    const startReplica = async (script?: string): Promise<Program> => {
      const program = startServiceProcess({ rpcUrl: proxy.url, databaseUrl, keyFile, flags }, script);
      const [, probes] = await program.line(/^metrics at (\S+)\/metrics/);
      await balancer.add((await program.ready()).url, `${probes}/readyz`, program.ended);
      return program;
    };
    const olds = await Promise.all([startReplica(), startReplica()]);

    const ending = new AbortController();
    const { clients, close } = startClients(balancer.url, ending.signal);
    const everybodyProgresses = () => Promise.all(clients.map((client) => client.progress(2)));
    await everybodyProgresses();
    const replacements: Program[] = [];
    for (const old of olds) {
      expect(await old.end()).toEqual({ status: 0, signal: null });
      await everybodyProgresses();
      replacements.push(await startReplica(next));
      await everybodyProgresses();
    }
    ending.abort();
    await Promise.all(clients.map(({ done }) => done));
    close();

    for (const { batches, sender, nonce } of clients) {
      for (const batch of batches) {
        const outcomes = batch.map((line) => `${line.index} ${line.success || line.error.message}`).sort();
        expect(outcomes).toEqual(["0 true", "1 true"]);
      }
      expect(await chain.getTransactionCount(sender.address)).toBe(nonce);
    }
    const pool = new Pool({ connectionString: databaseUrl, maxConnections: 1 });
    expect((await pool.query("select remark from finished limit 1")).rowCount).toBe(1);
    await pool.end();
    const endings = await Promise.all(replacements.map((replica) => replica.end()));
    expect(endings).toEqual(Array(2).fill({ status: 0, signal: null }));
  }, 180_000);
});
