import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { LaneFindings } from "@gas-waiver/server";
import { type Command, type Context, defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { findingsJson, lossLines, OUTCOMES } from "../lanes/findingsOutput.js";
import { laneJson, laneLines } from "../lanes/laneOutput.js";
import { address, wholeNumber } from "../settings/parsers.js";
import { NODE_SETTING, STORE_SETTINGS, withLanes } from "../store/withStore.js";
import { CUSTODY, CUSTODY_SETTINGS, problemsOfCustody, splitCustody } from "../waivers/custodies.js";
import { openWaivers } from "../waivers/openWaivers.js";

export const list = defineCommand({
  description: "The command reads the service's database and changes nothing. The service may run meanwhile.",
  examples: ["gas-waiver lanes list"],
  settings: STORE_SETTINGS,
  async run(values, { print }) {
    const lanes = await withLanes(values, (admin) => admin.list());
    if (values.json) print(JSON.stringify(lanes.map(laneJson)));
    else for (const line of lanes.flatMap(laneLines)) print(line);
  },
});

export const doctor = defineCommand({
  description:
    "The command prints each difference, and what the service makes of it once the chain proves it. With --repair, the\n" +
    "command resolves itself what can be proved, in lanes that no service works. Otherwise it changes nothing.",
  examples: ["gas-waiver lanes doctor --rpc-url http://127.0.0.1:8545"],
  settings: {
    ...NODE_SETTING,
    repair: { help: "Resolve the differences, in lanes that no service works." },
    ...STORE_SETTINGS,
  },
  async run(values, context) {
    const laneFindings = await withLanes(values, (admin) =>
      admin.examine(values.rpcUrl, { repair: values.repair === true }),
    );
    if (values.json) context.print(findingsJson(laneFindings));
    else printFindings(laneFindings, context);
  },
});

function printFindings(laneFindings: readonly LaneFindings[], { print }: Context): void {
  for (const found of laneFindings) {
    const { lane, chainNonce, assigned, findings, repaired } = found;
    for (const line of laneLines(lane)) print(line);
    print(`  the chain's next nonce is ${chainNonce}; ${nonceText(assigned)}`);
    for (const { candidate, outcome } of findings)
      print(`  ${candidate.id} is ${candidate.state}: ${OUTCOMES[outcome.kind].text}`);
    const losses = lossLines(found);
    for (const line of losses) print(`  ${line}`);
    if (findings.length === 0 && losses.length === 0) print("  store and chain agree");
    else
      print(
        repaired
          ? "  reconciled with the chain: run the command again to see what is left"
          : "  nothing was changed",
      );
  }
}

function nonceText(assigned: LaneFindings["assigned"]): string {
  if (assigned === undefined) return "no nonce waits for a block";
  return `${assigned.count} nonce(s) wait for a block, ${assigned.lowest} to ${assigned.highest}`;
}

const WAIVER_SETTING = {
  placeholder: "ADDRESS",
  help: "Address of the lane's waiver.",
  required: true,
  parse: address,
} as const;

/** The command that sets each state. */
const VERBS = { open: "open", draining: "drain", stopped: "stop" } as const;

/** A command that sets the state of a lane, and then prints `done` after the waiver's address. */
function laneStateCommand(state: keyof typeof VERBS, description: string, done: string): Command {
  return defineCommand({
    description,
    examples: [`gas-waiver lanes ${VERBS[state]} --waiver 0xBcd4042DE499D14e55001CcbB24a551F3b954096`],
    settings: { waiver: WAIVER_SETTING, ...STORE_SETTINGS },
    async run(values, { print }) {
      const waiver = bytesToHex(values.waiver);
      const known = await withLanes(values, (admin) => admin.set(values.waiver, state, "by the operator"));
      if (!known) throw new CommandFailedError(`the service has no lane for waiver ${waiver}`);
      print(values.json ? JSON.stringify({ waiver, state }) : `${waiver} ${done}`);
    },
  });
}

export const drain = laneStateCommand(
  "draining",
  "The lane finishes the work of its present senders and gives the rest to other lanes. Then it is retired.",
  "takes nothing new, and is retired when it is done",
);

export const stop = laneStateCommand(
  "stopped",
  "The lane signs and sends nothing until it is opened again.",
  "is stopped",
);

export const open = laneStateCommand(
  "open",
  "It also opens a lane that the service has stopped by itself; remove the cause first.",
  "takes work again",
);

const wei = (text: string) => BigInt(wholeNumber(1)(text));

export const cancel = defineCommand({
  description:
    "A transaction of the waiver to itself, which pays, takes the place of a wrapper that blocks leave out and that the pools\n" +
    "keep. The waiver needs the gas token for it. Nothing accepted is lost: what waited in the lane goes on, and what the\n" +
    "wrapper carried gets another one. The service may run meanwhile.",
  examples: [
    "gas-waiver lanes cancel --waiver 0xBcd4042DE499D14e55001CcbB24a551F3b954096 --gas-price 2000000000 --waiver-keystore keystore --rpc-url http://127.0.0.1:8545",
  ],
  settings: {
    ...CUSTODY_SETTINGS,
    waiver: WAIVER_SETTING,
    gasPrice: {
      placeholder: "WEI",
      help: "What the transaction pays for a unit of gas.",
      required: true,
      parse: wei,
    },
    nonce: {
      placeholder: "N",
      help: "The nonce that you mean. If it is not the waiver's next one, nothing is sent.",
      defaultText: "the waiver's next one",
      parse: (text: string) => BigInt(wholeNumber(0)(text)),
    },
    ...NODE_SETTING,
    ...STORE_SETTINGS,
  },
  requires: [CUSTODY],
  check: problemsOfCustody,
  async run(values, context) {
    const { custody } = splitCustody(values);
    const { rpcUrl, gasPrice, nonce } = values;
    const chainId = await new JsonRpcClient(rpcUrl, context.signal).quantity("eth_chainId");
    const waivers = await openWaivers({ ...custody, chainId: Number(chainId) }, context);
    const account = waivers.find((one) => bytesEqual(one.address, values.waiver));
    const waiver = bytesToHex(values.waiver);
    if (account === undefined) throw new CommandFailedError(`the custody has no key of ${waiver}`);
    const cancelled = await withLanes(values, (admin) =>
      admin.cancelNonce(account, rpcUrl, { gasPrice, nonce }),
    );
    const hash = bytesToHex(cancelled.hash);
    context.print(
      values.json
        ? JSON.stringify({ waiver, nonce: cancelled.nonce.toString(), hash })
        : `${waiver} uses its nonce ${cancelled.nonce} for ${hash}; its lane goes on once that is in a block`,
    );
  },
});
