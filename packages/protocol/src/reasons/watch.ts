import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reason for which a `watch` has no submission to follow (D23). */
export const WATCH = {
  INVALID_REQUEST: {
    UNKNOWN_SUBMISSION: {},
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof WATCH> => ({
    title: "The submission cannot be watched",
    where: ["watch"],
    notes: {
      UNKNOWN_SUBMISSION: {
        cause: "This key has no submission with this `id`, or of a transaction with this hash.",
        remedy: "Check the name, or send the transaction again, which does no harm (D18).",
      },
    },
  }),
);
