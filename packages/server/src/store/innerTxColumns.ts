import { byteaArray } from "./database/statements.js";

/** An InnerTx, as a submission stores it. */
export interface StoredInnerTx {
  /** 32 bytes. */
  readonly innerHash: Uint8Array;
  readonly innerRaw: Uint8Array;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** 20 bytes. */
  readonly target: Uint8Array;
  /** 4 bytes; undefined for shorter calldata. */
  readonly selector: Uint8Array | undefined;
}

/** The columns of InnerTxs, as parameters of a statement: in this order. */
export function innerTxColumns(inners: readonly StoredInnerTx[]) {
  return {
    inner_hashes: byteaArray(inners.map(({ innerHash }) => innerHash)),
    inner_raws: byteaArray(inners.map(({ innerRaw }) => innerRaw)),
    senders: byteaArray(inners.map(({ sender }) => sender)),
    nonces: inners.map(({ senderNonce }) => senderNonce.toString()),
    targets: byteaArray(inners.map(({ target }) => target)),
    selectors: byteaArray(inners.map(({ selector }) => selector)),
  };
}
