import {
  type AllowedTarget,
  bigIntToBytes,
  bytesToHex,
  type Hex,
  hexToBytes,
  REGISTRY_ADDRESS,
  STABLE,
} from "@gas-waiver/protocol";
import { NativeToken, TestToken, WaiverRegistry } from "../contracts/artifacts.js";
import { Create2Deployer, Multicall3, Permit2 } from "../contracts/predeployed.js";
import { accountsOf } from "../presets/accounts.js";
import { FUNDED_BALANCE, GENESIS_TARGETS, TEST_TOKEN, USER_TOKENS } from "../presets/constants.js";
import type { Profile } from "../presets/profiles.js";
import { ANY_SELECTOR, ANY_TARGET, LISTED, permissionSlot } from "../registry/policy.js";
import { elementSlot, mappingSlot } from "../registry/slots.js";
import { Overlay } from "../state/overlay.js";
import { EMPTY_CODE_HASH, NO_BYTES } from "../state/reader.js";
import { wordHex } from "../state/word.js";

/** The state of genesis of a profile. The contracts have no constructors, so their storage is written directly. */
export function genesisState(profile: Profile = "plain"): Overlay {
  const state = new Overlay({ account: () => undefined, slot: () => NO_BYTES, code: () => NO_BYTES });
  for (const { address } of [...accountsOf("funded"), ...accountsOf("validator")]) {
    const record = { nonce: 0n, balance: FUNDED_BALANCE, codeHash: EMPTY_CODE_HASH };
    state.setAccount(address.toLowerCase() as Hex, record);
  }
  if (profile === "stable") placeNativeToken(state);
  else placeToken(state);
  placeRegistry(state);
  return state;
}

function placeToken(state: Overlay): void {
  const write = placeContract(state, TEST_TOKEN, TestToken.runtimeBytecode);
  const users = accountsOf("user");
  for (const { address } of users) {
    write(mappingSlot(hexToBytes(address), BigInt(TestToken.slots.balanceOf)), USER_TOKENS);
  }
  write(BigInt(TestToken.slots.totalSupply), USER_TOKENS * BigInt(users.length));
}

/**
 * The token of the profile `stable` with the contracts that the public chain has. Users hold as many units as in the other
 * profile, so that programs which count 18 decimals, as the published samples do, have enough.
 */
function placeNativeToken(state: Overlay): void {
  const write = placeContract(state, TEST_TOKEN, NativeToken.runtimeBytecode);
  const users = accountsOf("user");
  const scale = 10n ** BigInt(NATIVE_DECIMALS - STABLE.tokenDecimals);
  for (const { address } of users) {
    const record = { nonce: 0n, balance: USER_TOKENS * scale, codeHash: EMPTY_CODE_HASH };
    state.setAccount(address.toLowerCase() as Hex, record);
  }
  const paying = BigInt(accountsOf("funded").length + accountsOf("validator").length);
  const total = USER_TOKENS * BigInt(users.length) + (FUNDED_BALANCE / scale) * paying;
  write(BigInt(NativeToken.slots.totalSupply), total);
  for (const { address, runtimeBytecode } of [Multicall3, Create2Deployer, Permit2]) {
    placeContract(state, hexToBytes(address), runtimeBytecode);
  }
}

const NATIVE_DECIMALS = 18;

function placeRegistry(state: Overlay): void {
  const { slots } = WaiverRegistry;
  const write = placeContract(state, REGISTRY_ADDRESS, WaiverRegistry.runtimeBytecode);
  const validators = accountsOf("validator").map(({ address }) => hexToBytes(address));
  validators.forEach((validator, index) => {
    // struct Validator, from the lowest byte: uint64 term, uint64 index.
    const term = BigInt(index + 1);
    write(mappingSlot(validator, BigInt(slots.validatorOf)), term | (BigInt(index) << 64n));
    write(elementSlot(BigInt(slots.validatorList), index), bytes(validator));
  });
  write(BigInt(slots.validatorList), BigInt(validators.length));

  const waivers = accountsOf("waiver").map(({ address }) => hexToBytes(address));
  waivers.forEach((waiver, index) => {
    // struct Waiver, from the lowest byte: bool registered, uint64 version, uint64 index.
    const version = BigInt(index + 1);
    write(mappingSlot(waiver, BigInt(slots.waivers)), 1n | (version << 8n) | (BigInt(index) << 72n));
    write(elementSlot(BigInt(slots.waiverList), index), bytes(waiver));
    placePolicy(state, waiver, version, GENESIS_TARGETS);
  });
  write(BigInt(slots.waiverList), BigInt(waivers.length));
  // lastVersion and lastTerm share a slot: lastVersion in the lowest 8 bytes, lastTerm above it.
  write(BigInt(slots.lastVersion), BigInt(waivers.length) | (BigInt(validators.length) << 64n));
}

function placePolicy(
  state: Overlay,
  waiver: Uint8Array,
  version: bigint,
  targets: readonly AllowedTarget[],
): void {
  const registry = bytesToHex(REGISTRY_ADDRESS);
  const write = writer(state, registry);
  const list = mappingSlot(version, BigInt(WaiverRegistry.slots.policies));
  write(list, BigInt(targets.length));
  targets.forEach(({ address, selectors }, index) => {
    const anyTarget = address === "*";
    const target = anyTarget ? new Uint8Array(20) : address;
    // struct AllowedTarget: a slot with address target, bool anyTarget, bool anySelector, then the array of selectors.
    const base = elementSlot(list, index, 2);
    const anySelector = selectors === undefined;
    write(base, bytes(target) | (anyTarget ? 1n << 160n : 0n) | (anySelector ? 1n << 168n : 0n));
    writeSelectors(write, base + 1n, selectors ?? []);
    const flags = anyTarget ? ANY_TARGET : 0;
    const scopes: [Uint8Array, number][] = (selectors ?? []).map((selector) => [selector, flags]);
    if (anySelector) scopes.push([new Uint8Array(4), flags | ANY_SELECTOR]);
    scopes.push([new Uint8Array(4), flags | LISTED]);
    for (const [selector, scopeFlags] of scopes) {
      state.setSlot(
        registry,
        permissionSlot(waiver, version, target, selector, scopeFlags),
        Uint8Array.of(1),
      );
    }
  });
}

/** Writes a dynamic array of bytes4. A slot holds eight of them, the first in the lowest bytes. */
function writeSelectors(write: SlotWriter, position: bigint, selectors: readonly Uint8Array[]): void {
  write(position, BigInt(selectors.length));
  for (let first = 0; first < selectors.length; first += 8) {
    let packed = 0n;
    selectors.slice(first, first + 8).forEach((selector, i) => {
      packed |= bytes(selector) << BigInt(32 * i);
    });
    write(elementSlot(position, first / 8), packed);
  }
}

type SlotWriter = (slot: bigint | Uint8Array, value: bigint) => void;

function placeContract(state: Overlay, address: Uint8Array, code: Hex): SlotWriter {
  const hex = bytesToHex(address);
  // A contract's nonce starts at 1 (EIP-161).
  state.setAccount(hex, { nonce: 1n, balance: 0n, codeHash: EMPTY_CODE_HASH });
  state.setCode(hex, hexToBytes(code));
  return writer(state, hex);
}

function writer(state: Overlay, address: Hex): SlotWriter {
  return (slot, value) => state.setSlot(address, wordHex(slot), bigIntToBytes(value));
}

function bytes(value: Uint8Array): bigint {
  return BigInt(bytesToHex(value));
}
