import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import { address, quantity, shortJson } from "../rpc/params.js";
import { EMPTY_CODE_HASH } from "../state/reader.js";
import { requireBlock } from "./findBlock.js";
import { toQuantity } from "./format.js";

const MAX_SLOTS = 1_024;

/** Serves eth_getProof (EIP-1186) for the latest block. Past tries are not kept. */
export function getProof(chain: Chain, account: unknown, keys: unknown, tag: unknown) {
  const holder = bytesToHex(address(account));
  if (!Array.isArray(keys) || keys.length > MAX_SLOTS) {
    throw invalidParams(`the slots are ${shortJson(keys)}, not a list of up to ${MAX_SLOTS}`);
  }
  const slots = keys.map(
    (key: unknown): Hex => `0x${quantity(key, "a slot").toString(16).padStart(64, "0")}`,
  );
  if (requireBlock(chain, tag).number !== chain.head.number) {
    throw new RpcError(RPC_CODES.refused, `proofs are of the latest block, ${chain.head.number}, only`);
  }
  const proof = chain.prove(holder, slots);
  if (proof === undefined) {
    throw new RpcError(RPC_CODES.refused, "the state was changed since the latest block: make a block first");
  }
  const record = chain.state.account(holder);
  return {
    address: holder,
    accountProof: proof.account.map((node) => bytesToHex(node)),
    balance: toQuantity(record?.balance ?? 0n),
    codeHash: record?.codeHash ?? EMPTY_CODE_HASH,
    nonce: toQuantity(record?.nonce ?? 0n),
    storageHash: proof.storageRoot,
    storageProof: slots.map((slot, i) => ({
      key: slot,
      value: toQuantity(BigInt(`0x0${bytesToHex(chain.state.slot(holder, slot)).slice(2)}`)),
      proof: (proof.slots[i] ?? []).map((node) => bytesToHex(node)),
    })),
  };
}
