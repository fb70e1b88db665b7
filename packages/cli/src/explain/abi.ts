import { type Hex, selectorOfSignature } from "@gas-waiver/protocol";
import { InvalidValueError } from "../settings/setting.js";
import { type AbiParameter, type AbiValue, readArguments } from "./abiReader.js";

interface AbiEntry {
  readonly type: "function" | "error";
  readonly name: string;
  readonly inputs: readonly AbiParameter[];
}

/** A call or an error with its arguments. */
export interface DecodedData {
  readonly signature: string;
  readonly arguments: readonly { readonly name: string; readonly value: AbiValue }[];
}

/** The functions and errors of contracts. */
export class Abi {
  readonly #entries = new Map<string, { readonly signature: string; readonly entry: AbiEntry }>();

  constructor(entries: readonly AbiEntry[]) {
    for (const entry of entries) {
      const signature = `${entry.name}${tupleType(entry.inputs)}`;
      this.#entries.set(`${entry.type} ${selectorOfSignature(signature)}`, { signature, entry });
    }
  }

  /** Decodes calldata or revert data; undefined for data of another contract, or of another form than its selector says. */
  decode(type: AbiEntry["type"], data: Hex): DecodedData | undefined {
    const found = this.#entries.get(`${type} ${data.slice(0, 10)}`);
    if (found === undefined) return undefined;
    const { signature, entry } = found;
    const values = readArguments(entry.inputs, data);
    return (
      values && {
        signature,
        arguments: values.map((value, i) => ({ name: entry.inputs[i]?.name || String(i), value })),
      }
    );
  }
}

/** Shows a decoded call or error in one line. */
export function decodedText({ signature, arguments: values }: DecodedData): string {
  const name = signature.slice(0, signature.indexOf("("));
  return `${name}(${values.map((one) => `${one.name}: ${valueText(one.value)}`).join(", ")})`;
}

/** Shows a value; lists and tuples have brackets. */
export function valueText(value: AbiValue): string {
  return typeof value === "string" ? value : `[${value.map(valueText).join(", ")}]`;
}

function tupleType(parameters: readonly AbiParameter[]): string {
  const types = parameters.map(({ type, components }) =>
    components === undefined ? type : `${tupleType(components)}${type.slice("tuple".length)}`,
  );
  return `(${types.join(",")})`;
}

/** Parses the functions and errors of a JSON ABI, or of a compiler's output that has one as `abi`. */
export function abiEntries(content: string): AbiEntry[] {
  const json = parseJson(content);
  const list: unknown = Array.isArray(json) ? json : (json as { readonly abi?: unknown } | null)?.abi;
  if (!Array.isArray(list))
    throw new InvalidValueError("has no ABI: neither a list nor an object with `abi`");
  return list.filter(isEntry);
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new InvalidValueError("is not JSON");
  }
}

/** Events and constructors are left out, and so are functions of libraries with types that have no form in data. */
function isEntry(entry: unknown): entry is AbiEntry {
  const { type, name, inputs } = (entry ?? {}) as Partial<AbiEntry>;
  return (type === "function" || type === "error") && isName(name) && areParameters(inputs);
}

/** A name is printed, and the file may be somebody else's. */
function isName(name: unknown): name is string {
  return typeof name === "string" && !/\p{C}/u.test(name);
}

const TYPE =
  /^(?:u?int(?:8|16|24|32|40|48|56|64|72|80|88|96|[1-2]\d\d)|address|bool|bytes(?:[1-9]|[12]\d|3[0-2])?|string|function|tuple)(?:\[\d{0,4}\]){0,16}$/;
/** Reading a value recurses into tuples, and the file may be anybody's. */
const MAX_TUPLE_DEPTH = 16;

function areParameters(list: unknown, depth = 0): list is AbiParameter[] {
  return (
    Array.isArray(list) &&
    depth < MAX_TUPLE_DEPTH &&
    list.every((parameter: unknown) => {
      const { type, name = "", components } = (parameter ?? {}) as Partial<AbiParameter>;
      if (typeof type !== "string" || !TYPE.test(type) || !isName(name)) return false;
      return type.startsWith("tuple") ? areParameters(components, depth + 1) : components === undefined;
    })
  );
}
