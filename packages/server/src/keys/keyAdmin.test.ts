import { once } from "node:events";
import { ProtocolError } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../test/support/callers.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import { adoptChain } from "../store/chains.js";
import type { Store } from "../store/store.js";
import { hashOfKey } from "./apiKey.js";
import { KeyDirectory } from "./directory.js";
import { createKeyAdmin, type KeyAdmin } from "./keyAdmin.js";

let store: Store;
let admin: KeyAdmin;
const directories: KeyDirectory[] = [];
const databases = useTestStore(
  "perTest",
  async (opened) => {
    store = opened;
    admin = createKeyAdmin(store);
    await expect(admin.create("tests", { label: "early" })).rejects.toThrow("has served no chain yet");
    await adoptChain(store, { chainId: 2201, genesisHash: new Uint8Array(32).fill(1) });
  },
  "tcp",
);
afterEach(async () => {
  vi.useRealTimers();
  for (const directory of directories.splice(0)) directory.close();
});

const OPTIONS = { ...LIMITS, keyQueueShare: LIMITS.queueShare, queueCapacity: 1_000 };

async function directory(now?: () => number, options = OPTIONS): Promise<KeyDirectory> {
  const opened = await KeyDirectory.open({ store, log: silent, options, ...(now && { now }) });
  directories.push(opened);
  return opened;
}

/** @returns `accepted`, or the reason of the refusal. */
function outcome(keys: KeyDirectory, key: string): string {
  try {
    keys.authenticate(key, hashOfKey(key));
    return "accepted";
  } catch (error) {
    return (error as ProtocolError).reason;
  }
}

async function refusal(work: Promise<unknown>): Promise<ProtocolError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ProtocolError) return error;
  throw new Error(`it was not refused: ${error}`);
}

describe("a key that is created", () => {
  it("is shown once, as gw_<env>_<id>_<secret>, and is accepted by a directory that opens then", async () => {
    const { key, record } = await admin.create("tests", { label: "first", env: "dev1" });
    expect(key).toMatch(new RegExp(`^gw_dev1_${record.id}_[0-9a-f]{48}$`));
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      env: "dev1",
      label: "first",
      state: "active",
      createdAt: expect.any(String),
      caps: { senderTransactions: 500, senderGas: "50000000" },
    });
    expect(await admin.show(record.id)).toMatchObject(record);
    expect(outcome(await directory(), key)).toBe("accepted");
  });

  it("leaves no part of its secret in the store", async () => {
    const { key } = await admin.create("tests", { label: "first" });
    const secret = key.slice(key.lastIndexOf("_") + 1);
    const { rows } = await store.pool.query<{ text: string }>(
      "select k::text as text from api_keys k union all select a::text from audit a",
    );
    expect(rows).toHaveLength(2);
    for (const { text } of rows) expect(text).not.toContain(secret.slice(0, 16));
  });

  it("has its terms, with a batch size that fits into its burst and its share of the queue", async () => {
    const terms = {
      limits: { rateBurst: 30, maxGasLimit: "50000000", maxDataLength: 10 },
      caps: { gas: "5", senderTransactions: null, senderGas: null },
    };
    const { key, record } = await admin.create("tests", { label: "narrow", ...terms });
    expect(record).toMatchObject({ ...terms, caps: { gas: "5" } });
    const options = { ...OPTIONS };
    const keys = await directory(undefined, options);
    const { caller } = keys.authenticate(key, hashOfKey(key));
    expect(caller).toMatchObject({ keyId: record.id, allowedTargets: undefined, caps: { gas: 5n } });
    expect(caller.limits).toEqual({
      ...LIMITS,
      rateBurst: 30,
      maxBatchSize: 30,
      maxDataLength: 10,
      // A key cannot exceed what protects the service.
      maxGasLimit: LIMITS.maxGasLimit,
    });
    await admin.update("tests", record.id, { limits: { queueShare: 0.002 } });
    await keys.refresh();
    const limits = () => keys.authenticate(key, hashOfKey(key)).caller.limits;
    expect(limits().maxBatchSize).toBe(2);
    Object.assign(options, { ratePerSecond: 7, queueCapacity: 500 });
    await keys.refresh(true);
    expect(limits()).toMatchObject({ ratePerSecond: 7, maxBatchSize: 1 });
  });

  it("caps each sender by default, unless its input says otherwise; keys without caps stay as they are", async () => {
    const senderCaps = { senderTransactions: 500, senderGas: "50000000" };
    const capsOf = async (caps?: object | null) =>
      (await admin.create("tests", { label: "k", ...(caps !== undefined && { caps }) })).record.caps;
    expect(await capsOf()).toEqual(senderCaps);
    expect(await capsOf({ gas: 7, senderGas: 8 })).toEqual({ ...senderCaps, gas: "7", senderGas: "8" });
    expect(await capsOf({ senderTransactions: null })).toEqual({ senderGas: "50000000" });
    expect(await capsOf(null)).toBeUndefined();
    const { record } = await admin.create("tests", { label: "earlier" });
    await store.pool.query("update api_keys set terms = '{}' where id = $1", [record.id]);
    expect((await admin.update("tests", record.id, { label: "renamed" })).caps).toBeUndefined();
    expect((await admin.rotate("tests", record.id, 0)).record.caps).toBeUndefined();
  });

  it.each([
    [null, "null"],
    [{}, "label is missing"],
    [{ label: "" }, 'label is ""'],
    [{ label: "two\nlines" }, "label"],
    [{ label: "x", env: "LIVE" }, 'env is "LIVE"'],
    [{ label: "x", expiresAt: "tomorrow" }, 'expiresAt is "tomorrow"'],
    [{ label: "x", expiresAt: "2001-01-01T00:00:00Z" }, "not a time in the future"],
    [{ label: "x", expiresAt: 5 }, "expiresAt is the number 5"],
    [{ label: "x", caps: { gas: -1 } }, "caps.gas"],
    [{ label: "x", secret: "mine" }, "secret is not a known setting"],
  ])("is refused as %j", async (input, message) => {
    const error = await refusal(admin.create("tests", input));
    expect(error.reason).toBe("INVALID_KEY_TERMS");
    expect(error.message).toContain(message);
    expect(await admin.list({ limit: 10 })).toEqual([]);
  });
});

describe("a change of a key", () => {
  it("applies after a refresh: disabled, enabled, revoked permanently", async () => {
    const { key, record } = await admin.create("tests", { label: "k" });
    const keys = await directory();
    const states: string[] = [];
    for (const action of ["disable", "enable", "revoke"] as const) {
      states.push((await admin[action]("tests", record.id)).state);
      await keys.refresh();
      states.push(outcome(keys, key));
    }
    expect(states).toEqual(["disabled", "KEY_DISABLED", "active", "accepted", "revoked", "KEY_REVOKED"]);
    const error = await refusal(admin.enable("tests", record.id));
    expect(error).toMatchObject({ reason: "KEY_STATE_FINAL" });
    // Revoking a revoked key changes nothing.
    expect((await admin.revoke("tests", record.id)).state).toBe("revoked");
  });

  it("by rotation gives a new secret, with the old one valid for the overlap", async () => {
    const clock = { ms: 0 };
    const { key: first, record } = await admin.create("tests", { label: "k" });
    const { key: second, record: rotated } = await admin.rotate("tests", record.id, 60_000);
    expect(second.slice(0, -48)).toBe(first.slice(0, -48));
    expect(Date.parse(rotated.previousSecretUntil ?? "")).toBeGreaterThan(Date.now());
    const keys = await directory(() => clock.ms);
    expect([first, second].map((key) => outcome(keys, key))).toEqual(["accepted", "accepted"]);
    clock.ms += 61_000;
    expect([first, second].map((key) => outcome(keys, key))).toEqual(["KEY_EXPIRED", "accepted"]);
    const { key: third } = await admin.rotate("tests", record.id, 0);
    await keys.refresh();
    expect([first, second, third].map((key) => outcome(keys, key))).toEqual([
      "UNKNOWN_KEY",
      "UNKNOWN_KEY",
      "accepted",
    ]);
  });

  it("by expiry needs no action, and ends open grants", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const clock = { ms: 0 };
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { key } = await admin.create("tests", { label: "k", expiresAt });
    const keys = await directory(() => clock.ms);
    const { signal } = keys.authenticate(key, hashOfKey(key));
    clock.ms += 3_500_000;
    vi.advanceTimersByTime(500);
    expect(signal.aborted).toBe(false);
    clock.ms += 200_000;
    vi.advanceTimersByTime(500);
    expect((signal.reason as ProtocolError).reason).toBe("KEY_EXPIRED");
  });

  it("is found by polling, without a notification", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { key, record } = await admin.create("tests", { label: "k" });
    const { signal } = (await directory()).authenticate(key, hashOfKey(key));
    await admin.revoke("tests", record.id);
    expect(signal.aborted).toBe(false);
    const aborted = once(signal, "abort");
    vi.advanceTimersByTime(500);
    await aborted;
    expect((signal.reason as ProtocolError).reason).toBe("KEY_REVOKED");
  });

  it("is missed by no refresh, however many keys change at the same time", async () => {
    const keys = await directory();
    const created = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const issued = await admin.create("tests", { label: `k${i}` });
        await keys.refresh();
        return outcome(keys, issued.key);
      }),
    );
    expect(created).toEqual(Array(20).fill("accepted"));
    expect(keys.size).toBe(20);
  });

  it("of an unknown key is refused", async () => {
    const attempts = [
      admin.show("0".repeat(16)),
      admin.update("tests", "0".repeat(16), {}),
      admin.rotate("tests", "nonsense", 0),
    ];
    const reasons = (await Promise.all(attempts.map(refusal))).map(({ reason }) => reason);
    expect(reasons).toEqual(Array(3).fill("NO_SUCH_KEY"));
  });
});

describe("a store that is unavailable", () => {
  it("does not change which keys are accepted", async () => {
    const { key } = await admin.create("tests", { label: "k" });
    const keys = await directory();
    await databases.halt();
    await expect(keys.refresh()).rejects.toThrow();
    expect(outcome(keys, key)).toBe("accepted");
    expect(outcome(keys, key.replace(/.{16}_/, `${"0".repeat(16)}_`))).toBe("UNKNOWN_KEY");
    await databases.resume();
    await keys.refresh();
    expect(outcome(keys, key)).toBe("accepted");
  });
});

describe("a backup that is restored", () => {
  it("replaces the keys: missing ones end, and later changes apply", async () => {
    const { key: first, record } = await admin.create("tests", { label: "before" });
    await store.pool.query("create table backup as select * from api_keys");
    await admin.update("tests", record.id, { label: "after" });
    const { key: lost } = await admin.create("tests", { label: "after" });
    const keys = await directory();
    const { signal } = keys.authenticate(lost, hashOfKey(lost));
    const restore = `delete from api_keys where id not in (select id from backup);
      update api_keys k set label = b.label, version = b.version from backup b where b.id = k.id`;
    const audit = "alter table audit disable trigger all; delete from audit";
    await store.pool.query(`${audit}; ${restore}; alter table audit enable trigger all`);
    await keys.refresh();
    expect([first, lost].map((key) => outcome(keys, key))).toEqual(["accepted", "UNKNOWN_KEY"]);
    expect((signal.reason as ProtocolError).reason).toBe("UNKNOWN_KEY");
    await admin.revoke("tests", record.id);
    await keys.refresh();
    expect(outcome(keys, first)).toBe("KEY_REVOKED");
  });

  it("is read in full by refresh(true), even if its changes have lower versions", async () => {
    const { key, record } = await admin.create("tests", { label: "k" });
    const keys = await directory();
    // A revocation without a new version, as in a store whose versions start lower.
    await store.pool.query("update api_keys set revoked_at = now() where id = $1", [record.id]);
    await keys.refresh();
    expect(outcome(keys, key)).toBe("accepted");
    await keys.refresh(true);
    expect(outcome(keys, key)).toBe("KEY_REVOKED");
  });
});

describe("a key with terms that this version does not understand", () => {
  const futureTerms = { limits: { newLimit: 5 } };
  /** Creates two keys. `write` gives the first one the terms of a later version. */
  const createKeys = async () => {
    const [future, other] = [
      await admin.create("tests", { label: "future" }),
      await admin.create("tests", { label: "other" }),
    ];
    const write = () =>
      store.pool.query(
        "update api_keys set terms = $2, version = (select max(version) + 1 from api_keys) where id = $1",
        [future.record.id, JSON.stringify(futureTerms)],
      );
    return { future, other, write };
  };

  it("is refused alone and logged once, while changes of other keys apply, also at a start", async () => {
    const { future, other, write } = await createKeys();
    const errors = vi.spyOn(silent, "error");
    const keys = await directory();
    const { signal } = keys.authenticate(future.key, hashOfKey(future.key));
    await write();
    await keys.refresh();
    expect((signal.reason as ProtocolError).reason).toBe("KEY_DISABLED");
    await admin.revoke("tests", other.record.id);
    await keys.refresh();
    await keys.refresh(true);
    expect([future, other].map(({ key }) => outcome(keys, key))).toEqual(["KEY_DISABLED", "KEY_REVOKED"]);
    expect(errors.mock.calls).toEqual([
      [{ keyId: future.record.id, err: "limits.newLimit is not a known setting" }, expect.any(String)],
    ]);
    errors.mockRestore();
    const fresh = await directory();
    expect([future, other].map(({ key }) => outcome(fresh, key))).toEqual(["KEY_DISABLED", "KEY_REVOKED"]);
  });

  it("is listed as not-understood, keeps its terms when its state changes, and cannot be updated", async () => {
    const { future, write } = await createKeys();
    await write();
    const [listed] = await admin.list({ limit: 1 });
    expect(listed).toMatchObject({
      state: "not-understood",
      notUnderstood: "limits.newLimit is not a known setting",
    });
    expect(listed).not.toHaveProperty("allowedTargets");
    expect((await refusal(admin.update("tests", future.record.id, { caps: { gas: 5 } }))).reason).toBe(
      "INVALID_KEY_TERMS",
    );
    expect((await admin.revoke("tests", future.record.id)).state).toBe("revoked");
    const { rows } = await store.pool.query("select terms from api_keys where id = $1", [future.record.id]);
    expect(rows).toEqual([{ terms: futureTerms }]);
  });
});

describe("the audit", () => {
  it("has every change with its actor and its values, and no secret", async () => {
    const { key, record } = await admin.create("alice", { label: "k", limits: { ratePerSecond: 5 } });
    await admin.update("bob", record.id, { label: "renamed", limits: { ratePerSecond: 6 } });
    const { key: second } = await admin.rotate("bob", record.id, 1_000);
    await admin.disable("carol", record.id);
    // Changes without effect leave no entry.
    await admin.disable("carol", record.id);
    await admin.update("bob", record.id, { label: "renamed" });
    const other = await admin.create("alice", { label: "other" });
    const entries = await admin.audit({ keyId: record.id, limit: 10 });
    expect(entries.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      "carol disable",
      "bob rotate",
      "bob update",
      "alice create",
    ]);
    expect(entries[2]?.changes).toEqual({
      label: { from: "k", to: "renamed" },
      limits: { from: { ratePerSecond: 5 }, to: { ratePerSecond: 6 } },
    });
    expect(entries[1]?.changes).toEqual({
      secret: { to: "a new one" },
      previousSecretUntil: { to: expect.any(String) },
    });
    const text = JSON.stringify(entries);
    for (const secret of [key, second]) expect(text).not.toContain(secret.slice(-48, -32));

    const [latest] = await admin.audit({ limit: 1 });
    expect(latest).toMatchObject({ keyId: other.record.id });
    expect(await admin.audit({ limit: 10, before: latest?.id })).toEqual(entries);
  });

  it.each(["update audit set actor = 'nobody'", "delete from audit", "truncate audit"])(
    "cannot be changed: %s",
    async (sql) => {
      await admin.create("alice", { label: "k" });
      await expect(store.pool.query(sql)).rejects.toThrow("audit only grows");
    },
  );
});

describe("the list", () => {
  it("gives the keys in the order of their creation, page by page", async () => {
    const ids: string[] = [];
    for (const label of ["a", "b", "c"]) ids.push((await admin.create("tests", { label })).record.id);
    const page = async (after?: string) => (await admin.list({ after, limit: 2 })).map(({ id }) => id);
    expect(await page()).toEqual(ids.slice(0, 2));
    expect(await page(ids[1])).toEqual(ids.slice(2));
    expect(await page(ids[2])).toEqual([]);
  });
});
