import {
  assembleWrapperTx,
  bytesToHex,
  hashTransaction,
  signingHash,
  signingMessage,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import { StartError } from "../../model/errors.js";
import type { Actor } from "../../model/keys/auditRecord.js";
import { recordEvent } from "../../store/audit/audit.js";
import { inTransaction } from "../../store/database/transaction.js";
import { rememberTransaction } from "../../store/lanes/nonces/withdrawnWrappers.js";
import type { Store } from "../../store/store.js";

export interface CancelTerms {
  /** Wei for a unit of gas: more than what the nodes ask for any transaction. */
  readonly gasPrice: bigint;
  /** The nonce that the operator means; the waiver's next if undefined. */
  readonly nonce?: bigint | undefined;
}

export interface CancelledNonce {
  readonly nonce: bigint;
  /** The hash of the waiver's transaction to itself, 32 bytes. */
  readonly hash: Uint8Array;
}

interface CancelContext {
  readonly store: Store;
  readonly chain: Pick<NodeClient, "accounts" | "sendToEach">;
  readonly chainRef: number;
  readonly chainId: number;
  readonly actor: Actor | string;
}

/** The gas of a transfer without calldata. */
const TRANSFER_GAS = 21_000n;

/**
 * Uses the waiver's next nonce for a transaction of the waiver to itself, which pays. Pools that hold a wrapper at price 0 let it
 * take that wrapper's place, so that a jammed lane goes on. It carries no value and no InnerTx. The store remembers it before it
 * is sent: its lane does not take it for somebody else's.
 * @throws {@link StartError} if it cannot be sent.
 */
export async function cancelNonce(
  account: WaiverAccount,
  { gasPrice, nonce }: CancelTerms,
  { store, chain, chainRef, chainId, actor }: CancelContext,
): Promise<CancelledNonce> {
  const waiver = account.address;
  const [{ nonce: next, balance } = { nonce: 0n, balance: 0n }] = await chain.accounts([waiver]);
  if (nonce !== undefined && nonce !== next)
    throw new StartError(`the waiver's next nonce is ${next}, not ${nonce}: only the next one can be held`);
  const cost = TRANSFER_GAS * gasPrice;
  if (balance < cost)
    throw new StartError(
      `the waiver has ${balance} wei, and the transaction costs ${cost}: fund ${bytesToHex(waiver)}`,
    );
  const signed = await signTransferToSelf(account, { nonce: next, gasPrice, chainId });
  const hash = hashTransaction(signed);
  await inTransaction(store, async (db) => {
    await rememberTransaction(
      { pool: db },
      { chain: chainRef, waiver },
      { waiverNonce: next, wrapperHash: hash },
    );
    const changes = { nonce: { to: next.toString() }, hash: { to: bytesToHex(hash) } };
    await recordEvent(db, { actor, action: "cancel-nonce", waiver, changes });
  });
  const answers = await chain.sendToEach({ wrapperRaw: signed.raw, wrapperHash: hash });
  const verdicts = answers.map(({ verdict }) => verdict);
  if (verdicts.some(({ kind }) => kind === "accepted" || kind === "already known"))
    return { nonce: next, hash };
  const [refused] = verdicts;
  const words = refused && "message" in refused ? refused.message : refused?.kind;
  throw new StartError(`no node takes the transaction: ${words ?? "no answer"}`);
}

async function signTransferToSelf(
  account: WaiverAccount,
  {
    nonce,
    gasPrice,
    chainId,
  }: { readonly nonce: bigint; readonly gasPrice: bigint; readonly chainId: number },
) {
  const unsigned = {
    type: "legacy",
    chainId: BigInt(chainId),
    nonce,
    gasPrice,
    gasLimit: TRANSFER_GAS,
    to: account.address,
    value: 0n,
    data: new Uint8Array(),
  } as const;
  const signature = await account.sign(signingHash(unsigned), signingMessage(unsigned));
  return assembleWrapperTx(unsigned, signature, account.address);
}
