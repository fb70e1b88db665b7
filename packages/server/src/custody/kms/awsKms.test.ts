import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { installCustodyPeers } from "../../../test/support/custodyPeers.js";
import { AWS_ALIAS, AWS_KEYS, startAwsKms } from "../../../test/support/kms/awsKmsServer.js";
import { freshHome } from "../../../test/support/kms/freshHome.js";
import { describeKms } from "../../../test/support/kms/kmsContract.js";
import { openKmsWaiver } from "../../index.js";

const VARIABLES = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_PROFILE",
  "AWS_REGION",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
];

await installCustodyPeers();

let kms: Awaited<ReturnType<typeof startAwsKms>>;
let home: ReturnType<typeof freshHome>;
beforeAll(async () => {
  kms = await startAwsKms();
  home = freshHome();
});
afterAll(async () => {
  await kms.close();
  home.remove();
});

/** Sets the variables of AWS, and no others. The metadata service of EC2 is never asked. */
function setVariables(variables: Readonly<Record<string, string>>): void {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
  const always = { HOME: home.path, AWS_EC2_METADATA_DISABLED: "true" };
  for (const [name, value] of Object.entries({ ...always, ...variables })) vi.stubEnv(name, value);
}
beforeEach(() => setVariables(kms.workload));
afterEach(() => {
  vi.unstubAllEnvs();
});

describeKms("AWS KMS", () => ({
  backend: kms.backend,
  keys: AWS_KEYS,
  sealingKey: AWS_KEYS.sealing,
  options: {},
  async withoutCredentials(run) {
    const { AWS_ENDPOINT_URL_KMS } = kms.workload;
    setVariables({ AWS_ENDPOINT_URL_KMS });
    return await run();
  },
}));

describe("a key of AWS KMS", () => {
  it("is found by its alias in the region of the environment, and nowhere else", async () => {
    kms.backend.setFault(undefined);
    const { address } = await openKmsWaiver(AWS_ALIAS);
    expect(address).toHaveLength(20);
    setVariables({ ...kms.workload, AWS_REGION: "eu-west-1" });
    await expect(openKmsWaiver(AWS_ALIAS)).rejects.toThrow("there is no such key in this region");
    const { AWS_REGION: _region, ...withoutRegion } = kms.workload;
    setVariables(withoutRegion);
    await expect(openKmsWaiver(AWS_ALIAS)).rejects.toThrow("set AWS_REGION, or name the key by its ARN");
    await openKmsWaiver(AWS_KEYS.signing);
  });

  it("is refused where the credentials have another secret", async () => {
    const { AWS_ENDPOINT_URL_KMS } = kms.workload;
    setVariables({ AWS_ENDPOINT_URL_KMS, ...kms.user });
    await openKmsWaiver(AWS_KEYS.signing);
    setVariables({ AWS_ENDPOINT_URL_KMS, ...kms.user, AWS_SECRET_ACCESS_KEY: "another" });
    await expect(openKmsWaiver(AWS_KEYS.signing)).rejects.toThrow("AWS does not take the credentials");
  });

  it("must be named as a service names it", async () => {
    for (const name of ["", "gas-waiver", "arn:aws:s3:::bucket", "https://vault.example/secrets/one"])
      await expect(openKmsWaiver(name)).rejects.toThrow("is no name of a key");
  });
});
