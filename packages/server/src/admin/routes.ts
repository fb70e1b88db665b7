import type { AuditRecord, KeyRecord } from "../keys/keyRecord.js";

/**
 * The operators' routes (D25), on a port of their own. Each needs an operator's token, as `Authorization: Bearer`. Errors
 * have the shape of D21. `:id` is the id of a key.
 */
export const ADMIN_ROUTES = {
  /** Body: `label`, and optionally `env`, `expiresAt`, `limits`, `allowedTargets`, `caps`. Answers 201 with the key, only once. */
  create: { method: "POST", path: "/admin/v1/keys" },
  /** Query: `limit`, and `after` for the next page. Answers a {@link KeyPage}. */
  list: { method: "GET", path: "/admin/v1/keys" },
  show: { method: "GET", path: "/admin/v1/keys/:id" },
  /** Body: the members to change; `null` unsets one. */
  update: { method: "PATCH", path: "/admin/v1/keys/:id" },
  /** Body: {@link RotateInput}, or none. Answers the new key, only once. */
  rotate: { method: "POST", path: "/admin/v1/keys/:id/rotate" },
  disable: { method: "POST", path: "/admin/v1/keys/:id/disable" },
  enable: { method: "POST", path: "/admin/v1/keys/:id/enable" },
  revoke: { method: "POST", path: "/admin/v1/keys/:id/revoke" },
  /** Query: `key`, `limit`, and `before` for the next page. Answers an {@link AuditPage}. */
  audit: { method: "GET", path: "/admin/v1/audit" },
} as const;

export interface RotateInput {
  /** The secret before the rotation stays valid for this long; 86,400 by default. */
  readonly overlapSeconds?: number;
}

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string;
}

export interface AuditPage {
  /** The latest change comes first. */
  readonly entries: readonly AuditRecord[];
  /** The value of `before` for the next page; absent on the last one. */
  readonly next?: string;
}
