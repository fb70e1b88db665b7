/** The terms of an option beside its sentence and type. */
export interface OptionTerms {
  /**
   * Where a value counts: for the process and its ports; for one network of the service (a configuration file has one value
   * for all of its networks); or for one chain, so that each network of a file has its own. Default: `service`.
   */
  readonly scope?: "process" | "service" | "chain";
  /** Whether a running service takes over another value: always, or only where there was a value and still is one. */
  readonly reload?: "always" | "while given";
  readonly required?: true;
  /** The default in words, for one that is no value or that a person writes in another way. */
  readonly defaultText?: string;
  /** The name of the value in a help text, where it does not follow from the option's name. */
  readonly unit?: string;
  /** The answer or fate of a caller beyond a limit, for the page of limits; absent where no caller meets the limit. */
  readonly beyond?: string;
  /** False for an option of the library alone, which the command line has no setting for. */
  readonly isSetting?: false;
}

/** The form of an option's value. */
export type OptionForm =
  | { readonly kind: "limit"; readonly least: number }
  | { readonly kind: "gas" }
  | { readonly kind: "flag" }
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  | { readonly kind: "other" };

/** An option of the service. */
export interface Option<T> extends OptionTerms {
  /** One sentence or two, for people. */
  readonly sentence: string;
  readonly form: OptionForm;
  readonly default?: T;
}

/** The type of an option's value. */
export type ValueOf<O> = O extends Option<infer T> ? T : never;

type WithDefault<T> = { readonly default: T };

/** An option whose value is a whole number. */
export function limit<
  D extends number | undefined,
  const R extends OptionTerms & { readonly least?: number },
>(
  sentence: string,
  byDefault: D,
  terms: R = {} as R,
): Option<number> & R & (D extends number ? WithDefault<number> : unknown) {
  const { least = 1, ...rest } = terms;
  const form = { kind: "limit", least } as const;
  return { sentence, form, ...(byDefault !== undefined && { default: byDefault }), ...rest } as never;
}

/** An option whose value is an amount of gas. */
export function gas<const R extends OptionTerms>(
  sentence: string,
  byDefault: bigint,
  terms: R,
): Option<bigint> & R & WithDefault<bigint> {
  return { sentence, form: { kind: "gas" }, unit: "GAS", default: byDefault, ...terms };
}

/** An option that is on or off. */
export function flag<const R extends OptionTerms>(
  sentence: string,
  terms: R = {} as R,
): Option<boolean> & R & WithDefault<boolean> {
  return { sentence, form: { kind: "flag" }, default: false, ...terms };
}

/** An option with few values. */
export function choice<const T extends string, const R extends OptionTerms>(
  sentence: string,
  choices: readonly T[],
  byDefault: NoInfer<T>,
  terms: R,
): Option<T> & R & WithDefault<T> {
  return { sentence, form: { kind: "choice", choices }, default: byDefault, ...terms };
}

/** An option of any other type. */
export function option<T>() {
  return <const R extends OptionTerms & { readonly default?: T }>(
    sentence: string,
    terms: R,
  ): Option<T> & Omit<R, "default"> & (R extends { readonly default: T } ? WithDefault<T> : unknown) =>
    ({ sentence, form: { kind: "other" }, ...terms }) as never;
}

/** Replaces each `{name}` of a text, which stands for an option. */
export function withNames(text: string, nameOf: (option: string) => string): string {
  return text.replace(/\{(\w+)\}/g, (_, option: string) => nameOf(option));
}
