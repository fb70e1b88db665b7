// The SDKs have what the custodies of the server use of them (packages/server/test/custody/sdks.test.ts).
import type * as aws from "@aws-sdk/client-kms";
import type * as azureIdentity from "@azure/identity";
import type * as azureKeyVault from "@azure/keyvault-keys";
import type * as google from "@google-cloud/kms";
import type { AwsSdk } from "../../packages/server/src/custody/kms/awsKms.js";
import type {
  AzureIdentitySdk,
  AzureKeyVaultSdk,
} from "../../packages/server/src/custody/kms/azureKeyVault.js";
import type { GoogleSdk } from "../../packages/server/src/custody/kms/googleKms.js";

type Has<Part, _Sdk extends Part> = Part;

export type Sdks = [
  Has<AwsSdk, typeof aws>,
  Has<AzureIdentitySdk, typeof azureIdentity>,
  Has<AzureKeyVaultSdk, typeof azureKeyVault>,
  Has<GoogleSdk, typeof google>,
];
