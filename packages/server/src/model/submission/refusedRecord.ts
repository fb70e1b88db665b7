import {
  bytesToHex,
  errorBodyOf,
  hashTransaction,
  type InnerTx,
  ProtocolError,
  type RefusedRecord,
  recoverSender,
  selectorOf,
} from "@gas-waiver/protocol";

/** Longer messages are cut: they may quote what the client sent. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/** A line that was refused before anything was accepted. */
export interface RefusedLine {
  readonly id: string;
  readonly error: ProtocolError;
  /** The transaction; undefined if its bytes were not or could not be read. */
  readonly tx: InnerTx | undefined;
}

/** Makes the record of a refused line (D15). It holds nothing of the transaction's calldata but the selector. */
export function toRefusedRecord({ id, error, tx }: RefusedLine, refusedAt: Date): RefusedRecord {
  const { message, ...body } = errorBodyOf(error);
  return {
    id,
    state: "failed",
    refused: true,
    certainty: "not_broadcast",
    error: { ...body, message: message.slice(0, MAX_MESSAGE_CHARACTERS) },
    ...(tx && transactionFields(tx)),
    failedAt: refusedAt.toISOString(),
  };
}

function transactionFields(tx: InnerTx): Partial<RefusedRecord> {
  const sender = senderOf(tx);
  const selector = selectorOf(tx.data);
  return {
    txHash: bytesToHex(hashTransaction(tx)),
    ...(sender && { sender: bytesToHex(sender) }),
    nonce: tx.nonce.toString(),
    ...(tx.to && { target: bytesToHex(tx.to) }),
    ...(selector && { selector: bytesToHex(selector) }),
  };
}

/** The sender; undefined if the signature is nobody's. */
function senderOf(tx: InnerTx): Uint8Array | undefined {
  try {
    return recoverSender(tx);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}
