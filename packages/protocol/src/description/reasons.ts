import type { Reason } from "../reasons.js";
import { ADMIN } from "./adminReasons.js";
import { CHAIN, WATCH } from "./outcomeReasons.js";
import type { ReasonNote } from "./ReasonNote.js";
import { REQUEST } from "./requestReasons.js";
import { ACCOUNT, AGAINST_A_RULE, CAPS, UNREADABLE } from "./transactionReasons.js";

/** Every reason of the closed list (D13) with where it is seen, why, and what to do. */
export const REASON_NOTES: Readonly<Record<Reason, ReasonNote>> = {
  ...UNREADABLE,
  ...AGAINST_A_RULE,
  ...ACCOUNT,
  ...CAPS,
  ...CHAIN,
  ...WATCH,
  ...REQUEST,
  ...ADMIN,
};

/** The reasons as the reference groups them. */
export const REASON_GROUPS: readonly { readonly title: string; readonly reasons: readonly Reason[] }[] = [
  { title: "The transaction could not be read", reasons: namesOf(UNREADABLE) },
  { title: "The transaction breaks a rule", reasons: namesOf(AGAINST_A_RULE) },
  { title: "It does not fit the user's account", reasons: namesOf(ACCOUNT) },
  { title: "A daily cap is used up", reasons: namesOf(CAPS) },
  { title: "It could not be put on chain", reasons: namesOf(CHAIN) },
  { title: "A submission cannot be watched", reasons: namesOf(WATCH) },
  { title: "The request was refused whole", reasons: namesOf(REQUEST) },
  { title: "The admin API refused a request", reasons: namesOf(ADMIN) },
];

function namesOf(notes: Partial<Record<Reason, ReasonNote>>): Reason[] {
  return Object.keys(notes) as Reason[];
}
