import { InvalidArgumentError } from "../errors.js";
import { readInnermost, textOf } from "./innerErrors.js";

/** Reads the error of geth, and of nodes like it, to a call that used up all gas that an estimate may have. @returns that gas. */
export function allowanceIn(members: Readonly<Record<string, unknown>>): string | undefined {
  return /gas required exceeds allowance \((\d+)\)/i.exec(textOf(members))?.[1];
}

/**
 * Names gas as the trouble where a node's estimate has found no limit that suffices. viem and ethers take the node's answer for
 * one to invalid parameters, or to a revert.
 * @throws InvalidArgumentError there, or the error of the library.
 */
export async function explainEstimate<T>(estimate: Promise<T>): Promise<T> {
  try {
    return await estimate;
  } catch (cause) {
    const allowance = readInnermost(cause, allowanceIn);
    if (allowance === undefined) throw cause;
    throw new InvalidArgumentError(
      `the call needs more gas than the node's estimate may use, which is ${allowance}: let it do less at once; the largest gas limit ` +
        "that the service takes is `limits.maxGasLimit` of its policy",
      { cause },
    );
  }
}
