import { DATABASE_TROUBLES } from "./databaseTroubles.js";
import { NODE_TROUBLES } from "./nodeTroubles.js";
import { SERVICE_TROUBLES } from "./serviceTroubles.js";
import type { Troubles } from "./trouble.js";
import { WAIVER_TROUBLES } from "./waiverTroubles.js";

/** The troubles in the order in which they come. */
export const TROUBLES = {
  ...NODE_TROUBLES,
  ...WAIVER_TROUBLES,
  ...DATABASE_TROUBLES,
  ...SERVICE_TROUBLES,
} satisfies Troubles;

export type TroubleName = keyof typeof TROUBLES;

/** A rule whose bound no run can wait for. */
export const shorten = (expr: string) =>
  expr.replace(
    "gas_waiver_store_oldest_transaction_seconds) > 600",
    "gas_waiver_store_oldest_transaction_seconds) > 10",
  );
