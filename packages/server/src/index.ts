export { type Audit, openAudit } from "./admin/openAudit.js";
export { type OutcomeExport, type OutcomeRecord, openOutcomeExport } from "./admin/openOutcomeExport.js";
export {
  ADMIN_ROUTES,
  type AuditPage,
  type ExplainedSubmissions,
  type KeyPage,
  type RotateInput,
} from "./admin/routes.js";
export {
  type ExplainedSubmission,
  type OpenSubmissionFinder,
  openSubmissionFinder,
  type SubmissionFinder,
} from "./admin/submissionFinder.js";
export {
  checkSender,
  type SenderState,
  type SenderTransaction,
  type SenderVerdict,
} from "./check/sender.js";
export {
  createNetworks,
  createServer,
  type NetworkState,
  type NetworksServer,
  type Server,
} from "./createServer.js";
export { checkCustody } from "./custody/checkCustody.js";
export {
  decryptKeystore,
  encryptKeystore,
  type Keystore,
  KeystoreError,
  type KeystoreSeal,
  parseKeystore,
} from "./custody/keystore.js";
export type { KmsOptions } from "./custody/kms/kmsKey.js";
export { type KmsKeyName, parseKmsKeyName } from "./custody/kms/kmsKeyName.js";
export { type KmsWaiverOptions, openKmsWaiver } from "./custody/kms/openKms.js";
export { openSealedKeystore, sealKeystore } from "./custody/kms/sealedKeystore.js";
export { openPkcs11Waivers, PinError, type Pkcs11Options } from "./custody/pkcs11/openPkcs11.js";
export { openWeb3Signer, type Web3SignerOptions, type Web3SignerTls } from "./custody/web3Signer.js";
export { DEFAULT_OVERLAP_MS, type KeyAdmin, type OpenKeyAdmin, openKeyAdmin } from "./keys/keyAdmin.js";
export type {
  IssuedKey,
  KeyRecord,
  KeyState,
} from "./keys/keyRecord.js";
export { type LaneAdmin, type LaneFindings, openLaneAdmin, type ReplicaWaivers } from "./lane/admin/admin.js";
export type { Finding } from "./lane/watch/doubts.js";
export { InvalidOptionsError, StartError } from "./model/errors.js";
export type { AuditRecord } from "./model/keys/auditRecord.js";
export {
  DEFAULT_ADDRESS_LIMITS,
  DEFAULT_PUBLISHABLE_CAPS,
  DEFAULT_SENDER_CAPS,
  type KeyTermsJson,
} from "./model/keys/keyTerms.js";
export type { AdminRole, AdminToken } from "./model/options/adminToken.js";
export { weaknessOfKey } from "./model/options/keyStrength.js";
export { type AddressBlock, isLoopbackHost, parseAddressBlock } from "./model/options/networkAddress.js";
export {
  isServicePath,
  type NetworkOptions,
  type NetworksOptions,
  SHARED_OPTIONS,
} from "./model/options/networkOptions.js";
export { type Option, type OptionTerms, type ValueOf, withNames } from "./model/options/option.js";
export { limitConflicts, namesSeveralHosts } from "./model/options/optionProblems.js";
export type { ServerOptions } from "./model/options/options.js";
export { DEFAULTS } from "./model/options/options.js";
export {
  type GatewayPaid,
  LOG_LEVELS,
  OPTION_SUBJECTS,
  OPTIONS,
  type Options,
  type ProxyHeader,
} from "./model/options/optionTable.js";
export { isKeyOrigin, isOrigin } from "./model/options/origins.js";
export { RELOADABLE_OPTIONS, type ReloadableOptions } from "./model/options/reloadableOptions.js";
export {
  certificateProblems,
  certificateWarning,
  type TlsCertificate,
} from "./model/options/tlsCertificate.js";
export type { DayRange } from "./model/submission/dayRange.js";
export { checkDatabase } from "./preflight/checkDatabase.js";
export type { ExpectedStore } from "./preflight/checkStore.js";
export type {
  DatabaseCheck,
  DatabaseFinding,
  NodeCheck,
  NodeFinding,
  NodeVerdict,
} from "./preflight/finding.js";
export { checkNodes, type PreflightOptions } from "./preflight/preflight.js";
export { CustodyThrottledError } from "./signing/custodyCalls.js";
export { privateKeyWaiver } from "./signing/privateKeyWaiver.js";
export { storeTroubleSentence } from "./store/database/storeTrouble.js";
export { LANE_STATES, type LaneState, type LaneStatus } from "./store/lanes/laneStatus.js";
export { connectionsOf, type StoreConnections } from "./store/pools.js";
export { type ScratchDatabase, type ScratchPostgres, startScratchPostgres } from "./store/server/scratch.js";
