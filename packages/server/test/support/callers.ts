import { PUBLISHABLE_PREFIX } from "@gas-waiver/protocol";
import { Registry } from "prom-client";
import { type Authenticator, createAuthenticator } from "../../src/http/authenticator.js";
import { connectionAddress } from "../../src/http/clientAddress.js";
import { FailedAuthentications } from "../../src/http/limits/failedAuthentications.js";
import { hashOfKey } from "../../src/keys/apiKey.js";
import { unknownKey } from "../../src/keys/cachedKey.js";
import { createConfiguredGrants } from "../../src/keys/configuredGrants.js";
import { type Caller, limitsOfService } from "../../src/model/keys/caller.js";
import { resolveOptions } from "../../src/model/options/reloadableOptions.js";
import { createLog } from "../../src/model/telemetry/log.js";
import { createMetrics } from "../../src/model/telemetry/metrics.js";
import { optionsFor } from "./testService.js";

/** The limits of the keys of a test's service, which no test reaches by accident. */
export const LIMITS = limitsOfService(
  resolveOptions(optionsFor("postgres://localhost/store", "http://localhost")),
);

/** A caller with these limits, without scope and caps unless `changes` has them. */
export function callerOf(keyId: string, changes: Partial<Caller> = {}): Caller {
  return { keyId, limits: LIMITS, allowedTargets: undefined, caps: undefined, ...changes };
}

/** A key directory without keys. */
export const NO_KEYS = {
  authenticate(): never {
    throw unknownKey();
  },
};

/** A count of failed authentications that begins at none, by a clock of the test. */
export function noFailures(now?: () => number): FailedAuthentications {
  const metrics = createMetrics(new Registry(), () => []);
  return new FailedAuthentications({ log: createLog("silent"), metrics, ...(now && { now }) });
}

/** An authenticator of configured keys alone. The id of each is its place. */
export function authenticatorOf(keys: readonly string[], failures = noFailures()): Authenticator {
  const identified = keys.map((key, i) => ({
    keyId: `key ${i}`,
    hash: hashOfKey(key),
    isPublishable: key.startsWith(PUBLISHABLE_PREFIX),
  }));
  const clientAddress = connectionAddress;
  const rights = { limits: LIMITS, publicKeyOrigins: ["loopback", "wallets"] };
  const configuredKeys = createConfiguredGrants(identified, rights);
  return createAuthenticator({ configuredKeys, directory: NO_KEYS, clientAddress, failures });
}
