import { type AllowedTarget, InvalidAllowedTargetError, parseAllowedTargets } from "@gas-waiver/protocol";
import {
  type AdminRole,
  type AdminToken,
  isKeyOrigin,
  isOrigin,
  namesSeveralHosts,
  parseAddressBlock,
  parseKmsKeyName,
  weaknessOfKey,
} from "@gas-waiver/server";
import { noteUnchecked } from "./checksumWarning.js";
import { listOf, withForm } from "./form.js";
import { entriesOf, fileOf, text, url } from "./parsers.js";
import { InvalidValueError } from "./setting.js";

// The parsers of values whose rules are the service's own.

const postgresUrl = url("postgres:", "postgresql:");

/** Parses the URL of a PostgreSQL. White space around it does not count, since files end with a line break. */
export function databaseUrl(value: string): string {
  const trimmed = value.trim();
  if (!namesSeveralHosts(trimmed)) return postgresUrl(trimmed);
  throw new InvalidValueError("names several hosts: give one name that leads to the primary");
}

/** Parses API keys, as they stand in the Authorization header. The errors never quote a key. */
export const apiKeys = withForm(listOf(text), (list) => {
  const entries = entriesOf(list);
  if (entries.length === 0) throw new InvalidValueError("holds no API key");
  for (const [i, entry] of entries.entries()) {
    const weakness = weaknessOfKey(entry);
    if (weakness === undefined) continue;
    const remedy = "make one with `openssl rand -hex 32`, or with `gas-waiver keys create`";
    throw new InvalidValueError(`holds a weak API key at position ${i + 1}, which ${weakness}: ${remedy}`);
  }
  return entries;
});

/**
 * Parses the operators' tokens: `NAME/ROLE/EXPIRES:TOKEN`, where the role and the expiry may be left out, or a token alone
 * under the name "admin". The errors never quote a token.
 */
export const adminTokens = withForm(listOf(text), (list): AdminToken[] => {
  const entries = entriesOf(list);
  if (entries.length === 0) throw new InvalidValueError("holds no admin token");
  return entries.map((entry, i) => {
    const [, head = "admin", token = entry] = /^([\w.@/-]{1,128}):(.+)$/.exec(entry) ?? [];
    const [name = "", role = "admin", expires, ...surplus] = head.split("/");
    const expiresAt = expires === undefined ? undefined : new Date(`${expires}T00:00:00Z`);
    const isDay = expiresAt === undefined || /^\d{4}-\d\d-\d\d$/.test(expires ?? "");
    const place = `holds at position ${i + 1} `;
    if (!isAdminRole(role)) throw new InvalidValueError(`${place}no role of ${ADMIN_ROLES.join(", ")}`);
    if (surplus.length > 0 || !isDay || Number.isNaN(expiresAt?.getTime() ?? 0)) {
      throw new InvalidValueError(`${place}no expiry such as 2030-01-31`);
    }
    if (!/^[\x21-\x7e]{32,256}$/.test(token)) {
      throw new InvalidValueError(
        `${place}no usable token: 32 to 256 printable characters without spaces are needed`,
      );
    }
    const weakness = weaknessOfKey(token);
    if (weakness !== undefined) {
      const remedy = "make one with `openssl rand -hex 32`";
      throw new InvalidValueError(`${place}a weak token, which ${weakness}: ${remedy}`);
    }
    return { name, token, role, ...(expiresAt && { expiresAt }) };
  });
});

const ADMIN_ROLES = ["viewer", "operator", "admin"] as const satisfies readonly AdminRole[];

function isAdminRole(text: string): text is AdminRole {
  return ADMIN_ROLES.some((role) => role === text);
}

/** Parses the name of a key in a cloud's key management service. */
export function kmsKeyName(value: string): string {
  if (parseKmsKeyName(value)) return value;
  throw new InvalidValueError(
    "names no key: an ARN, a key id or alias/NAME of AWS KMS, projects/… of Google Cloud KMS, or https://…/keys/… of Azure Key Vault",
  );
}

/** Parses web origins, separated by commas, `loopback`, or `*`. */
export const origins = withForm(listOf(text), (value) => originsIn(value, isOrigin, "loopback or *"));

/** Parses the origins of a publishable key, which may contain `wallets` as well. */
export function keyOrigins(value: string): string[] {
  return originsIn(value, isKeyOrigin, "loopback, wallets or *");
}

function originsIn(value: string, isGood: (entry: string) => boolean, words: string): string[] {
  const entries = entriesOf(value);
  if (entries.length > 0 && entries.every(isGood)) return entries;
  throw new InvalidValueError(
    `is not a list of origins such as https://app.example.com (no path, no slash at the end), ${words}`,
  );
}

/** Parses addresses and CIDR blocks, separated by commas. */
export const addressBlocks = withForm(listOf(text), (value) => {
  const entries = entriesOf(value);
  const isGood = entries.length > 0 && entries.every((entry) => parseAddressBlock(entry) !== undefined);
  if (isGood) return entries;
  throw new InvalidValueError("is not a list of addresses and blocks such as 10.0.0.0/8 or fd00::/8");
});

/** Parses a JSON list of AllowedTargets. */
export function allowedTargets(json: string): AllowedTarget[] {
  try {
    const entries = JSON.parse(json);
    const targets = parseAllowedTargets(entries);
    noteUnchecked(targets, entries);
    return targets;
  } catch (error) {
    if (error instanceof InvalidAllowedTargetError) throw new InvalidValueError(`is wrong: ${error.message}`);
    throw new InvalidValueError("is not JSON");
  }
}

/** Parses the path of a JSON file of AllowedTargets, or the JSON itself. */
export const allowedTargetsOrFile = withForm({ kind: "targets" }, (value) =>
  value.startsWith("[") ? allowedTargets(value) : fileOf(allowedTargets)(value),
);

/**
 * Parses what a key may send: a list such as `0x…:0xa9059cbb,0x…` of contracts, each with the selectors that it may call, or
 * the path of a JSON file.
 */
export function targetListOrFile(value: string): AllowedTarget[] {
  if (!/^(?:0x|\*)/.test(value)) return fileOf(allowedTargets)(value);
  const targets = entriesOf(value).map((entry) => {
    const [address, ...selectors] = entry.split(":");
    return { address, ...(selectors.length > 0 && { selectors }) };
  });
  return allowedTargets(JSON.stringify(targets));
}
