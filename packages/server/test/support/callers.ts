import { unknownKey } from "../../src/keys/cachedKey.js";
import { type Caller, limitsOfService } from "../../src/model/caller.js";
import { resolveOptions } from "../../src/model/resolveOptions.js";
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
