import { OPTION_SUBJECTS, type Option, type ValueOf, withNames } from "@gas-waiver/server";
import { type Parser, withForm } from "../settings/form.js";
import { oneOf, policySource, retention, schemaName, url, urls, wholeNumber } from "../settings/parsers.js";
import { addressBlocks, allowedTargetsOrFile, origins } from "../settings/serviceValues.js";
import { namesOf, type Setting } from "../settings/setting.js";

// The settings that are options of the service. Each follows from the option's row: its flag and variable from the name,
// its parser from the form. Another option needs no line here, unless a person writes it in a form of its own.

/** The options that a person writes in a form of their own. */
const OWN_FORMS = {
  rpcUrl: { parse: urls("http:", "https:"), repeatable: true },
  rpcWsUrl: { parse: url("ws:", "wss:") },
  allowedTargets: { parse: allowedTargetsOrFile },
  policySource: { parse: policySource },
  schema: { parse: schemaName },
  retentionMs: { parse: retention },
  corsOrigins: { parse: origins },
  trustedProxies: { parse: addressBlocks },
} as const;
type OwnForms = typeof OWN_FORMS;
type OwnForm = Pick<Setting<unknown>, "parse" | "repeatable">;

/** The flags that do not follow from the names of their options. */
const OWN_FLAGS: Readonly<Record<string, string>> = {
  maxQueueMs: "max-queue-time",
  idempotencyMs: "idempotency-time",
};

type Subjects = typeof OPTION_SUBJECTS;
type Parsed<K, O> = K extends keyof OwnForms ? ReturnType<OwnForms[K]["parse"]> : ValueOf<O>;
type OptionSetting<K, O> = Setting<Parsed<K, O>> &
  (O extends { readonly required: true } ? { readonly required: true } : unknown);

/** The settings that the options of a subject have. */
type SettingsOf<O> = {
  readonly [K in keyof O as O[K] extends { readonly isSetting: false } ? never : K]: OptionSetting<K, O[K]>;
};

/** Returns the flag of an option with its dashes, such as `--rate` for `ratePerSecond`. */
export function flagOfOption(name: string): string {
  const words = name.replace(/Ms$|PerSecond$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${OWN_FLAGS[name] ?? words}`;
}

/** The settings of a subject, in the order of its rows. */
export function settingsOf<S extends keyof Subjects>(subject: S): SettingsOf<Subjects[S]> {
  const rows = Object.entries<Option<unknown>>(OPTION_SUBJECTS[subject]);
  const settings = rows
    .filter(([, { isSetting = true }]) => isSetting)
    .map(([name, row]) => [name, settingOf(name, row)]);
  return Object.fromEntries(settings);
}

function settingOf(name: string, row: Option<unknown>): Setting<unknown> {
  const { sentence, form, unit = unitOf(name), required, reload } = row;
  const defaultText = row.defaultText ?? (form.kind === "flag" ? undefined : row.default?.toString());
  const ownForm = (OWN_FORMS as Readonly<Record<string, OwnForm>>)[name];
  return {
    ...namesOf(flagOfOption(name).slice(2)),
    ...(form.kind !== "flag" && { placeholder: unit, ...(ownForm ?? { parse: parserOf(name, form) }) }),
    help: withNames(sentence, flagOfOption),
    ...(defaultText !== undefined && { defaultText: withNames(defaultText, flagOfOption) }),
    ...(required && { required }),
    ...(reload && { reload }),
  };
}

function unitOf(name: string): string {
  if (name.endsWith("Ms")) return "MS";
  return name.endsWith("Bytes") ? "BYTES" : "N";
}

function parserOf(
  name: string,
  form: Exclude<Option<unknown>["form"], { readonly kind: "flag" }>,
): Parser<unknown> {
  switch (form.kind) {
    case "limit":
      return wholeNumber(form.least);
    case "gas":
      return withForm({ kind: "integer", minimum: 0 }, (value) => BigInt(wholeNumber(0)(value)));
    case "choice":
      return oneOf(...form.choices);
    case "other":
      throw new Error(`OWN_FORMS lacks ${name}, whose form says nothing of its text`);
  }
}
