import { bytesToHex, type InnerTx } from "@gas-waiver/protocol";
import { toQuantity } from "./calls.js";

/** The parts of a transaction that `eth_call` runs. */
export interface CalledTransaction {
  readonly tx: InnerTx;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** 20 bytes. */
  readonly to: Uint8Array;
}

/** The request of an `eth_call` that runs the transaction, with its gas limit and gas price 0. */
export function callRequest({ tx, sender, to }: CalledTransaction): Readonly<Record<string, unknown>> {
  return {
    from: bytesToHex(sender),
    to: bytesToHex(to),
    value: toQuantity(tx.value),
    data: bytesToHex(tx.data),
    gas: toQuantity(tx.gasLimit),
    gasPrice: "0x0",
    ...(tx.type !== "legacy" && {
      accessList: tx.accessList.map(({ address, storageKeys }) => ({
        address: bytesToHex(address),
        storageKeys: storageKeys.map(bytesToHex),
      })),
    }),
  };
}
