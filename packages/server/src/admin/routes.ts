import type { AuditRecord, KeyRecord } from "../keys/keyRecord.js";

/**
 * The operators' routes (D25), written once: they listen on a port of their own. Every one needs a token of an
 * operator, as `Authorization: Bearer`; failures have the form of D21. `:id` is a key's id.
 */
export const ADMIN_ROUTES = {
  /** Body: label, and maybe env, expiresAt, limits, allowedTargets, caps. 201 with the key, this once. */
  create: { method: "POST", path: "/admin/v1/keys" },
  /** Query: `limit`, and `after` for the next page. Answer: {@link KeyPage}. */
  list: { method: "GET", path: "/admin/v1/keys" },
  show: { method: "GET", path: "/admin/v1/keys/:id" },
  /** Body: what changes; `null` unsets. */
  update: { method: "PATCH", path: "/admin/v1/keys/:id" },
  /** Body: {@link RotateInput}, or none. Answers with the new key, this once. */
  rotate: { method: "POST", path: "/admin/v1/keys/:id/rotate" },
  disable: { method: "POST", path: "/admin/v1/keys/:id/disable" },
  enable: { method: "POST", path: "/admin/v1/keys/:id/enable" },
  revoke: { method: "POST", path: "/admin/v1/keys/:id/revoke" },
  /** Query: `key`, `limit`, and `before` for the next page. Answer: {@link AuditPage}. */
  audit: { method: "GET", path: "/admin/v1/audit" },
} as const;

export interface RotateInput {
  /** How long the secret before stays good; 86,400 unless given. */
  readonly overlapSeconds?: number;
}

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** What `after` of the next page is; absent at the end. */
  readonly next?: string;
}

export interface AuditPage {
  /** The latest first. */
  readonly entries: readonly AuditRecord[];
  /** What `before` of the next page is; absent at the end. */
  readonly next?: string;
}
