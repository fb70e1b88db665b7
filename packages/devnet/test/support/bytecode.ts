import { bytesToHex, type Hex, hexToBytes, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { ANY_SELECTOR, ANY_TARGET, permissionSlot } from "../../src/registry/policy.js";
import { addressOf, type TestNode } from "./testNode.js";

// Small contracts as bytecode, and functions that place them.

export const BYTECODE = {
  /** Stores CALLER in slot 0, ORIGIN in slot 1, CALLVALUE in slot 2. */
  recorder: "0x335f55326001553460025500",
  /** Self-destructs and sends its balance to the caller. */
  destroyer: "0x33ff",
  /** Creates a contract whose code is one zero byte, stores its address in slot 0 and logs it as a topic. */
  creator: "0x6360015ff35f526004601c5ff0805f555f5fa100",
  /** Reverts with 0xdeadbeef. */
  reverter: "0x63deadbeef5f526004601cfd",
  /** Loops until its gas is used up. */
  burner: "0x5b5f56",
  /** Calls the address in the first word of calldata with its value, and returns whether the call succeeded. */
  forwarder: "0x5f5f5f5f345f355af15f5260205ff3",
  /** Calls the address in the first word of calldata by STATICCALL, then by DELEGATECALL. */
  asker: "0x5f5f5f5f5f355afa505f5f5f5f5f355af45000",
  /** Logs the first word of calldata as a topic and as data. */
  logger: "0x5f355f525f3560205fa100",
} as const satisfies Record<string, Hex>;

/** Places code at an address derived from a number. */
export async function place(node: TestNode, number: number, code: Hex): Promise<Hex> {
  const address: Hex = `0x${(0xc0de0000 + number).toString(16).padStart(40, "0")}`;
  await node.rpc("anvil_setCode", address, code);
  return address;
}

/** 32 bytes of calldata. */
export function wordOf(value: Hex | bigint): Uint8Array {
  return hexToBytes(`0x${BigInt(value).toString(16).padStart(64, "0")}`);
}

/** Lets waiver 10 carry any call, as with the target `*`. */
export async function allowEverything(node: TestNode): Promise<void> {
  const any = permissionSlot(
    hexToBytes(addressOf(10)),
    1n,
    new Uint8Array(20),
    new Uint8Array(4),
    ANY_TARGET | ANY_SELECTOR,
  );
  await setSlot(node, bytesToHex(REGISTRY_ADDRESS), any, 1n);
}

export async function setSlot(node: TestNode, address: Hex, slot: Hex, value: bigint): Promise<void> {
  await node.rpc("anvil_setStorageAt", address, slot, bytesToHex(wordOf(value)));
}

export async function slotOf(node: TestNode, address: Hex, slot: number): Promise<bigint> {
  return BigInt(await node.rpc<Hex>("eth_getStorageAt", address, `0x${slot.toString(16)}`, "latest"));
}
