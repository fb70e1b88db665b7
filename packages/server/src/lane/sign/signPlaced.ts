import { noteSigned } from "../../chain/evidence.js";
import type { LaneSigner } from "../../signing/laneSigner.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { SignedSubmission } from "../../store/transitions/saveSigned.js";
import type { Placeable, Placed } from "./placement.js";

/** A submission with its waiver nonce and its signed wrapper. */
export type SignedPlaced<T extends Placeable = Placeable> = SignedSubmission & { readonly submission: T };

/**
 * Signs the wrappers of placed submissions.
 * @param head the height of the chain, if it is known.
 * @returns the first ones, where the custody has not signed all yet.
 */
export async function signPlaced<T extends Placeable>(
  placed: readonly Placed<T>[],
  laneSigner: Pick<LaneSigner, "sign">,
  head?: bigint,
): Promise<readonly SignedPlaced<T>[]> {
  const requests = placed.map(({ submission: { id, innerRaw }, waiverNonce }) => ({
    id,
    innerRaw,
    waiverNonce,
  }));
  const wrappers = await laneSigner.sign(requests);
  return wrappers.map(({ wrapperRaw, wrapperHash }, i): SignedPlaced<T> => {
    const one = placed[i];
    if (one === undefined) throw new Error("the signer returned more wrappers than it was given");
    const { submission, waiverNonce } = one;
    const { id, signings } = submission;
    noteSigned({ wrapperRaw, wrapperHash });
    return { submission, waiverNonce, wrapperRaw, wrapperHash, id, signings, head };
  });
}

/** @param origin the replica whose clients wait for the result. */
export function toInFlight(
  { submission, waiverNonce, wrapperRaw, wrapperHash }: SignedPlaced,
  origin: string,
): InFlightSubmission {
  const { id, innerHash, sender, senderNonce, keyId } = submission;
  return {
    id,
    state: "signed",
    signings: submission.signings + 1,
    waiverNonce,
    wrapperRaw,
    wrapperHash,
    innerHash,
    sender,
    senderNonce,
    keyId,
    origin,
  };
}
