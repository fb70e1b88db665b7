import type { Hex } from "@gas-waiver/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { devnetAccount } from "../../src/presets/accounts.js";

/** A delegation of one account to a contract. Account 13 sends it and pays for it. */
interface Delegation {
  /** The index of the account that delegates. */
  readonly authority: number;
  readonly contract: Hex;
  /** The nonce of the authority. Default 0. */
  readonly authorizationNonce?: number;
  /** The nonce of account 13. Default 0. */
  readonly nonce?: number;
  /** The index of the account that the transaction goes to. */
  readonly to: number;
}

/** Signs an EIP-7702 transaction with viem, whose encoding is independent of this project's. */
export async function signDelegation(delegation: Delegation): Promise<Hex> {
  const { authority, contract, authorizationNonce = 0, nonce = 0, to } = delegation;
  const authorization = await privateKeyToAccount(devnetAccount(authority).privateKey).signAuthorization({
    chainId: 2201,
    address: contract,
    nonce: authorizationNonce,
  });
  return privateKeyToAccount(devnetAccount(13).privateKey).signTransaction({
    type: "eip7702",
    chainId: 2201,
    nonce,
    gas: 200_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
    to: devnetAccount(to).address,
    authorizationList: [authorization],
  });
}
