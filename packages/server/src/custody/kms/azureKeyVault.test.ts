import { bytesToHex } from "@gas-waiver/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { installCustodyPeers } from "../../../test/support/custodyPeers.js";
import {
  AZURE_KEYS,
  AZURE_NEWEST_KEY,
  startAzureKeyVault,
} from "../../../test/support/kms/azureKeyVaultServer.js";
import { freshHome } from "../../../test/support/kms/freshHome.js";
import { describeKms } from "../../../test/support/kms/kmsContract.js";
import { WAIVER } from "../../../test/support/user.js";
import { openKmsWaiver } from "../../index.js";

const VARIABLES = ["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"];

await installCustodyPeers();

let vault: Awaited<ReturnType<typeof startAzureKeyVault>>;
let home: ReturnType<typeof freshHome>;
beforeAll(async () => {
  home = freshHome();
  vault = await startAzureKeyVault(home.path);
});
afterAll(async () => {
  vault.agent.destroy();
  await vault.close();
  home.remove();
});

/** Sets the variables of Azure, and no others. The metadata service of virtual machines is never asked. */
function setVariables(variables: Readonly<Record<string, string>>): void {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
  const always = { HOME: home.path, AZURE_TOKEN_CREDENTIALS: "WorkloadIdentityCredential" };
  for (const [name, value] of Object.entries({ ...always, ...variables })) vi.stubEnv(name, value);
}
beforeEach(() => setVariables(vault.workload));
afterEach(() => {
  vi.unstubAllEnvs();
});

describeKms("Azure Key Vault", () => ({
  backend: vault.backend,
  keys: AZURE_KEYS,
  sealingKey: AZURE_KEYS.sealing,
  options: { agent: vault.agent },
  async withoutCredentials(run) {
    setVariables({});
    return await run();
  },
}));

describe("a key of Azure Key Vault", () => {
  it("without a version is the newest one", async () => {
    vault.backend.setFault(undefined);
    const { address } = await openKmsWaiver(AZURE_NEWEST_KEY, { agent: vault.agent });
    expect(bytesToHex(address)).toBe(WAIVER);
  });

  it("is refused where the authority does not take the workload's token", async () => {
    setVariables({ ...vault.workload, AZURE_CLIENT_ID: "00000000-0000-4000-8000-000000000000" });
    await expect(openKmsWaiver(AZURE_KEYS.signing, { agent: vault.agent })).rejects.toThrow("AADSTS700211");
  });

  it("says how long to wait where it has too many calls", async () => {
    vault.backend.setFault(undefined);
    const { sign } = await openKmsWaiver(AZURE_KEYS.signing, { agent: vault.agent });
    vault.backend.setFault("throttles");
    await expect(sign(new Uint8Array(32).fill(1))).rejects.toMatchObject({ retryAfterMs: 1_000 });
    vault.backend.setFault(undefined);
  });
});
