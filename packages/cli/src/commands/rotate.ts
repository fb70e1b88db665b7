import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesEqual, checksumAddress, hexToBytes } from "@gas-waiver/protocol";
import type { LaneAdmin } from "@gas-waiver/server";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError, IncompleteError } from "../errorMessage.js";
import { createDecisionMaker } from "../governance/decision.js";
import { Registry } from "../governance/registry.js";
import { VALIDATOR, VALIDATOR_SETTINGS, validatorsOf } from "../governance/settings.js";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { address } from "../settings/parsers.js";
import type { Values } from "../settings/setting.js";
import { STORE_SETTINGS, withLanes } from "../store/withStore.js";
import { storeKey } from "../waivers/keystoreFiles.js";
import { PASSPHRASE_SETTINGS } from "../waivers/passphrase.js";
import { advance, nextStep, type Rotation, type RotationParties, viewRotation } from "../waivers/rotation.js";
import { RotationOutput } from "../waivers/rotationOutput.js";
import { FOLDER_SETTING, SEAL_SETTING } from "../waivers/waiverSettings.js";
import { CHAIN_SETTINGS } from "./governance.js";

const SETTINGS = {
  from: {
    placeholder: "ADDRESS",
    help: "The waiver whose key is to be replaced.",
    required: true,
    parse: address,
  },
  to: {
    placeholder: "ADDRESS",
    help: "The waiver that takes its place, whose key the replicas will find where they read theirs.",
    defaultText: "that of an earlier run, otherwise a new key in --folder",
    parse: address,
  },
  folder: { ...FOLDER_SETTING, help: "Folder of the keystores, for a new key." },
  ...PASSPHRASE_SETTINGS,
  seal: SEAL_SETTING,
  dev: {
    subject: VALIDATOR,
    help: "Propose and vote as the devnet's validators. Their keys are public.",
  },
  ...VALIDATOR_SETTINGS,
  rpcUrl: CHAIN_SETTINGS.rpcUrl,
  ...STORE_SETTINGS,
} as const;

/** The pause between two looks at the chain and the service, in ms. */
const POLL_MS = 500;

/** The shortest pause between two requests to read the keys: a replica works for a second on each keystore. */
const RELOAD_EVERY_MS = 5_000;

export const rotate = defineCommand({
  description:
    "The command makes a key (or takes --to), has governance register it with the targets of the old one, has all replicas read\n" +
    "it, drains the old lane until its last wrapper is in a final block, and has the old waiver revoked. The service goes on\n" +
    "meanwhile. With a validator's key it proposes and votes; without one it prints what is to be proposed, and waits. After\n" +
    "Ctrl-C, the same command goes on where it was. The passphrase of a new key must be that of the replicas' keystores.",
  examples: [
    "gas-waiver waivers rotate --from 0x… --folder keystore",
    "gas-waiver waivers rotate --from 0x… --to 0x… --validator-key-file validator.key",
  ],
  settings: SETTINGS,
  check: ({ from, to }) =>
    from && to && bytesEqual(from, to) ? ["--from and --to are the same waiver"] : [],
  run: (values, context) => withLanes(values, (lanes) => rotateWith(lanes, values, context)),
});

type RotateValues = Values<typeof SETTINGS>;

async function rotateWith(lanes: LaneAdmin, values: RotateValues, context: Context): Promise<void> {
  const { signal } = context;
  try {
    const rotation = { from: values.from, to: await successor(lanes, values, context) };
    const validators = validatorsOf(values);
    const governance = createDecisionMaker(
      new Registry(new JsonRpcClient(values.rpcUrl, signal)),
      validators,
    );
    const output = new RotationOutput(rotation, values.json === true, context);
    await walkThrough(rotation, { lanes: rarelyReloading(lanes), governance }, output, {
      signal,
      hasValidator: validators.length > 0,
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new IncompleteError("interrupted: the same command goes on", { cause: error });
  }
}

async function walkThrough(
  rotation: Rotation,
  parties: RotationParties,
  output: RotationOutput,
  { signal, hasValidator }: { readonly signal: AbortSignal; readonly hasValidator: boolean },
): Promise<void> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const view = await viewRotation(rotation, parties);
      const step = nextStep(view);
      if (step === undefined) break;
      output.begin(step, view, hasValidator);
      output.update(view, await advance(step, rotation, view, parties));
      await sleep(POLL_MS, undefined, { signal });
    }
    output.complete();
  } finally {
    output.clear();
  }
}

function rarelyReloading(lanes: LaneAdmin): LaneAdmin {
  let nextAt = 0;
  const reload = async () => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + RELOAD_EVERY_MS;
    await lanes.reload();
  };
  return { ...lanes, reload };
}

/** Returns the waiver that takes the place: the given one, that of an earlier run, or a new one. Records it in the audit. */
async function successor(lanes: LaneAdmin, values: RotateValues, context: Context): Promise<Uint8Array> {
  const { from, to } = values;
  const isKnown = (await lanes.list()).some(({ waiver }) => bytesEqual(waiver, from));
  if (!isKnown) throw new CommandFailedError(`the service has no lane for waiver ${checksumAddress(from)}`);
  const recorded = await lanes.successorOf(from);
  if (recorded && (to === undefined || bytesEqual(to, recorded))) return recorded;
  const chosen = to ?? hexToBytes(await storeKey(randomBytes(32), values, context));
  await lanes.recordRotation(from, chosen);
  return chosen;
}
