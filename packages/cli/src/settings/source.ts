/** A place in a configuration file; lines and columns begin at 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Shows a place of a file as editors and terminals understand it. */
export function placeIn(path: string, { line, column }: Place): string {
  return `${path}:${line}:${column}`;
}

/** The text of a setting, with the flag, variable or place that gave it. */
export interface Source {
  /** The flag with its dashes, the variable's name, or the place in the file with the key. */
  readonly name: string;
  readonly text: string | typeof UNREADABLE;
  readonly origin: "flag" | "environment" | "file";
  /** The path of the configuration file that has it. */
  readonly file?: string;
  readonly place?: Place;
}

/** Marks a flag whose value is missing or superfluous. The problem is in the list already. */
export const UNREADABLE = Symbol("unreadable");
