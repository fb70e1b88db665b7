import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { GoBack } from "../chain/goBack.js";
import type { Method, Methods } from "../rpc/method.js";
import { address, bytes, quantity, uint64 } from "../rpc/params.js";

/**
 * Methods that change the state without a transaction. Reads of the latest block see the change at once, and the next
 * block's state root commits to it.
 */
export function statePatchMethods(chain: Chain, goBack: GoBack): Methods {
  const account = (value: unknown) => bytesToHex(address(value));
  const setBalance: Method = async ([target, wei]) => {
    await chain.patch({ kind: "setBalance", address: account(target), balance: quantity(wei, "balance") });
    return null;
  };
  const addBalance: Method = async ([target, amount]) => {
    const wei = quantity(amount, "the amount");
    await chain.patch({ kind: "addBalance", address: account(target), wei });
    return null;
  };
  const setNonce: Method = async ([target, nonce]) => {
    const patch = { kind: "setNonce", address: account(target), nonce: uint64(nonce, "nonce") } as const;
    const before = chain.state.account(patch.address)?.nonce ?? 0n;
    const set = async () => {
      await chain.patch(patch);
      return true;
    };
    await (patch.nonce < before ? goBack(set) : set());
    return null;
  };
  const setCode: Method = async ([target, code]) => {
    await chain.patch({ kind: "setCode", address: account(target), code: bytes(code, "code") });
    return null;
  };
  const setStorageAt: Method = async ([target, slot, value]) => {
    const key: Hex = `0x${quantity(slot, "slot").toString(16).padStart(64, "0")}`;
    const word = bytes(value, "value", 32);
    await chain.patch({ kind: "setSlot", address: account(target), slot: key, value: word });
    return true;
  };
  return {
    anvil_setBalance: setBalance,
    hardhat_setBalance: setBalance,
    anvil_addBalance: addBalance,
    anvil_setNonce: setNonce,
    hardhat_setNonce: setNonce,
    anvil_setCode: setCode,
    hardhat_setCode: setCode,
    anvil_setStorageAt: setStorageAt,
    hardhat_setStorageAt: setStorageAt,
  };
}
