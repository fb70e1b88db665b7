import { codeOf, REASONS, type Reason } from "../reasons.js";

/** Why a request for any path can be refused: what came is no request, or the service is at fault. */
export const OF_ANY_REQUEST: readonly Reason[] = [
  "MALFORMED_HTTP",
  "REQUEST_TOO_SLOW",
  "HEAD_TOO_LARGE",
  "INTERNAL_ERROR",
];

/** Why a request that needs an API key can be refused: every reason of that code. */
export const OF_THE_KEY: readonly Reason[] = (Object.keys(REASONS) as Reason[]).filter(
  (reason) => codeOf(reason) === "UNAUTHORIZED",
);

/** What is answered where no route is. */
export const OF_NO_ROUTE: readonly Reason[] = ["NO_SUCH_PATH", "NO_SUCH_METHOD"];
