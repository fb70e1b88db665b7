import { WrongSenderError } from "../errors.js";

/**
 * The account that must have signed the transactions, and a function that recovers the signer of one. Each library for
 * chains has such a function; so has `@gas-waiver/client/self-hosted` (`senderOf`).
 */
export interface SenderCheck {
  /** The sender's address, as 0x hex in any case. */
  readonly address: string;
  /** Returns the address that the signed bytes (0x hex) recover to. */
  recover(signed: string): string | Promise<string>;
}

/** @throws {@link WrongSenderError} for the first transaction that another account signed, or nobody. */
export async function assertSender(
  transactions: readonly string[],
  { address, recover }: SenderCheck,
): Promise<void> {
  for (const [index, signed] of transactions.entries()) {
    const recovered = await recoverOrRefuse(index, () => recover(signed));
    if (recovered.toLowerCase() !== address.toLowerCase()) {
      throw new WrongSenderError(index, `transaction ${index} recovers to ${recovered}, not to ${address}`);
    }
  }
}

async function recoverOrRefuse(index: number, recover: () => string | Promise<string>): Promise<string> {
  try {
    return await recover();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new WrongSenderError(index, `transaction ${index} recovers to no sender: ${message}`, { cause });
  }
}
