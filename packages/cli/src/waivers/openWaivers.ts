import type { WaiverAccount } from "@gas-waiver/protocol";
import { StartError } from "@gas-waiver/server";
import type { Context } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { UsageError } from "../settings/readSettings.js";
import { type CustodyValues, chosenCustody } from "./custodies.js";
import type { WaiverOpening } from "./custody.js";
import { readPassphrase } from "./passphrase.js";

type OpenValues = CustodyValues & {
  readonly chainId: number;
  readonly custodyTimeoutMs?: number | undefined;
};
type OpenContext = Pick<Context, "print" | "promptSecret">;

/**
 * Opens the custody that the settings name.
 * @throws {@link UsageError} for a keystore that cannot be opened, {@link CommandFailedError} for a custody that is of no use;
 * either names all that is wrong.
 */
export type OpenWaivers = (values: OpenValues, context: OpenContext) => Promise<readonly WaiverAccount[]>;

/** Opens the custody that the settings name, once. */
export const openWaivers: OpenWaivers = (values, context) => createOpener()(values, context);

/** Returns a function that opens the custody of a network, now and again later. It remembers a passphrase without a file. */
export function createOpener(): OpenWaivers {
  let known: string | undefined;
  const passphrase: ReadPassphrase = async (values, context) => {
    if (values.passphraseFile !== undefined) return values.passphraseFile;
    known ??= await readPassphrase(values, context);
    return known;
  };
  return async (values, context) => allOf(await tryToOpenWaivers(values, context, passphrase));
}

type ReadPassphrase = (values: OpenValues, context: OpenContext) => Promise<string>;

function allOf({ waivers, failures }: WaiverOpening): readonly WaiverAccount[] {
  const [first, ...others] = failures;
  if (first === undefined) return waivers;
  if (failures.every((failure) => failure instanceof UsageError))
    throw new UsageError(failures.flatMap(({ problems }) => problems));
  if (others.length === 0) throw first;
  const problems = failures.flatMap(problemsIn).map((problem) => `\n  - ${problem}`);
  throw new CommandFailedError(`the waivers' keys cannot be used:${problems.join("")}`);
}

/** Opens what can be opened of the custody that the settings name. */
export async function tryToOpenWaivers(
  values: OpenValues,
  context: OpenContext,
  passphrase: ReadPassphrase = readPassphrase,
): Promise<WaiverOpening> {
  let read: Promise<string> | undefined;
  const { chainId, custodyTimeoutMs: timeoutMs } = values;
  const opened = await chosenCustody(values)?.open(values, {
    ...{ chainId, timeoutMs, print: context.print },
    passphrase() {
      read ??= passphrase(values, context);
      return read;
    },
  });
  return opened ?? { waivers: [], failures: [] };
}

/** Lists what an error says, one sentence each. */
export function problemsIn(error: Error): readonly string[] {
  const { cause } = error;
  if (error instanceof UsageError) return error.problems;
  return cause instanceof StartError ? cause.problems : [error.message];
}
