import { RLP } from "@ethereumjs/rlp";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { WorldState } from "../state/world.js";
import type { Journal } from "./journal.js";
import type { Ledger } from "./ledger.js";

/**
 * Brings back what a journal kept, after genesis: state changes are applied, not executed again. Each block has
 * to name the one before it as its parent, and the states between which nothing but blocks came have to give the
 * state root of the last block's header, which commits to every change before it.
 *
 * One root at the end rather than one for each block: over 5,000 blocks of four wrapped transfers this takes
 * 1 s of CPU time, with a root for each 3 s, and executing them again 16 s.
 * @throws {@link KeptChainError} for the first block that does not fit.
 */
export function restore(journal: Journal, ledger: Ledger, world: WorldState): void {
  let rooted = true;
  for (const entry of journal.entries()) {
    if (entry.kind === "patch") {
      // The next root will have the patch in it, so that of the blocks before it has to be looked at here.
      if (!rooted) assertRoot(ledger.head, world);
      rooted = true;
      world.patch(entry.changes);
    } else {
      assertFollows(entry.block, ledger.head);
      world.applyUnrooted(entry.changes);
      ledger.append(entry.block, entry.hashes);
      rooted = false;
    }
  }
  if (!rooted) assertRoot(ledger.head, world);
}

function assertFollows(block: SealedBlock, { number, hash }: SealedBlock): void {
  if (block.number !== number + 1) throw new KeptChainError(block.number, `comes after block ${number}`);
  const { parentHash } = rootsOf(block);
  if (parentHash === hash) return;
  throw new KeptChainError(block.number, `has the parent ${parentHash}, not ${hash}`);
}

function assertRoot(head: SealedBlock, world: WorldState): void {
  const [root, { stateRoot }] = [world.root(), rootsOf(head)];
  if (stateRoot === root) return;
  throw new KeptChainError(
    head.number,
    `has the state root ${stateRoot}, and the changes up to it give ${root}`,
  );
}

/** Two fields of a header, without building the rest of it: a long chain has many. */
function rootsOf({ headerBytes }: SealedBlock): { readonly parentHash: Hex; readonly stateRoot: Hex } {
  const [parentHash, , , stateRoot] = RLP.decode(headerBytes) as Uint8Array[];
  return { parentHash: toHex(parentHash), stateRoot: toHex(stateRoot) };
}

function toHex(field: Uint8Array | undefined): Hex {
  return field === undefined ? "0x" : bytesToHex(field);
}

/** What was kept is not a chain: it was changed by somebody, or by another version of this program. */
export class KeptChainError extends Error {
  override readonly name = "KeptChainError";

  constructor(
    readonly block: number,
    problem: string,
  ) {
    super(`block ${block} ${problem}`);
  }
}
