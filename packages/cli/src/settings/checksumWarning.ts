import { type AllowedTarget, checksumAddress } from "@gas-waiver/protocol";

/** For each list of targets, its addresses that were written without a checksum. */
const unchecked = new WeakMap<readonly AllowedTarget[], readonly Uint8Array[]>();

/**
 * Remembers the addresses of a list that are written in one case, so that nothing would show a mistyped digit.
 * @param entries the list as JSON.
 */
export function noteUnchecked(targets: readonly AllowedTarget[], entries: readonly AllowedTargetText[]) {
  const addresses = targets.flatMap(({ address }, i) =>
    address !== "*" && entries[i]?.address !== checksumAddress(address) ? [address] : [],
  );
  unchecked.set(targets, addresses);
}

interface AllowedTargetText {
  readonly address: string;
}

/** Warns of addresses without a checksum (D4). @returns undefined if each has one. */
export function checksumWarning(targets: readonly AllowedTarget[] | null | undefined): string | undefined {
  const written = (unchecked.get(targets ?? []) ?? []).map((address) => checksumAddress(address));
  if (written.length === 0) return undefined;
  return `without upper and lower case, nothing shows a mistyped digit, and the public chain asks for it (EIP-55): write ${written.join(", ")}`;
}

/** Prints the warning, for a person. */
export function printChecksumWarning(
  targets: Parameters<typeof checksumWarning>[0],
  { json, print }: { readonly json: boolean | undefined; readonly print: (line: string) => void },
): void {
  const warning = json ? undefined : checksumWarning(targets);
  if (warning !== undefined) print(`warning: ${warning}`);
}
