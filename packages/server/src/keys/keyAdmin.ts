import { describeValue, ProtocolError } from "@gas-waiver/protocol";
import type { Actor, AuditedChanges, KeyAction } from "../model/keys/auditRecord.js";
import {
  changeTerms,
  DEFAULT_PUBLISHABLE_CAPS,
  DEFAULT_SENDER_CAPS,
  invalidTerms,
  type KeyTerms,
  termsToJson,
} from "../model/keys/keyTerms.js";
import { type AuditQuery, auditEntries, recordEvent } from "../store/audit/audit.js";
import { lastChain } from "../store/chains.js";
import { databaseNow } from "../store/database/statements.js";
import {
  findKey,
  inKeyTransaction,
  insertKey,
  type KeyColumns,
  listKeys,
  type StoredKey,
  updateKey,
} from "../store/keys/apiKeys.js";
import { findDayUse } from "../store/keys/capUse.js";
import { openRunningStore, type Queryable, type Store, type StoreLocation } from "../store/store.js";
import { WorkQueue } from "../util/workQueue.js";
import { ENV_PATTERN, hashOfKey, KEY_ID_PATTERN, newKey, newKeyId } from "./apiKey.js";
import { type IssuedKey, type KeyRecord, type KeyUse, keyRecordOf } from "./keyRecord.js";

/**
 * Manages API keys (D25). A change applies on every replica within a second, and by the admin API on its own replica before the answer. It leaves an entry in the audit with the
 * name of its actor. All methods may throw {@link ProtocolError}: `NO_SUCH_KEY`, `INVALID_KEY_TERMS`, `KEY_STATE_FINAL` for
 * a change of a revoked key, or `QUEUE_AT_CAPACITY`.
 */
export type KeyAdmin = ReturnType<typeof createKeyAdmin>;

/** The default time for which the secret before a rotation stays valid. */
export const DEFAULT_OVERLAP_MS = 86_400_000;

/** The terms of a new key, unless its input names others. */
const NEW_KEY_TERMS: KeyTerms = { limits: {}, allowedTargets: undefined, caps: DEFAULT_SENDER_CAPS };
const NEW_PUBLISHABLE_KEY_TERMS: KeyTerms = { ...NEW_KEY_TERMS, caps: DEFAULT_PUBLISHABLE_CAPS };

/** Changes that may wait in one process. They run one at a time, because each holds a connection while it waits for a lock. */
const MAX_WAITING = 100;

export function createKeyAdmin(store: Store) {
  const queue = new WorkQueue({
    ...{ places: 1, waiting: MAX_WAITING },
    refusal: () => new ProtocolError("QUEUE_AT_CAPACITY", "too many changes of keys wait already"),
  });
  const inTurn = <T>(work: () => Promise<T>) => queue.run(work);
  const change = (actor: Actor | string, id: string, action: KeyAction, edit: KeyEdit) =>
    inTurn(() => changeKey(store, { actor, id, action }, edit));
  return {
    /**
     * @param input as JSON: `label`, and optionally `env`, `expiresAt`, `limits`, `allowedTargets`, `caps`. The caps of a sender
     * that it does not name are {@link DEFAULT_SENDER_CAPS}; `null` unsets one, or all caps. With `publishable: true`
     * everybody may see the key (D32): it needs `origins` and `allowedTargets`, always has caps for each sender, and has
     * {@link DEFAULT_PUBLISHABLE_CAPS} unless the input names others.
     */
    create: (actor: Actor | string, input: unknown) => inTurn(() => createKey(store, actor, input)),
    /** Lists keys in the order of their creation, beginning after the key `after`. */
    async list(page: { readonly after?: string | undefined; readonly limit: number }) {
      const now = await databaseNow(store);
      return (await listKeys(store, page)).map((key) => keyRecordOf(key, now));
    },
    /** Shows one key, with today's use of its caps if it has any. */
    async show(id: string) {
      const now = await databaseNow(store);
      const key = await existingKey(store, id);
      const record = keyRecordOf(key, now);
      return Object.keys(key.terms.caps).length > 0
        ? { ...record, today: await usageToday(store, id) }
        : record;
    },
    /**
     * @param input the members to change: `label`, `expiresAt`, `limits`, `allowedTargets`, `caps`, and `origins` of a
     * publishable key. `null` unsets one.
     */
    update: (actor: Actor | string, id: string, input: unknown) =>
      change(actor, id, "update", (key, now) => updatedColumns(key, now, input)),
    /** Issues a new secret. The secret before it stays valid for `overlapMs`; older ones end at once. */
    async rotate(actor: Actor | string, id: string, overlapMs: number) {
      let text = "";
      const record = await change(actor, id, "rotate", (key, now) => {
        text = newKey(key.env, id, key.isPublishable);
        const previous =
          overlapMs > 0 ? { hash: key.hash, until: new Date(now.getTime() + overlapMs) } : undefined;
        return { hash: hashOfKey(text), previous };
      });
      return { key: text, record };
    },
    disable: (actor: Actor | string, id: string) =>
      change(actor, id, "disable", (key, now) => ({ disabledAt: key.disabledAt ?? now })),
    enable: (actor: Actor | string, id: string) =>
      change(actor, id, "enable", () => ({ disabledAt: undefined })),
    /** Ends the key permanently. */
    revoke: (actor: Actor | string, id: string) =>
      change(actor, id, "revoke", (key, now) => ({ revokedAt: key.revokedAt ?? now })),
    /** Lists the events of the audit, the latest first. */
    audit: (query: AuditQuery) => auditEntries(store, query),
  };
}

/** Manages the keys of a service from outside its process. */
export type OpenKeyAdmin = Awaited<ReturnType<typeof openKeyAdmin>>;

/**
 * Connects to the store of a service, by its database URL or, while the service runs, by its data folder.
 * @throws {@link StartError} if the store cannot be reached.
 */
export async function openKeyAdmin(location: StoreLocation) {
  const store = await openRunningStore(location);
  return {
    ...createKeyAdmin(store),
    /** @returns the time by the database's clock, which decides when keys expire. */
    now: () => databaseNow(store),
    close: () => store.close(),
  };
}

async function usageToday(store: Store, id: string): Promise<KeyUse> {
  const { all, ends } = await findDayUse(store, id);
  return { transactions: Number(all.transactions), gas: all.gas.toString(), ends: ends.toISOString() };
}

async function createKey(store: Store, actor: Actor | string, input: unknown): Promise<IssuedKey> {
  const { env = await defaultEnv(store), publishable = false, ...members } = membersOf(input);
  if (typeof env !== "string" || !ENV_PATTERN.test(env)) {
    throw invalidTerms([`env is ${describeValue(env)}, not 1 to 16 lower-case letters and digits`]);
  }
  if (typeof publishable !== "boolean") {
    throw invalidTerms([`publishable is ${describeValue(publishable)}, not true or false`]);
  }
  const id = newKeyId();
  const key = newKey(env, id, publishable);
  const defaultTerms = publishable ? NEW_PUBLISHABLE_KEY_TERMS : NEW_KEY_TERMS;
  return inKeyTransaction(store, async (db, now) => {
    const { label, expiresAt, terms } = readInput({ label: null, ...members }, now, defaultTerms);
    assertOriginsFit(terms, publishable);
    const columns = {
      hash: hashOfKey(key),
      previous: undefined,
      notUnderstood: undefined,
      disabledAt: undefined,
      revokedAt: undefined,
    };
    const created = await insertKey(db, { id, env, label: label ?? "", expiresAt, terms, ...columns });
    const changes = changesBetween(undefined, created);
    await recordEvent(db, { actor, action: "create", keyId: id, changes: { env: { to: env }, ...changes } });
    return { key, record: keyRecordOf(created, now) };
  });
}

/** Computes the new values of some columns of a key. */
type KeyEdit = (key: StoredKey, now: Date) => Partial<KeyColumns>;

/** Applies one change to an existing key. A change without effect leaves no audit entry. */
function changeKey(
  store: Store,
  { actor, id, action }: { readonly actor: Actor | string; readonly id: string; readonly action: KeyAction },
  edit: KeyEdit,
): Promise<KeyRecord> {
  return inKeyTransaction(store, async (db, now) => {
    const before = await existingKey({ pool: db }, id);
    if (before.revokedAt && action !== "revoke") {
      throw new ProtocolError("KEY_STATE_FINAL", `key ${id} is revoked permanently`, { keyId: id });
    }
    const edited = { ...before, ...edit(before, now) };
    const changes = changesBetween(before, edited);
    if (Object.keys(changes).length === 0) return keyRecordOf(before, now);
    const after = await updateKey(db, id, edited);
    await recordEvent(db, { actor, action, keyId: id, changes });
    return keyRecordOf(after, now);
  });
}

/** The default env of a key: `live` on mainnet, otherwise `test`. */
async function defaultEnv(store: Store): Promise<string> {
  const chain = await lastChain(store);
  if (chain === undefined)
    throw invalidTerms([
      "nothing tells whether the key is for live or test: the store has served no chain yet; give env (--env live or --env test), or start the service first",
    ]);
  return chain.identity.chainId === MAINNET ? "live" : "test";
}

/** The chain id of the main network (D27). */
const MAINNET = 988;

function updatedColumns(key: StoredKey, now: Date, input: unknown): Partial<KeyColumns> {
  const members = membersOf(input);
  if ("env" in members) throw invalidTerms(["env is part of the key and does not change"]);
  if (key.notUnderstood)
    throw invalidTerms([`this version does not understand the key's terms: ${key.notUnderstood.why}`]);
  const { label, terms, ...read } = readInput(members, now, key.terms);
  assertOriginsFit(terms, key.isPublishable);
  const expiresAt = "expiresAt" in members ? read.expiresAt : key.expiresAt;
  return { label: label ?? key.label, expiresAt, terms };
}

/** A key with origins is publishable for good, and any other is secret for good: its text says which. */
function assertOriginsFit({ origins }: KeyTerms, isPublishable: boolean): void {
  if (isPublishable && origins === undefined) {
    throw invalidTerms(["a publishable key needs origins, whose pages may use it"]);
  }
  if (!isPublishable && origins !== undefined) {
    throw invalidTerms([
      "origins are for publishable keys, and this key is secret; create one that is publishable",
    ]);
  }
}

interface KeyInput {
  readonly label: string | undefined;
  readonly expiresAt: Date | undefined;
  readonly terms: KeyTerms;
}

function readInput(members: Record<string, unknown>, now: Date, before: KeyTerms): KeyInput {
  const { label, expiresAt, ...terms } = members;
  const problems: string[] = [];
  if (label !== undefined && (typeof label !== "string" || !/^[^\p{C}]{1,200}$/u.test(label))) {
    problems.push(
      `label is ${describeValue(label ?? undefined)}, not a text of 1 to 200 printable characters`,
    );
  }
  const expiry = typeof expiresAt === "string" ? new Date(expiresAt) : undefined;
  if (expiry === undefined ? (expiresAt ?? undefined) !== undefined : !(expiry > now)) {
    problems.push(
      `expiresAt is ${describeValue(expiresAt)}, not a time in the future such as 2030-01-31T00:00:00Z`,
    );
  }
  if (problems.length > 0) throw invalidTerms(problems);
  return { label: label as string | undefined, expiresAt: expiry, terms: changeTerms(before, terms) };
}

function membersOf(input: unknown): Record<string, unknown> {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return { ...input };
  throw invalidTerms([`the key is described by an object; this is ${describeValue(input)}`]);
}

/** Lists the changed values for the audit. A new secret is recorded without its value. */
function changesBetween(before: StoredKey | undefined, after: KeyColumns): AuditedChanges {
  const [oldValues, newValues] = [before && auditedValues(before), auditedValues(after)];
  const names = Object.keys(newValues) as (keyof typeof newValues)[];
  const changed = names.filter(
    (name) => JSON.stringify(oldValues?.[name]) !== JSON.stringify(newValues[name]),
  );
  const hasNewSecret = before === undefined || Buffer.compare(before.hash, after.hash) !== 0;
  return {
    ...Object.fromEntries(changed.map((name) => [name, { from: oldValues?.[name], to: newValues[name] }])),
    ...(hasNewSecret && { secret: { to: "a new one" } }),
  };
}

function auditedValues({ label, expiresAt, disabledAt, revokedAt, previous, terms }: KeyColumns) {
  return {
    label,
    expiresAt,
    disabledAt,
    revokedAt,
    previousSecretUntil: previous?.until,
    ...{ limits: undefined, allowedTargets: undefined, caps: undefined, origins: undefined },
    ...termsToJson(terms),
  };
}

/** Finds a key by its id. Queries the store only for well-formed ids, because PostgreSQL refuses some texts. */
async function existingKey(store: { readonly pool: Queryable }, id: string): Promise<StoredKey> {
  // The message does not repeat the text, which may be a whole key.
  if (!KEY_ID_PATTERN.test(id)) {
    throw new ProtocolError("NO_SUCH_KEY", "this is not a key's id, which has 16 hex digits");
  }
  const key = await findKey(store, id);
  if (key !== undefined) return key;
  const message = `the database has no key with the id ${id}; a key of --api-keys-file is a line of that file alone: change it there, and send SIGHUP`;
  throw new ProtocolError("NO_SUCH_KEY", message, { keyId: id });
}
