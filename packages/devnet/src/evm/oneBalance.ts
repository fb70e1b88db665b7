import { bytesToHex } from "@gas-waiver/protocol";
import type { Executor } from "./executor.js";

/**
 * Runs transactions on a chain whose gas token is also an ERC-20 contract: its balances are the accounts' native ones
 * (contracts/NativeToken.sol), and nothing goes to the zero address.
 * @param token the contract, 20 bytes.
 */
export function withOneBalance(executor: Executor, token: Uint8Array): Executor {
  const address = bytesToHex(token);
  return {
    async open(state, block, tracer) {
      state.useNativeToken(address);
      return executor.open(state, block, tracer);
    },
  };
}
