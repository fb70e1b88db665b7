import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reasons for which a string is not read as a signed transaction (D2). */
export const UNREADABLE = {
  PARSE_ERROR: {
    INVALID_HEX: {},
    EMPTY_TRANSACTION: { node: true },
    MALFORMED_RLP: { node: true },
    NON_CANONICAL_RLP: { node: true },
    MALFORMED_TRANSACTION: { node: true },
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof UNREADABLE> => ({
    title: "The transaction cannot be read",
    where: ["submit", "check", "record"],
    notes: {
      INVALID_HEX: {
        where: ["submit", "check"],
        cause: "The string is not `0x` followed by whole bytes in hex.",
        remedy: "Send what the signing library returned, unchanged.",
      },
      EMPTY_TRANSACTION: {
        cause: "The string is empty, or `0x` alone.",
        remedy: "Send the signed transaction.",
      },
      MALFORMED_RLP: {
        cause: "The bytes are cut off or padded, or a field is missing, surplus or of the wrong kind.",
        remedy: "Send the whole signed bytes; an unsigned transaction has too few fields.",
      },
      NON_CANONICAL_RLP: {
        cause: "A number has leading zeros, or a length is not in its shortest form (D2).",
        remedy: "Use a library that encodes canonically; all current ones do.",
      },
      MALFORMED_TRANSACTION: {
        cause: "A field has a length that it cannot have, such as an address of 19 bytes.",
        remedy: "Correct the field that the message names, and sign again.",
      },
    },
  }),
);
