import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { installCustodyPeers } from "../../../test/support/custodyPeers.js";
import { freshHome } from "../../../test/support/kms/freshHome.js";
import {
  GOOGLE_KEYS,
  GOOGLE_SEALING_KEY,
  startGoogleKms,
} from "../../../test/support/kms/googleKmsServer.js";
import { describeKms } from "../../../test/support/kms/kmsContract.js";
import { openKmsWaiver } from "../../index.js";

await installCustodyPeers();

let kms: Awaited<ReturnType<typeof startGoogleKms>>;
let home: ReturnType<typeof freshHome>;
beforeAll(async () => {
  home = freshHome();
  kms = await startGoogleKms(home.path);
});
afterAll(async () => {
  await kms.close();
  home.remove();
});

/** Sets the variables of Google Cloud, and no others. The metadata service is never asked. */
function setVariables(variables: Readonly<Record<string, string>>): void {
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", undefined);
  const always = { HOME: home.path, METADATA_SERVER_DETECTION: "none" };
  for (const [name, value] of Object.entries({ ...always, ...variables })) vi.stubEnv(name, value);
}
beforeEach(() => setVariables(kms.workload));
afterEach(() => {
  vi.unstubAllEnvs();
});

describeKms("Google Cloud KMS", () => ({
  backend: kms.backend,
  keys: GOOGLE_KEYS,
  sealingKey: GOOGLE_SEALING_KEY,
  options: { endpoint: kms.url },
  async withoutCredentials(run) {
    setVariables({});
    return await run();
  },
}));

describe("a key of Google Cloud KMS", () => {
  it("must be named with its version", async () => {
    await expect(openKmsWaiver(GOOGLE_SEALING_KEY, { endpoint: kms.url })).rejects.toThrow(
      "it names no version: add /cryptoKeyVersions/NUMBER",
    );
  });

  it("says how long to wait where it has too many calls", async () => {
    kms.backend.setFault(undefined);
    const { sign } = await openKmsWaiver(GOOGLE_KEYS.signing, { endpoint: kms.url });
    kms.backend.setFault("throttles");
    await expect(sign(new Uint8Array(32).fill(1))).rejects.toMatchObject({ retryAfterMs: 1_000 });
    kms.backend.setFault(undefined);
  });
});
