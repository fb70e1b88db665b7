/** The form of a setting's value in a configuration file. Each parser of text names the form that its values have there. */
export type Form =
  | TextForm
  /** The path of a file or folder, relative to the configuration file. */
  | { readonly kind: "path" }
  | { readonly kind: "integer"; readonly minimum: number; readonly maximum?: number }
  | { readonly kind: "number"; readonly above: number; readonly maximum: number }
  | { readonly kind: "boolean" }
  /** A list, or a text with commas as in a flag. */
  | { readonly kind: "list"; readonly items: TextForm }
  /** A list of AllowedTargets, or the path of a JSON file of them. */
  | { readonly kind: "targets" };

export interface TextForm {
  readonly kind: "text";
  /** A regular expression as JSON Schema knows them. */
  readonly pattern?: string;
  readonly choices?: readonly string[];
}

export interface Parser<T> {
  (text: string): T;
  /** Default: any text. */
  readonly form?: Form;
}

/** Gives a parser the form that its values have in a file. */
export function withForm<T>(form: Form, parse: (text: string) => T): Parser<T> {
  return Object.assign((text: string) => parse(text), { form });
}

const ANY_TEXT: TextForm = { kind: "text" };

export function formOf({ parse }: { readonly parse?: Parser<unknown> }): Form {
  return parse === undefined ? { kind: "boolean" } : (parse.form ?? ANY_TEXT);
}

/** The form of a list whose entries have the form of another parser. */
export function listOf({ form }: Parser<unknown>): Form {
  return { kind: "list", items: form?.kind === "text" ? form : ANY_TEXT };
}
