import { type Hex, hashTransaction, parseInnerTx, recoverSender } from "@gas-waiver/protocol";
import { type Journal, parsed, readHead } from "../bulk/journal.js";
import { JournalError } from "../errors.js";
import { type Ending, Entry } from "./entry.js";
import { hashOf } from "./wrap.js";

/** The beginning of a journal: whose it is. */
export interface JournalHead {
  readonly chainId: number;
  readonly waiver: Hex;
}

/** The entries of a journal: those that have not ended, and those whose payments have names. */
export type JournalEntries = Map<Hex, Entry>;

const HEAD = { journal: "gas-waiver relay", version: 1 };

/**
 * A journal is a line of JSON about itself, then one for each event, the signed bytes before they are sent:
 *
 * ```
 * {"inner":"0x…","key":"…","searched":17}   an InnerTx was accepted; no block up to this one has it
 * {"hash":"0x…","nonce":"4","wrapper":"0x…"}   a wrapper was signed for it
 * {"hash":"0x…","ending":{…}}                  it has ended
 * ```
 */
export const accepted = ({ raw: inner, key, searched, openBelow }: Entry) =>
  JSON.stringify({
    ...{ inner, key, searched },
    ...(openBelow > 0n && { openBelow: openBelow.toString() }),
  });

export const signed = ({ hash }: Entry, nonce: bigint, wrapper: Hex) =>
  JSON.stringify({ hash, nonce: nonce.toString(), wrapper });

export const ended = ({ hash, ending }: Entry) => JSON.stringify({ hash, ending });

/**
 * Reads a journal, and begins it anew with what is still needed.
 * @throws JournalError for one of another chain or waiver, or one that is damaged.
 */
export async function openJournal(journal: Journal | undefined, head: JournalHead): Promise<JournalEntries> {
  const text = await journal?.read();
  const entries = text === undefined ? new Map<Hex, Entry>() : decode(text, head);
  // A relay that opened the journal before finds another one there, and writes nothing more.
  const lines = [JSON.stringify({ ...HEAD, ...head, opened: crypto.randomUUID() })];
  for (const entry of entries.values()) {
    lines.push(accepted(entry));
    if (entry.wrapper) lines.push(signed(entry, entry.wrapper.nonce, entry.wrapper.raw));
    if (entry.ending) lines.push(ended(entry));
  }
  await journal?.begin(lines.map((line) => `${line}\n`).join(""));
  return entries;
}

function decode(text: string, head: JournalHead): JournalEntries {
  const lines = text.split("\n");
  // A crash may have cut the last line short. Nothing was sent after it.
  lines.pop();
  const { chainId, waiver } = readHead(lines.shift(), HEAD, "a relay");
  if (chainId !== head.chainId || waiver !== head.waiver) {
    const named = `waiver ${String(waiver)} on chain ${String(chainId)}`;
    throw new JournalError(`the journal is of ${named}, and the relay of ${head.waiver} on ${head.chainId}`);
  }
  const entries: JournalEntries = new Map();
  for (const [i, line] of lines.entries()) {
    try {
      read(entries, Object(parsed(line)));
    } catch (cause) {
      throw new JournalError(`line ${i + 2} of the journal is damaged`, { cause });
    }
  }
  for (const [hash, { ending, key }] of entries) if (ending && key === undefined) entries.delete(hash);
  return entries;
}

interface Line {
  readonly inner?: string;
  readonly key?: string;
  readonly searched?: number;
  readonly openBelow?: string;
  readonly hash: Hex;
  readonly nonce: string;
  readonly wrapper?: Hex;
  readonly ending?: Ending;
}

function read(entries: JournalEntries, line: Line): void {
  if (line.inner !== undefined) {
    const tx = parseInnerTx(line.inner);
    const entry = new Entry({ tx, hash: hashTransaction(tx), sender: recoverSender(tx) }, line.key);
    entry.isJournaled = true;
    entry.searched = line.searched;
    entry.openBelow = BigInt(line.openBelow ?? 0);
    entries.set(entry.hash, entry);
    return;
  }
  const entry = entries.get(line.hash);
  if (entry === undefined) throw new Error("the line is about no transaction before it");
  if (line.ending) {
    entry.end(line.ending);
    entry.tell();
    return;
  }
  if (line.wrapper === undefined) throw new Error("the line tells nothing");
  // A crash may have come before it was sent, or after it.
  entry.withdraw(true);
  const wrapper = { nonce: BigInt(line.nonce), raw: line.wrapper, hash: hashOf(line.wrapper) };
  entry.wrapper = { ...wrapper, asked: 1, strikes: 0 };
}
