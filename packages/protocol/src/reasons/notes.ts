import { define } from "../define.js";
import account from "./account.js";
import admin from "./admin.js";
import broadcast from "./broadcast.js";
import caps from "./caps.js";
import { isValidatorReason, type Reason } from "./index.js";
import innerTxRules from "./innerTxRules.js";
import type { ReasonNote } from "./reasonGroup.js";
import request from "./request.js";
import unreadable from "./unreadable.js";
import watch from "./watch.js";

const GROUPS = [unreadable, innerTxRules, account, caps, broadcast, watch, request, admin];

/** Every reason of the closed list (D13): where a caller meets it, its cause, and its remedy. */
export const REASON_NOTES: Readonly<Record<Reason, ReasonNote>> = /* @__PURE__ */ define(() => {
  const entries = GROUPS.flatMap(({ where: usual, notes }) =>
    Object.entries<Omit<ReasonNote, "where"> & Partial<ReasonNote>>(notes).map(
      ([reason, { where = usual, ...note }]) => [
        reason,
        { where: isValidatorReason(reason) ? [...where, "node"] : where, ...note },
      ],
    ),
  );
  return Object.fromEntries(entries);
});

/** The reasons in the sections of the reference. */
export const REASON_GROUPS: readonly { readonly title: string; readonly reasons: readonly Reason[] }[] =
  /* @__PURE__ */ define(() =>
    GROUPS.map(({ title, notes }) => ({ title, reasons: Object.keys(notes) as Reason[] })),
  );
