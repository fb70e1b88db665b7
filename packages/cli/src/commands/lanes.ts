import { bytesToHex } from "@gas-waiver/protocol";
import {
  type LaneAdmin,
  type LaneFindings,
  type LaneState,
  type LaneStatus,
  openLaneAdmin,
} from "@gas-waiver/server";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { address, given, url } from "../settings/parsers.js";
import { ONE_STORE, STORE_SETTINGS, type StoreValues, withStore } from "./openStore.js";

const withLanes = <T>(values: StoreValues, use: (lanes: LaneAdmin) => Promise<T>) =>
  withStore(values, openLaneAdmin, use);

export const list = defineCommand({
  description: "It asks the database of the service, which may run meanwhile, and changes nothing.",
  settings: STORE_SETTINGS,
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const lanes = await withLanes(values, (admin) => admin.list());
    if (values.json) print(JSON.stringify(lanes.map(laneJson)));
    else for (const line of lanes.flatMap(laneLines)) print(line);
  },
});

const laneJson = (lane: LaneStatus) => ({ ...lane, waiver: bytesToHex(lane.waiver) });

function laneLines(lane: LaneStatus): string[] {
  const worked = lane.owner === undefined ? "worked by nobody" : `worked by ${lane.owner}`;
  const breaker = lane.broken ? ", its breaker is open" : "";
  const oldest = lane.queued > 0 ? `, the oldest for ${(lane.oldestMs / 1_000).toFixed(1)} s` : "";
  return [
    `${bytesToHex(lane.waiver)}  ${lane.state}${breaker}, ${worked}`,
    ...(lane.reason === undefined ? [] : [`  because ${lane.reason}`]),
    `  ${lane.queued} queued${oldest}; ${lane.underWay} signed or broadcast`,
  ];
}

const WAIVER_SETTING = {
  flag: "waiver",
  placeholder: "ADDRESS",
  help: "The waiver whose lane it is.",
  required: true,
  parse: address,
} as const;

/** A command that changes what a lane may do. */
function setter(state: LaneState, description: string, done: string) {
  return defineCommand({
    description,
    settings: { waiver: WAIVER_SETTING, ...STORE_SETTINGS },
    agreement: { alternatives: ONE_STORE },
    async run(values, { print }) {
      const waiver = bytesToHex(values.waiver);
      const known = await withLanes(values, (admin) => admin.set(values.waiver, state, "by the operator"));
      if (!known) throw new CommandFailedError(`the service has no lane for waiver ${waiver}`);
      print(values.json ? JSON.stringify({ waiver, state }) : `${waiver} ${done}`);
    },
  });
}

export const open = setter(
  "open",
  "Also after something has stopped it: then see to the cause first.",
  "takes work again",
);
export const drain = setter(
  "draining",
  "It finishes what its senders have under way, gives the rest to other lanes, and is retired then.",
  "takes nothing new, and is retired when it is done",
);
export const stop = setter("stopped", "It signs and sends nothing until it is opened again.", "is stopped");

export const doctor = defineCommand({
  description:
    "It says what it found and what the service does about it at its next sweep; it changes nothing. With --repair\n" +
    "and no service that works the lane, it does that itself.",
  settings: {
    rpcUrl: {
      flag: "rpc-url",
      env: "GAS_WAIVER_RPC_URL",
      placeholder: "URL",
      help: "JSON-RPC of the chain's node.",
      required: true,
      parse: url("http:", "https:"),
    },
    repair: {
      flag: "repair",
      help: "Settle what was found, in lanes that no service works.",
      parse: given,
    },
    ...STORE_SETTINGS,
  },
  agreement: { alternatives: ONE_STORE },
  async run(values, context) {
    const found = await withLanes(values, (admin) =>
      admin.examine(values.rpcUrl, { repair: values.repair === true }),
    );
    if (values.json) context.print(JSON.stringify(found, jsonValue));
    else printFindings(found, context);
  },
});

function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? bytesToHex(value) : value;
}

function printFindings(found: readonly LaneFindings[], { print }: Context): void {
  for (const { lane, chainNonce, taken, findings, repaired } of found) {
    for (const line of laneLines(lane)) print(line);
    print(`  the chain's next nonce is ${chainNonce}; ${takenText(taken)}`);
    for (const { candidate, outcome } of findings)
      print(`  ${candidate.id} is ${candidate.state}: ${FATES[outcome.kind]}`);
    if (findings.length === 0) print("  store and chain agree");
    else print(repaired ? "  repaired" : "  nothing was changed");
  }
}

function takenText(taken: LaneFindings["taken"]): string {
  if (taken === undefined) return "no nonce waits for a block";
  return `${taken.count} nonce(s) wait for a block, ${taken.lowest} to ${taken.highest}`;
}

const FATES = {
  included: "the chain has executed it; it becomes included",
  nonceUsed:
    "the chain has used its sender's nonce for another transaction; it becomes failed (NONCE_TOO_LOW)",
  replaced: "the chain has used its waiver's nonce for another wrapper; it is queued again",
} as const;
