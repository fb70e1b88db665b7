import type { WaiverAccount } from "@gas-waiver/protocol";
import { InvalidOptionsError } from "./model/errors.js";
import { waiversOf } from "./model/options/networkOptions.js";
import type { ReloadableOptions } from "./model/options/reloadableOptions.js";
import { type Logger, setLogLevel } from "./model/telemetry/log.js";
import type { PreparedOptions } from "./network.js";
import type { CheckedOptions, NetworkSlot } from "./networkSlot.js";

/** @throws {@link InvalidOptionsError} if there is no such network. */
function slotOf(slots: readonly NetworkSlot[], name: string): NetworkSlot {
  const slot = slots.find(({ place }) => place.name === name);
  if (slot === undefined) throw new InvalidOptionsError([`there is no network ${name}`]);
  return slot;
}

/** Checks the options of all these networks, prepares all, and only then changes any. */
export async function setOptionsOfAll(
  slots: readonly NetworkSlot[],
  changedByName: Readonly<Record<string, ReloadableOptions>>,
  log: Logger,
): Promise<void> {
  const problems: string[] = [];
  const checked: { readonly slot: NetworkSlot; readonly options: CheckedOptions }[] = [];
  for (const [name, changed] of Object.entries(changedByName)) {
    try {
      const slot = slotOf(slots, name);
      checked.push({ slot, options: slot.checkOptions(changed) });
    } catch (error) {
      if (!(error instanceof InvalidOptionsError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new InvalidOptionsError([...new Set(problems)]);
  const prepared: PreparedOptions[] = [];
  for (const { slot, options } of checked) prepared.push(await slot.prepareOptions(options));
  const logLevel = checked.at(-1)?.options.resolved.logLevel;
  if (logLevel !== undefined) setLogLevel(log, logLevel);
  await Promise.all(prepared.map((apply) => apply()));
}

/** Changes the waivers of one network. @throws {@link InvalidOptionsError} if another network of its chain has one of them. */
export async function setWaivers(
  slots: readonly NetworkSlot[],
  name: string,
  accounts: readonly WaiverAccount[],
): Promise<void> {
  const slot = slotOf(slots, name);
  const { chainId } = slot.place.options;
  const others = slots.filter((other) => other !== slot && other.place.options.chainId === chainId);
  const changed = new Set(others.length > 0 ? waiversOf(chainId, accounts) : []);
  const taken = others
    .flatMap((other) => waiversOf(chainId, other.waivers))
    .filter((waiver) => changed.has(waiver));
  if (taken.length > 0)
    throw new InvalidOptionsError(taken.map((waiver) => `another network has the waiver ${waiver}`));
  await slot.setWaivers(accounts);
}
