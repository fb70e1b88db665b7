import { RLP } from "@ethereumjs/rlp";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { WorldState } from "../state/world.js";
import type { SealedBlock } from "./block.js";
import type { Journal } from "./journal.js";
import type { Ledger } from "./ledger.js";

/**
 * Brings back what a journal kept, after genesis: state changes are applied, not executed again, and each
 * block's state root, number and parent are held against its header.
 * @throws {@link KeptChainError} for the first block that does not fit.
 */
export function restore(journal: Journal, ledger: Ledger, world: WorldState): void {
  for (const entry of journal.entries()) {
    if (entry.kind === "patch") {
      world.patch(entry.changes);
      continue;
    }
    const { block } = entry;
    const { number, hash } = ledger.head;
    const root = world.apply(entry.changes);
    const { parentHash, stateRoot } = rootsOf(block);
    if (block.number !== number + 1) throw new KeptChainError(block.number, `comes after block ${number}`);
    if (parentHash !== hash)
      throw new KeptChainError(block.number, `has the parent ${parentHash}, not ${hash}`);
    if (stateRoot !== root)
      throw new KeptChainError(block.number, `gives the state root ${root}, not ${stateRoot}`);
    ledger.append(block);
  }
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
