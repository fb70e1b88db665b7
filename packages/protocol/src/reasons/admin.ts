import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reasons for which the admin API refuses an operator's request (D25). */
export const ADMIN = {
  INVALID_REQUEST: {
    INVALID_KEY_TERMS: {},
    KEY_STATE_FINAL: { status: 409 },
  },
  NOT_FOUND: {
    NO_SUCH_KEY: {},
  },
  UNAUTHORIZED: {
    ROLE_TOO_LOW: { status: 403 },
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof ADMIN> => ({
    title: "The admin API refused a request",
    where: ["admin"],
    notes: {
      INVALID_KEY_TERMS: {
        cause: "The terms of a key hold a value that cannot be set.",
        remedy: "Correct what the message names.",
      },
      KEY_STATE_FINAL: { cause: "The key is revoked, which is final.", remedy: "Create another key." },
      NO_SUCH_KEY: { cause: "No key has this id.", remedy: "Check the id." },
      ROLE_TOO_LOW: {
        cause: "The role of the admin token does not include this.",
        remedy: "Use the token of somebody who may.",
      },
    },
  }),
);
