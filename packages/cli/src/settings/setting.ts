/** One thing that a command can be told, by a flag, by an environment variable, or by both: then the flag wins. */
export interface Setting<T> {
  /** Without its dashes. */
  readonly flag?: string;
  /** The environment variable. */
  readonly env?: string;
  /** What the value is called in the help: `PORT`. Absent: a flag without value. */
  readonly placeholder?: string;
  /** One sentence for the help. */
  readonly help: string;
  /** Holds a secret: its value never appears in a message. */
  readonly secret?: boolean;
  /** The value when nothing is given, as it would be given. */
  readonly initial?: string;
  /** What the help names as the default where none is passed on. */
  readonly defaultText?: string;
  readonly required?: boolean;
  /** The flag may come several times; the values are then one, with commas between. */
  readonly repeatable?: boolean;
  /** @throws {@link InvalidValueError} */
  parse(text: string): T;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The values of settings; undefined where nothing was given and there is no default. */
export type Values<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T>
    ? S[K] extends { readonly initial: string } | { readonly required: true }
      ? T
      : T | undefined
    : never;
};

/** Settings that exclude each other; `required`: one of them must be given. */
export interface Alternatives<Key extends string = string> {
  readonly of: readonly Key[];
  /** What they all set: "the waiver's private key". */
  readonly what: string;
  readonly required: boolean;
}

/** What must hold between settings, beyond what each says of itself. */
export interface Agreement<S extends Settings> {
  readonly alternatives?: readonly Alternatives<keyof S & string>[];
  /** The problems between values; those that are wrong in themselves are left out. */
  readonly check?: (values: Partial<Values<S>>) => readonly string[];
}

/** How a person names the setting: by its flag, or else its variable. */
export function nameOf({ flag, env }: Setting<unknown>): string {
  return flag === undefined ? (env ?? "") : `--${flag}`;
}

/** Says what a value must be: "is not a whole number". The reader of the settings puts the value in front. */
export class InvalidValueError extends Error {
  override readonly name = "InvalidValueError";
}
