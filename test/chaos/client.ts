import type { Hex, ResultLine } from "@gas-waiver/protocol";
import type { Random } from "./random.js";
import type { World } from "./world.js";

export type Wait = "broadcast" | "included";

/** What a client was told, and when it had asked. */
export interface Told {
  readonly line: ResultLine;
  readonly wait: Wait;
  /** How many times the bytes had been sent when the line came. */
  readonly sends: number;
}

/** One signed InnerTx in its client's book. */
export interface Tx {
  readonly raw: Hex;
  readonly hash: Hex;
  readonly sender: Hex;
  readonly nonce: number;
  /** The chain's head, or a little less, each time the bytes were sent. */
  readonly sentAt: number[];
  readonly told: Told[];
}

/** A request that its client sends several times under a name (D18), and the lines that it got each time. */
export interface Named {
  readonly name: string;
  readonly key: string;
  readonly txs: readonly Tx[];
  readonly lines: ResultLine[];
}

/** How long a client waits for a replica that says nothing. */
const PATIENCE_MS = 8_000;

/** What was answered to requests as a whole, by status; `broken` for no answer or half of one. */
export type Answers = Record<string, number>;

/**
 * Sends transactions to some replica and notes every line as it comes. Never throws: what a request comes to is in
 * the book. Each submitter has a key, so that the replicas have customers to be fair to.
 */
export async function send(
  world: World,
  random: Random,
  txs: readonly Tx[],
  {
    wait,
    answers,
    leaveAfterMs,
    named,
  }: { wait: Wait; answers: Answers; leaveAfterMs?: number; named?: Named },
): Promise<void> {
  const serving = world.replicas.filter(({ url }) => url !== undefined);
  const key = named?.key ?? random.pick(world.apiKeys);
  if (serving.length === 0) return;
  const { url } = random.pick(serving);
  for (const tx of txs) tx.sentAt.push(world.head);
  const count = (name: string) => {
    answers[name] = (answers[name] ?? 0) + 1;
  };
  const gone = new AbortController();
  const timer = setTimeout(() => gone.abort(), leaveAfterMs ?? PATIENCE_MS);
  try {
    const response = await fetch(`${url}/v1/submit?wait=${wait}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(named && { "idempotency-key": named.name }),
      },
      body: JSON.stringify({ transactions: txs.map(({ raw }) => raw) }),
      signal: gone.signal,
    });
    if (response.status !== 200) await response.text();
    else {
      await readLines(response, (line) => {
        note(txs, line, wait);
        named?.lines.push(line);
      });
    }
    count(String(response.status));
  } catch {
    count("broken");
  } finally {
    clearTimeout(timer);
  }
}

function note(txs: readonly Tx[], line: ResultLine, wait: Wait): void {
  const tx = txs[line.index];
  tx?.told.push({ line, wait, sends: tx.sentAt.length });
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

/** The records of these submissions as the service tells them; undefined where it knows none. */
export async function fetchRecords(
  world: World,
  ids: readonly string[],
): Promise<Map<string, { readonly state: string } | undefined>> {
  const records = new Map<string, { readonly state: string } | undefined>();
  const left = [...ids];
  const work = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop())
      records.set(id, await fetchRecord(world, id));
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return records;
}

/** A key sees only its own submissions, so both are asked. */
async function fetchRecord(world: World, id: string): Promise<{ readonly state: string } | undefined> {
  const url = world.replicas.find((replica) => replica.url !== undefined)?.url;
  for (const key of world.apiKeys) {
    const response = await fetch(`${url}/v1/submissions/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const body = (await response.json()) as { state: string };
    if (response.status === 200) return body;
    if (response.status !== 404) throw new Error(`the record of ${id} cannot be had: ${response.status}`);
  }
  return undefined;
}
