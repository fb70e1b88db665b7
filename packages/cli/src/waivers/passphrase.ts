import type { Context } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { wholeNumber } from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";
import { readText } from "../settings/readText.js";
import { secretFileOf } from "../settings/secretFile.js";
import { InvalidValueError, namesOf, type Values } from "../settings/setting.js";

export const PASSPHRASE = "the passphrase";

/** The places of a passphrase. It is never an argument, because other users can see arguments. */
export const PASSPHRASE_SETTINGS = {
  passphraseFile: {
    ...namesOf("passphrase-file"),
    placeholder: "FILE",
    subject: PASSPHRASE,
    help: "File with the passphrase of the keystores on its first line.",
    defaultText: "the terminal is asked",
    parse: secretFileOf(firstLine),
  },
  passphraseFd: {
    flag: "passphrase-fd",
    placeholder: "N",
    subject: PASSPHRASE,
    help: "Number of an open file descriptor from which the passphrase is read.",
    parse: wholeNumber(0, 65_535),
  },
} as const;

/** Parses the first line of a file that holds a secret. */
export function firstLine(content: string): string {
  const line = content.split(/\r?\n/, 1)[0] ?? "";
  if (line === "") throw new InvalidValueError("holds nothing on its first line");
  return line;
}

const SHORTEST_NEW = 8;

/**
 * Reads the passphrase of a keystore from its place, or asks for it at the terminal.
 * @throws {@link UsageError} if there is none.
 */
export async function readPassphrase(
  { passphraseFile, passphraseFd }: Values<typeof PASSPHRASE_SETTINGS>,
  { promptSecret }: Pick<Context, "promptSecret">,
  question = "Passphrase of the keystore: ",
): Promise<string> {
  if (passphraseFile !== undefined) return passphraseFile;
  if (passphraseFd !== undefined) return fromDescriptor(passphraseFd);
  if (promptSecret) return await promptSecret(question);
  throw new UsageError(["the passphrase is missing: give --passphrase-file FILE or --passphrase-fd N"]);
}

function fromDescriptor(descriptor: number): string {
  try {
    return firstLine(readText(descriptor));
  } catch (error) {
    throw new UsageError([`--passphrase-fd ${descriptor} ${(error as Error).message}`]);
  }
}

/**
 * Reads the passphrase of a new keystore; the terminal is asked twice.
 * @throws {@link CommandFailedError} if it is short, or if programs would encode it in different ways.
 */
export async function readNewPassphrase(
  values: Values<typeof PASSPHRASE_SETTINGS>,
  context: Pick<Context, "promptSecret">,
): Promise<string> {
  const passphrase = await readPassphrase(values, context, "Passphrase of the new keystore: ");
  const isAsked = values.passphraseFile === undefined && values.passphraseFd === undefined;
  if (isAsked && (await context.promptSecret?.("The same again: ")) !== passphrase) {
    throw new CommandFailedError("the two passphrases differ");
  }
  if (passphrase.length < SHORTEST_NEW) {
    throw new CommandFailedError(`the passphrase is shorter than ${SHORTEST_NEW} characters`);
  }
  if (passphrase.normalize("NFKC") !== passphrase) {
    throw new CommandFailedError("the passphrase has characters that programs encode in different ways");
  }
  return passphrase;
}
