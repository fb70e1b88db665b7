import { encodeResultLine, parseResultLine, type ResultLine } from "@gas-waiver/protocol/wire";
import { JournalError } from "../errors.js";

/**
 * A place for the journal of {@link submitAll}: its signed bytes before anything is sent, then the outcomes. `fileJournal` of
 * `@gas-waiver/client/node` is a file.
 */
export interface Journal {
  /** Returns the whole text; undefined if the journal was never begun. */
  read(): Promise<string | undefined>;
  /**
   * Begins the journal with this text: durably, and wholly or not at all. It throws where another program has begun the journal
   * since `read`, since both have signed and both could pay.
   */
  begin(text: string): Promise<void>;
  /** Appends whole lines. They are durable when the promise resolves. */
  append(lines: string): Promise<void>;
}

/** The chain of a journal. */
export interface JournalChain {
  readonly chainId: number;
  /** The hash of the first block, which tells chains of one id apart; undefined if the service does not tell it. */
  readonly genesisHash?: string | undefined;
}

/** The content of a journal. */
export interface JournalContent extends JournalChain {
  readonly transactions: readonly string[];
  /** The final outcomes, by the position of the transaction. */
  readonly outcomes: ReadonlyMap<number, ResultLine>;
  /** A crash has cut the last line short. */
  readonly isTorn: boolean;
}

const HEAD = { journal: "gas-waiver submit", version: 1 };

/** Writes the beginning of a journal: a line about it, then each transaction as a JSON string. */
export async function encodeJournal(
  { chainId, genesisHash }: JournalChain,
  transactions: readonly string[],
): Promise<string> {
  const sha256 = await digestOf(transactions);
  const head = { ...HEAD, chainId, genesisHash, transactions: transactions.length, sha256 };
  return [head, ...transactions].map((line) => `${JSON.stringify(line)}\n`).join("");
}

/**
 * Reads a journal.
 *
 * The signed bytes must all be as they were written, or another transaction could be sent. A line of an outcome that cannot
 * be read counts as absent: its transaction is sent again, and is the same submission (D18).
 * @throws JournalError
 */
export async function decodeJournal(text: string): Promise<JournalContent> {
  const lines = text.split("\n");
  const isTorn = lines.pop() !== "";
  const { chainId, genesisHash, transactions: count, sha256 } = readHead(lines[0], HEAD, "submitAll");
  const transactions = lines.slice(1, count + 1).map((line) => parsed(line));
  const isWhole = transactions.length === count && transactions.every((one) => typeof one === "string");
  if (!isWhole || (await digestOf(transactions as string[])) !== sha256) {
    throw new JournalError("the journal is damaged: its transactions are not those that were written");
  }
  const outcomes = new Map<number, ResultLine>();
  for (const line of lines.slice(count + 1)) {
    const outcome = outcomeOf(line);
    if (outcome && outcome.index < count && !outcomes.get(outcome.index)?.success) {
      outcomes.set(outcome.index, outcome);
    }
  }
  return { chainId, genesisHash, transactions: transactions as string[], outcomes, isTorn };
}

/**
 * Reads the first line of a journal.
 * @throws JournalError if it does not begin as `kind`, or is of another version.
 */
export function readHead(line: string | undefined, { journal, version }: typeof HEAD, ofWhat: string) {
  const head = Object(parsed(line ?? ""));
  if (head.journal !== journal)
    throw new JournalError(`this is not a journal of ${ofWhat}, or its first line is damaged`);
  if (head.version === version) return head;
  throw new JournalError(
    `the journal has version ${String(head.version)}, and this program reads ${version}`,
  );
}

export function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function outcomeOf(line: string): ResultLine | undefined {
  try {
    return parseResultLine(JSON.parse(line));
  } catch {
    return undefined;
  }
}

async function digestOf(transactions: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(transactions.join("\n"));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export type OutcomeLog = ReturnType<typeof createOutcomeLog>;

/**
 * Appends outcomes to a journal. Those that come while it writes share the next write.
 * The `index` of an outcome counts all transactions of the journal.
 * @param isTorn ends the line that a crash has cut short, so that the next one stands alone.
 */
export function createOutcomeLog(journal: Journal | undefined, isTorn: boolean) {
  let waiting = isTorn ? "\n" : "";
  let writing: Promise<void> | undefined;
  const write = async (to: Journal) => {
    while (waiting !== "") {
      const lines = waiting;
      waiting = "";
      await to.append(lines);
    }
    writing = undefined;
  };
  return {
    add(line: ResultLine): void {
      if (journal === undefined) return;
      waiting += `${encodeResultLine(line)}\n`;
      writing ??= write(journal);
      // `flush` throws the error. Until then it must not count as unhandled.
      writing.catch(() => undefined);
    },
    /** Resolves when all outcomes are durable. @throws the error of the journal. */
    flush: async () => await writing,
  };
}
