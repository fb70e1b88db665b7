import { define } from "../define.js";
import account from "./account.js";
import admin from "./admin.js";
import broadcast from "./broadcast.js";
import caps from "./caps.js";
import type { Reason } from "./index.js";
import innerTxRules from "./innerTxRules.js";
import type { ReasonNote } from "./reasonGroup.js";
import request from "./request.js";
import unreadable from "./unreadable.js";
import watch from "./watch.js";

/** Every reason of the closed list (D13): where a caller meets it, its cause, and its remedy. */
export const REASON_NOTES: Readonly<Record<Reason, ReasonNote>> = /* @__PURE__ */ define(() => ({
  ...unreadable.notes,
  ...innerTxRules.notes,
  ...account.notes,
  ...caps.notes,
  ...broadcast.notes,
  ...watch.notes,
  ...request.notes,
  ...admin.notes,
}));

/** The reasons in the sections of the reference. */
export const REASON_GROUPS: readonly { readonly title: string; readonly reasons: readonly Reason[] }[] = [
  section(unreadable),
  section(innerTxRules),
  section(account),
  section(caps),
  section(broadcast),
  section(watch),
  section(request),
  section(admin),
];

function section({ title, notes }: { readonly title: string; readonly notes: object }) {
  return { title, reasons: Object.keys(notes) as Reason[] };
}
