import { define } from "../define.js";
import type { ReasonCodes, ReasonGroup, StatusesOf } from "./reasonGroup.js";

/** The reasons for which the admin API refuses an operator's request (D25). */
export const ADMIN = {
  INVALID_KEY_TERMS: "INVALID_REQUEST",
  KEY_STATE_FINAL: "INVALID_REQUEST",
  NO_SUCH_KEY: "NOT_FOUND",
  ROLE_TOO_LOW: "UNAUTHORIZED",
} as const satisfies ReasonCodes;

/** The HTTP status of these reasons, where it is not the one of their code. */
export const ADMIN_STATUSES = { KEY_STATE_FINAL: 409, ROLE_TOO_LOW: 403 } as const satisfies StatusesOf<
  typeof ADMIN
>;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof ADMIN> => ({
    title: "The admin API refused a request",
    notes: {
      INVALID_KEY_TERMS: {
        where: ["admin"],
        cause: "The terms of a key hold a value that cannot be set.",
        remedy: "Correct what the message names.",
      },
      KEY_STATE_FINAL: {
        where: ["admin"],
        cause: "The key is revoked, which is final.",
        remedy: "Create another key.",
      },
      NO_SUCH_KEY: {
        where: ["admin"],
        cause: "No key has this id.",
        remedy: "Check the id.",
      },
      ROLE_TOO_LOW: {
        where: ["admin"],
        cause: "The role of the admin token does not include this.",
        remedy: "Use the token of somebody who may.",
      },
    },
  }),
);
