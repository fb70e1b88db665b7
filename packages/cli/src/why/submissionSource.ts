import {
  ADMIN_ROUTES,
  type ExplainedSubmissions,
  openSubmissionFinder,
  type SubmissionFinder,
} from "@gas-waiver/server";
import { CommandFailedError, unreachable } from "../errorMessage.js";
import { text, url } from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";
import { namesOf, type Values } from "../settings/setting.js";
import { STORE_SETTINGS, type StorePlace, withStore } from "../store/withStore.js";

/** The settings of a command that looks into submissions of any key: by the admin API, or by the database. */
export const SOURCE_SETTINGS = {
  adminUrl: {
    ...namesOf("admin-url"),
    placeholder: "URL",
    help: "Address of the service's admin API, with the name of the network where it serves several; instead of the database.",
    parse: url("http:", "https:"),
  },
  adminToken: {
    env: "GAS_WAIVER_ADMIN_TOKEN",
    subject: "the admin token",
    help: "Token for --admin-url, of the role viewer or a higher one.",
    secret: true,
    parse: text,
  },
  adminTokenFile: {
    ...namesOf("admin-token-file"),
    placeholder: "FILE",
    subject: "the admin token",
    help: "File of this token, readable for its owner only.",
    parse: secretFileOf((content) => content.trim()),
  },
  ...STORE_SETTINGS,
} as const;

/** The admin API needs a token. */
export function problemsOfSource({
  adminUrl,
  adminTokenFile,
  adminToken = adminTokenFile,
}: Partial<Values<typeof SOURCE_SETTINGS>>): string[] {
  return adminUrl !== undefined && adminToken === undefined
    ? ["--admin-url needs a token: give --admin-token-file FILE or GAS_WAIVER_ADMIN_TOKEN"]
    : [];
}

type SourceValues = Values<typeof SOURCE_SETTINGS> & { readonly rpcUrl?: readonly string[] | undefined };

/** Opens the place that the settings name, and uses it. */
export async function withSubmissions<T>(
  values: SourceValues,
  signal: AbortSignal,
  use: (submissions: SubmissionFinder) => Promise<T>,
): Promise<T> {
  const { adminUrl, adminTokenFile, adminToken = adminTokenFile, rpcUrl } = values;
  if (adminUrl === undefined) {
    const open = (place: StorePlace) => openSubmissionFinder(place, rpcUrl);
    return await withStore(values, open, use);
  }
  const ask = async (path: string) => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const response = await fetch(`${adminUrl.replace(/\/$/, "")}${path}`, { headers, signal }).catch(
      (error) => {
        signal.throwIfAborted();
        throw unreachable(`the admin API at ${new URL(adminUrl).host}`, error);
      },
    );
    const answer = (await response.json().catch(() => ({}))) as Partial<ExplainedSubmissions> & {
      readonly error?: { readonly message: string };
    };
    if (answer.submissions) return [...answer.submissions];
    throw new CommandFailedError(
      `the admin API answered ${response.status}: ${answer.error?.message ?? "no JSON"}`,
    );
  };
  return await use({
    why: (name) => ask(ADMIN_ROUTES.why.path.replace(":id", encodeURIComponent(name))),
    stuck: ({ olderThanMs, limit }) =>
      ask(`${ADMIN_ROUTES.stuck.path}?olderThanSeconds=${Math.ceil(olderThanMs / 1_000)}&limit=${limit}`),
  });
}
