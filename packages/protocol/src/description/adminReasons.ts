import type { Reason } from "../reasons.js";
import type { ReasonNote } from "./ReasonNote.js";

type Notes = Partial<Record<Reason, ReasonNote>>;

/** An operator's request to the admin API was refused (D25). */
export const ADMIN = {
  INVALID_KEY_TERMS: {
    where: ["admin"],
    cause: "The description of a key holds something that cannot be set.",
    remedy: "Correct what the message names.",
    retry: "corrected",
  },
  KEY_STATE_FINAL: {
    where: ["admin"],
    cause: "The key is revoked, and stays so.",
    remedy: "Create another key.",
    retry: "corrected",
  },
  NO_SUCH_KEY: {
    where: ["admin"],
    cause: "There is no key with this id.",
    remedy: "Check the id.",
    retry: "corrected",
  },
} as const satisfies Notes;
