import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex, decodeInnerTx, type Hex, hexToBytes, signWrapperTxWithKey } from "@gas-waiver/protocol";
import { signOne, usersOf } from "../chaos/load.js";
import { changeRegistry } from "../chaos/registry.js";
import { SeededRandom } from "../support/seededRandom.js";
import { lanes, succeeds, type Troubles } from "./trouble.js";
import type { World } from "./world.js";

/** More than a lane sends within a block: some of them have nonces that it has given away. */
const FOREIGN = 20;

/** Sends a wrapper of its own with a waiver's key, as a program with a copy of it would. */
async function useForeign(world: World, user: number): Promise<void> {
  const { chain, waivers, waiverKeys, foreign } = world;
  const [sender] = usersOf(-1 - user, 1);
  if (sender === undefined) return;
  const { raw, hash } = signOne(sender, 0, new SeededRandom(user));
  const inner = decodeInnerTx(hexToBytes(raw));
  foreign.add(hash);
  for (;;) {
    // In front of what the service sends next, or in its place in the pool.
    const nonce = BigInt(await chain.call<Hex>("eth_getTransactionCount", waivers[0], "pending"));
    const key = waiverKeys[0] as Uint8Array;
    const wrapper = signWrapperTxWithKey(inner, key, { nonce, verificationGas: 50_000n });
    if (await succeeds(chain.call("eth_sendRawTransaction", bytesToHex(wrapper.raw)))) return;
  }
}

/** Resolves when the service has told which transactions used the waiver's nonces so far: whoever opens its lane earlier is told of more. */
async function accounted({ chain, waivers, sql }: World): Promise<void> {
  const used = BigInt(await chain.call<Hex>("eth_getTransactionCount", waivers[0], "latest"));
  const isTold = `select from lanes where known_below >= ${used} and waiver = '\\x${waivers[0].slice(2)}'`;
  for (let looks = 0; looks < 120 && (await sql(isTold)).length === 0; looks++) await sleep(500);
}

/** Troubles of waivers and their keys. */
export const WAIVER_TROUBLES = {
  waiverRevoked: {
    text: "a waiver is revoked",
    signal: /is not a registered waiver|lane_usable\{[^}]*\} 0/,
    alarms: ["GasWaiverLaneUnusable"],
    remedy: "`gas-waiver governance`: register it",
    begin: (world) => changeRegistry(world, "revoke", world.waivers[0]),
    end: (world) => changeRegistry(world, "register", world.waivers[0]),
  },
  foreignUse: {
    text: "something else uses a waiver's key",
    signal: /for transactions that are not ours|lane_foreign_uses\{[^}]*\} [1-9]|lane_stopped\{[^}]*\} 1/,
    alarms: ["GasWaiverForeignUse", "GasWaiverLaneStopped"],
    remedy: "end it, `gas-waiver lanes open`",
    async begin(world) {
      for (let user = 0; user < FOREIGN; user++) await useForeign(world, user);
    },
    async end(world) {
      await accounted(world);
      await lanes(world, "open", 0);
    },
  },
  custodySlow: {
    text: "the custody takes 20 s",
    signal: /"err":"CustodyError|lane_usable\{[^}]*\} 0/,
    alarms: ["GasWaiverCustodyFails", "GasWaiverLaneUnusable"],
    remedy: "restore it; the lane goes on",
    begin({ custody }) {
      custody.behaviour.delayMs = 20_000;
    },
    end({ custody }) {
      custody.behaviour.delayMs = 0;
    },
  },
  custodyWrong: {
    text: "the custody signs with another key",
    signal: /lane_stopped\{[^}]*\} 1/,
    alarms: ["GasWaiverWrongSignature", "GasWaiverLaneStopped"],
    remedy: "correct it, `gas-waiver lanes open`",
    begin({ custody, strangerKey }) {
      custody.behaviour.key = strangerKey;
    },
    end(world) {
      world.custody.behaviour.key = world.waiverKeys[1] as Uint8Array;
      return lanes(world, "open", 1);
    },
  },
} satisfies Troubles;
