import { bytesToHex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { Methods } from "../rpc/method.js";
import { address, quantity } from "../rpc/params.js";
import { readCallRequest } from "./callRequest.js";
import { createAccessList } from "./createAccessList.js";
import { estimateGas } from "./estimateGas.js";
import { requireState } from "./findBlock.js";
import { toQuantity } from "./format.js";
import { applyOverrides, readBlockOverrides } from "./overrides.js";
import { getProof } from "./proof.js";
import { runCall } from "./runCall.js";

/** Methods that read the state after a block, and calls on it. */
export function stateMethods(chain: Chain): Methods {
  const accountAt = (account: unknown, tag: unknown) =>
    requireState(chain, tag).state.account(bytesToHex(address(account)));
  const overridden = (tag: unknown, overrides: unknown) => {
    const { block, state } = requireState(chain, tag);
    return { block, state: applyOverrides(state, overrides) };
  };
  return {
    eth_getBalance: ([account, tag]) => toQuantity(accountAt(account, tag)?.balance ?? 0n),
    eth_getTransactionCount: ([account, tag]) => {
      const next = accountAt(account, tag)?.nonce ?? 0n;
      const pending = tag === "pending";
      return toQuantity(pending ? chain.pool.nextNonce(bytesToHex(address(account)), next) : next);
    },
    eth_getCode: ([account, tag]) => {
      const { state } = requireState(chain, tag);
      const record = state.account(bytesToHex(address(account)));
      return record === undefined ? "0x" : bytesToHex(state.code(record.codeHash));
    },
    eth_getStorageAt: ([account, slot, tag]) => {
      const { state } = requireState(chain, tag);
      const key = quantity(slot, "slot").toString(16).padStart(64, "0");
      const value = bytesToHex(state.slot(bytesToHex(address(account)), `0x${key}`));
      return `0x${value.slice(2).padStart(64, "0")}`;
    },
    eth_getProof: ([account, slots, tag]) => getProof(chain, account, slots, tag),
    eth_call: ([call, tag, overrides, blockOverrides]) => {
      const { block, state } = overridden(tag, overrides);
      return runCall(chain, readCallRequest(call), block, state, readBlockOverrides(blockOverrides));
    },
    eth_estimateGas: async ([call, tag, overrides]) => {
      const { block, state } = overridden(tag, overrides);
      return toQuantity(await estimateGas(chain, readCallRequest(call), block, state));
    },
    eth_createAccessList: async ([call, tag, overrides]) => {
      const { block, state } = overridden(tag, overrides);
      return createAccessList(chain, readCallRequest(call), block, state);
    },
  };
}
