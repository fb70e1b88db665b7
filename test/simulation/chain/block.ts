import { bytesToHex, type Hex, MARKER_ADDRESS } from "@gas-waiver/protocol";
import type { SignedAuthorization } from "./authorization.js";
import { hashOfText, type Wrapper } from "./wrapper.js";

/** A transaction of a block, as nodes show it. */
export interface BlockTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly nonce: bigint;
  readonly to: Hex;
  readonly input: Hex;
  readonly authorizationList?: readonly SignedAuthorization["shown"][];
}

/** A transaction of a block's content that uses up a nonce. */
export interface Other {
  readonly from: Hex;
  readonly hash: Hex;
  readonly authorization?: SignedAuthorization | undefined;
}

/** A block with the state after it. Blocks never change, so each node and each fork may hold its own. */
export interface Block {
  readonly number: number;
  readonly hash: Hex;
  readonly parent: Block | undefined;
  /** In seconds. */
  readonly timestamp: number;
  /** A wrapper stands directly before its InnerTx (D10). */
  readonly transactions: readonly BlockTransaction[];
  readonly wrappers: readonly Wrapper[];
  /** The next nonce of each account that ever sent a transaction. */
  readonly nonces: ReadonlyMap<Hex, bigint>;
  /** The registered waivers, with the version of their policy. */
  readonly policies: ReadonlyMap<Hex, number>;
}

/** The content of a new block: transactions that use up a nonce each, and then wrappers. */
export interface BlockContent {
  readonly others: readonly Other[];
  readonly wrappers: readonly Wrapper[];
  /** In seconds. */
  readonly timestamp: number;
  /** The waivers that are registered after it; by default those before. */
  readonly waivers?: ReadonlySet<Hex>;
  /** Tells blocks of different forks at one height apart. */
  readonly salt: string;
}

const MARKER = bytesToHex(MARKER_ADDRESS);

/** Makes the first block, in which these waivers are registered. */
export function genesisBlock(timestamp: number, waivers: readonly Hex[]): Block {
  return {
    ...{ number: 0, hash: hashOfText("genesis"), parent: undefined, timestamp },
    ...{ transactions: [], wrappers: [], nonces: new Map() },
    policies: new Map(waivers.map((waiver) => [waiver, 1])),
  };
}

/** The policies after a block in which these waivers are registered. Each change gives a version of its own. */
function policiesAfter({ policies, number }: Block, waivers: ReadonlySet<Hex>): ReadonlyMap<Hex, number> {
  const isSame = policies.size === waivers.size && [...waivers].every((waiver) => policies.has(waiver));
  if (isSame) return policies;
  return new Map([...waivers].map((waiver) => [waiver, policies.get(waiver) ?? number + 1]));
}

/** Appends a block. It leaves out each wrapper that cannot run where it stands (D8), or whose waiver is not registered. */
export function extend(parent: Block, { others, wrappers, timestamp, waivers, salt }: BlockContent): Block {
  const number = parent.number + 1;
  const nonces = new Map(parent.nonces);
  const transactions: BlockTransaction[] = [];
  const use = (from: Hex): bigint => {
    const nonce = nonces.get(from) ?? 0n;
    nonces.set(from, nonce + 1n);
    return nonce;
  };
  for (const { from, hash, authorization } of others) {
    const shown = authorization && { authorizationList: [authorization.shown] };
    transactions.push({ hash, from, nonce: use(from), to: from, input: "0x", ...shown });
    // A list may have authorizations without any effect.
    if (authorization && authorization.nonce === (nonces.get(authorization.authority) ?? 0n))
      use(authorization.authority);
  }
  const ran = wrappers.filter(({ waiver, nonce, sender, senderNonce, hash, innerHash, innerRaw }) => {
    if (!parent.policies.has(waiver)) return false;
    if (nonce !== (nonces.get(waiver) ?? 0n) || senderNonce !== (nonces.get(sender) ?? 0n)) return false;
    transactions.push({ hash, from: waiver, nonce: use(waiver), to: MARKER, input: innerRaw });
    transactions.push({ hash: innerHash, from: sender, nonce: use(sender), to: MARKER, input: "0x" });
    return true;
  });
  const hash = hashOfText(`block ${number} on ${parent.hash} ${salt}`);
  const policies = waivers ? policiesAfter(parent, waivers) : parent.policies;
  return { number, hash, parent, timestamp, transactions, wrappers: ran, nonces, policies };
}

export function nonceIn(block: Block, account: Hex): bigint {
  return block.nonces.get(account) ?? 0n;
}

/** The block at this height of the chain that ends in `head`. */
export function ancestorAt(head: Block, number: number): Block | undefined {
  if (number > head.number) return undefined;
  let block: Block | undefined = head;
  while (block !== undefined && block.number > number) block = block.parent;
  return block;
}

/** The block that has this transaction, on the chain that ends in `head`. */
export function blockOf(head: Block, hash: Hex): Block | undefined {
  for (let block: Block | undefined = head; block !== undefined; block = block.parent)
    if (block.transactions.some((one) => one.hash === hash)) return block;
  return undefined;
}
