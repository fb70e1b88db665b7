import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reason for which a daily cap of the API key refuses an InnerTx (D25). */
export const CAPS = {
  RATE_LIMITED: {
    CAP_EXCEEDED: { details: ["cap", "limit", "used", "asked", "ends"] },
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof CAPS> => ({
    title: "A daily cap is used up",
    where: ["submit", "check", "record"],
    notes: {
      CAP_EXCEEDED: {
        cause: "The key, or this sender under it, has used up its transactions or its gas of this day (UTC).",
        remedy:
          "Wait for the next day, or ask the operator. A transaction that fails without reaching the chain is not counted.",
      },
    },
  }),
);
