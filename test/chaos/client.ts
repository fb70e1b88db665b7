import type { Hex, ResultLine } from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import type { Environment } from "./environment.js";

export type Wait = "broadcast" | "included";

/** A result line that a client has received. */
export interface ReceivedLine {
  readonly line: ResultLine;
  readonly wait: Wait;
  /** The count of requests with this transaction when the line came. */
  readonly sends: number;
}

/** A signed InnerTx, with all that its client knows of it. */
export interface Tx {
  readonly raw: Hex;
  readonly hash: Hex;
  readonly sender: Hex;
  readonly nonce: number;
  /** The chain's head at each request with this transaction; it may lag a little. */
  readonly sentAt: number[];
  readonly received: ReceivedLine[];
}

/** A request that its client sends several times with one Idempotency-Key (D18), and the lines of all answers. */
export interface KeyedRequest {
  readonly name: string;
  readonly key: string;
  readonly txs: readonly Tx[];
  readonly lines: ResultLine[];
}

/** The replicas that a client sends to, and its keys. */
export type SendTarget = Pick<Environment, "apiKeys" | "head"> & {
  readonly replicas: readonly { readonly url: string | undefined }[];
};

/** Time that a client waits for the end of an answer. */
const TIMEOUT_MS = 8_000;

/** Counts of answers by HTTP status; `broken` counts requests without an answer, or with half of one. */
export type Answers = Record<string, number>;

/**
 * Sends transactions to a random replica and records each line as it comes. It never throws: failures are counted in
 * `answers`. Requests have different API keys, between which the replicas must share their capacity.
 */
export async function send(
  environment: SendTarget,
  random: SeededRandom,
  txs: readonly Tx[],
  {
    wait,
    answers,
    leaveAfterMs,
    keyed,
  }: { wait: Wait; answers: Answers; leaveAfterMs?: number; keyed?: KeyedRequest },
): Promise<void> {
  const serving = environment.replicas.filter(({ url }) => url !== undefined);
  const key = keyed?.key ?? random.pick(environment.apiKeys);
  if (serving.length === 0) return;
  const { url } = random.pick(serving);
  for (const tx of txs) tx.sentAt.push(environment.head);
  const count = (name: string) => {
    answers[name] = (answers[name] ?? 0) + 1;
  };
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), leaveAfterMs ?? TIMEOUT_MS);
  try {
    const response = await fetch(`${url}/v1/submit?wait=${wait}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(keyed && { "idempotency-key": keyed.name }),
      },
      body: JSON.stringify({ transactions: txs.map(({ raw }) => raw) }),
      signal: timeout.signal,
    });
    if (response.status !== 200) await response.text();
    else {
      await readLines(response, (line) => {
        recordLine(txs, line, wait);
        keyed?.lines.push(line);
      });
    }
    count(String(response.status));
  } catch {
    count("broken");
  } finally {
    clearTimeout(timer);
  }
}

function recordLine(txs: readonly Tx[], line: ResultLine, wait: Wait): void {
  const tx = txs[line.index];
  tx?.received.push({ line, wait, sends: tx.sentAt.length });
}

async function readLines(response: Response, take: (line: ResultLine) => void): Promise<void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(JSON.parse(line) as ResultLine);
  }
}

/** The service's records of these submissions; undefined for an unknown one. */
export async function fetchRecords(
  environment: Environment,
  ids: readonly string[],
): Promise<Map<string, { readonly state: string } | undefined>> {
  const records = new Map<string, { readonly state: string } | undefined>();
  const remaining = [...ids];
  const work = async () => {
    for (let id = remaining.pop(); id !== undefined; id = remaining.pop())
      records.set(id, await fetchRecord(environment, id));
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return records;
}

/** A key sees only its own submissions, so this asks with each key. */
async function fetchRecord(
  environment: Environment,
  id: string,
): Promise<{ readonly state: string } | undefined> {
  const url = environment.replicas.find((replica) => replica.url !== undefined)?.url;
  for (const key of environment.apiKeys) {
    const response = await fetch(`${url}/v1/submissions/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const body = await response.text();
    if (response.status === 200) return JSON.parse(body);
    if (response.status !== 404)
      throw new Error(`the record of ${id} could not be read from ${url}: ${response.status} ${body}`);
  }
  return undefined;
}
