import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { BlockEnvironment } from "../evm/executor.js";
import { invalidParams } from "../rpc/errors.js";
import {
  address,
  bytes,
  hash,
  type Members,
  object,
  optional,
  quantity,
  shortJson,
  uint64,
} from "../rpc/params.js";
import { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT, type StateReader } from "../state/reader.js";

const ACCOUNT_FIELDS = new Set(["balance", "nonce", "code", "state", "stateDiff"]);

/**
 * Applies the state overrides of a call. For each address they can have `balance`, `nonce`, `code`, and either `state`
 * (the whole storage) or `stateDiff` (some slots).
 */
export function applyOverrides(base: StateReader, param: unknown): StateReader {
  if (param === undefined || param === null) return base;
  const state = new Overlay(base);
  for (const [account, value] of Object.entries(object(param, "the state overrides"))) {
    const accountHex = bytesToHex(address(account, "an address of the state overrides"));
    override(state, accountHex, object(value, `the override of ${account}`));
  }
  return state;
}

function override(state: Overlay, account: Hex, members: Members): void {
  const unknown = Object.keys(members).find((name) => !ACCOUNT_FIELDS.has(name));
  if (unknown !== undefined) throw invalidParams(`${shortJson(unknown)} cannot be overridden`);
  const record = state.account(account) ?? EMPTY_ACCOUNT;
  state.setAccount(account, {
    ...record,
    balance: optional(members.balance, record.balance, (value) => quantity(value, "balance")),
    nonce: optional(members.nonce, record.nonce, (value) => uint64(value, "nonce")),
  });
  if (present(members.code)) state.setCode(account, bytes(members.code, "code"));
  if (present(members.state) && present(members.stateDiff)) {
    throw invalidParams(`the override of ${account} has both state and stateDiff`);
  }
  if (present(members.state)) state.wipeSlots(account);
  const slots = optional(members.state ?? members.stateDiff, {}, (value) => object(value, "the slots"));
  for (const [slot, value] of Object.entries(slots)) {
    state.setSlot(account, hash(slot, "a slot"), bytes(value, "the value of a slot", 32));
  }
}

function present(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Reads the block overrides of a call. The names are geth's, and some of other nodes. A base fee is ignored. */
export function readBlockOverrides(param: unknown): Partial<BlockEnvironment> {
  if (param === undefined || param === null) return {};
  const { number, time, timestamp, gasLimit, feeRecipient, coinbase, prevRandao, random, ...rest } = object(
    param,
    "the block overrides",
  );
  const unknown = Object.keys(rest).find((name) => name !== "baseFeePerGas" && name !== "baseFee");
  if (unknown !== undefined) throw invalidParams(`${shortJson(unknown)} of a block cannot be overridden`);
  const read = <K extends keyof BlockEnvironment>(
    name: K,
    value: unknown,
    reader: (value: unknown) => BlockEnvironment[K],
  ) => (present(value) ? { [name]: reader(value) } : {});
  return {
    ...read("number", number, (value) => uint64(value, "number")),
    ...read("timestamp", time ?? timestamp, (value) => uint64(value, "time")),
    ...read("gasLimit", gasLimit, (value) => uint64(value, "gasLimit")),
    ...read("coinbase", feeRecipient ?? coinbase, (value) => address(value, "feeRecipient")),
    ...read("prevRandao", prevRandao ?? random, (value) => bytes(value, "prevRandao", 32)),
  };
}
