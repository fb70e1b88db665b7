import { gunzipSync, gzipSync } from "node:zlib";
import { bigIntToBytes, bytesToBigInt, bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { GoBack } from "../chain/goBack.js";
import { invalidParams } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { address, bytes, hash, type Members, object, optional, quantity, uint64 } from "../rpc/params.js";
import type { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT } from "../state/reader.js";
import { toQuantity } from "./format.js";

/** The most bytes of a dump's JSON. */
const MAX_DUMP_BYTES = 256 * 1024 * 1024;

/**
 * Methods that write the accounts of the latest state as one text, and read it again. The text is hex of zipped JSON, as
 * anvil's is, and each reads the accounts of the other's.
 */
export function stateDumpMethods(chain: Chain, goBack: GoBack): Methods {
  return {
    anvil_dumpState: () => bytesToHex(gzipSync(JSON.stringify({ accounts: dumpOf(chain) }))),
    anvil_loadState: ([dump]) => {
      const accounts = readDump(bytes(dump, "the state"));
      return goBack(async () => {
        await chain.patch((state) => {
          for (const account of accounts) load(account, state);
        });
        return true;
      });
    },
  };
}

/** An account that replaces the one at its address, if there is one. */
interface LoadedAccount {
  readonly address: Hex;
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly code: Uint8Array;
  readonly slots: ReadonlyMap<Hex, bigint>;
}

function load({ address, nonce, balance, code, slots }: LoadedAccount, state: Overlay): void {
  state.setAccount(address, { ...EMPTY_ACCOUNT, nonce, balance });
  state.setCode(address, code);
  state.wipeSlots(address);
  for (const [slot, value] of slots) state.setSlot(address, slot, bigIntToBytes(value));
}

function dumpOf(chain: Chain): Readonly<Record<Hex, unknown>> {
  const accounts: Record<Hex, unknown> = {};
  for (const { address: name, record, slots } of chain.accounts()) {
    accounts[name] = {
      nonce: toQuantity(record.nonce),
      balance: toQuantity(record.balance),
      code: bytesToHex(chain.state.code(record.codeHash)),
      storage: Object.fromEntries(
        [...slots].map(([slot, value]) => [slot, toQuantity(bytesToBigInt(value))]),
      ),
    };
  }
  return accounts;
}

function readDump(zipped: Uint8Array): LoadedAccount[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(gunzipSync(zipped, { maxOutputLength: MAX_DUMP_BYTES }).toString());
  } catch (error) {
    throw invalidParams(`the state is not a dump: ${error instanceof Error ? error.message : String(error)}`);
  }
  const accounts = object(object(parsed, "the dump").accounts, "accounts");
  return Object.entries(accounts).map(([name, account]) => readAccount(name, object(account, name)));
}

function readAccount(name: string, { nonce, balance, code, storage }: Members): LoadedAccount {
  const slots = Object.entries(optional(storage, {}, (value) => object(value, `storage of ${name}`)));
  return {
    address: bytesToHex(address(name, "an address of accounts")),
    nonce: optional(nonce, 0n, (value) => readNonce(value, name)),
    balance: optional(balance, 0n, (value) => quantity(value, `balance of ${name}`)),
    code: optional(code, new Uint8Array(0), (value) => bytes(value, `code of ${name}`)),
    slots: new Map(
      slots.map(([slot, value]) => [hash(slot, "a slot"), quantity(value, `slot ${slot} of ${name}`)]),
    ),
  };
}

/** Anvil writes nonces as JSON numbers. */
function readNonce(value: unknown, name: string): bigint {
  return Number.isSafeInteger(value) && Number(value) >= 0
    ? BigInt(value as number)
    : uint64(value, `nonce of ${name}`);
}
