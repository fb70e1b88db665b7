import { ADMIN_ROUTES } from "@gas-waiver/server";
import { TERM_SETTINGS } from "../../packages/cli/src/keys/keySettings.js";
import { code, codeBlock, page, table } from "./markdown.js";

type AdminRoute = keyof typeof ADMIN_ROUTES;

/** The compiler demands a note for each new route. */
const ADMIN_NOTES: Readonly<Record<AdminRoute, { readonly takes: string; readonly gives: string }>> = {
  create: {
    takes:
      "`label`, and maybe `env`, `expiresAt`, `limits`, `allowedTargets`, `caps`; for a [publishable key](../guides/api-keys.md#make-a-key-for-pages-and-wallets) `publishable: true` and its `origins`",
    gives: "201 with `key`, shown this once, and `record`",
  },
  list: {
    takes: "`?limit=` up to 1,000, `?after=` the `next` of the page before",
    gives: "`keys`, and `next` unless it is the last page",
  },
  show: { takes: "", gives: "the record" },
  update: { takes: "what changes; `null` unsets", gives: "the record" },
  rotate: {
    takes: "`overlapSeconds`, 86,400 unless given",
    gives: "`key`, shown this once, and `record`",
  },
  disable: { takes: "", gives: "the record" },
  enable: { takes: "", gives: "the record" },
  revoke: { takes: "", gives: "the record" },
  audit: {
    takes: "`?key=`, `?limit=`, `?before=` the `next` of the page before",
    gives: "`entries`, the latest first, and `next` unless it is the last page",
  },
  stuck: {
    takes: "`?olderThanSeconds=`, 10 unless given, `?limit=`",
    gives: "`submissions` without a block, of any key, the oldest first",
  },
  why: {
    takes:
      "for `{id}` the id of a submission, a hash of its transaction or of a wrapper, or a sender's address",
    gives: "`submissions`, the newest first, each with `record`, `why` and `next`",
  },
};

const CAPS: ReadonlySet<string> = new Set(["transactions", "gas", "senderTransactions", "senderGas"]);
const NOT_LIMITS: ReadonlySet<string> = new Set(["expires", "allowedTargets", "origins", ...CAPS]);

/** docs/reference/admin.md */
export function adminPage(): string {
  const terms = Object.entries(TERM_SETTINGS);
  const limits = terms.filter(([name]) => !NOT_LIMITS.has(name));
  const caps = terms.filter(([name]) => CAPS.has(name));
  const rows = (entries: typeof terms) =>
    entries.map(([name, { flag, help }]) => [code(name), code(`--${flag}`), help.replace(/ `none`:.*/, "")]);
  return page(
    "ADMIN_ROUTES of packages/server and the settings of `gas-waiver keys`",
    "Admin API",
    "Programs of operators manage API keys over HTTP, on a port of its own that is closed unless `--admin-port` opens it. Every request needs a token of `--admin-token-file` or `GAS_WAIVER_ADMIN_TOKEN`, with the role of the route or a higher one. [The guide](../guides/api-keys.md#manage-keys-over-http) shows how to set it up.",
    codeBlock(
      "sh",
      'curl http://127.0.0.1:8081/admin/v1/keys -H "Authorization: Bearer $GAS_WAIVER_ADMIN_TOKEN"',
    ),
    table(
      ["route", "role", "takes", "gives"],
      (Object.keys(ADMIN_ROUTES) as AdminRoute[]).map((name) => [
        code(`${ADMIN_ROUTES[name].method} ${ADMIN_ROUTES[name].path.replace(":id", "{id}")}`),
        ADMIN_ROUTES[name].role,
        ADMIN_NOTES[name].takes,
        ADMIN_NOTES[name].gives,
      ]),
    ),
    '`origins` is a list, such as `["https://app.example.com", "wallets"]`, and `allowedTargets` of `{ address, selectors? }`. Bodies are JSON. Errors have the form of every other, and [Errors](../errors.md) has the reasons.',
    "## Members of `limits`",
    table(["member", "the same in `gas-waiver keys`", "meaning"], rows(limits)),
    "## Members of `caps`",
    table(["member", "the same in `gas-waiver keys`", "meaning"], rows(caps)),
    "Gas is decimal text in JSON. A member that is absent is as the service has it.",
  );
}
