import { bytesToHex } from "@gas-waiver/protocol";
import { type Command, defineCommand } from "../../command.js";
import { CommandFailedError } from "../../errorMessage.js";
import { withLanes } from "../../lanes/withLanes.js";
import { address } from "../../settings/parsers.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

const WAIVER_SETTING = {
  flag: "waiver",
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
    rules: { alternatives: STORE_ALTERNATIVES },
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
