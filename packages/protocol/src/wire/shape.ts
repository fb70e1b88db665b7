// The shape of a body tells its type, and how to check a value of it; `objectSchema` makes its JSON Schema. A shape is a plain
// literal, so that bundles hold little of it, and drop those that nobody reads.
import { isCount, isObject, type Kind, type Kinds } from "./values.js";
import { WireError } from "./wireError.js";

/**
 * A value: a kind, with `?` behind it if the value may be absent; one of several values, or one value alone; a list; a value
 * of a shape that may be absent; an object; or the function that reads the value, with an error of its own.
 */
export type Shape =
  | Kind
  | `${Kind}?`
  | readonly ["enum", readonly string[]]
  | readonly ["const", string | boolean]
  | readonly ["list" | "optional", Shape]
  | Members
  | ((value: unknown) => unknown);

/** The members of an object. Other members belong to newer versions, and are kept (D26). */
export interface Members {
  readonly [name: string]: Shape;
}

type ValueOf<S> = S extends Kind
  ? Kinds[S]
  : S extends `${infer K extends Kind}?`
    ? Kinds[K]
    : S extends readonly ["enum", readonly (infer Value)[]]
      ? Value
      : S extends readonly ["const", infer Value]
        ? Value
        : S extends readonly ["list", infer Element]
          ? readonly ValueOf<Element>[]
          : S extends readonly ["optional", infer Inner]
            ? ValueOf<Inner>
            : S extends (value: unknown) => infer Value
              ? Value
              : TypeOf<S>;

type OptionalNames<M> = {
  [Name in keyof M]: M[Name] extends `${string}?` | readonly ["optional", unknown] ? Name : never;
}[keyof M];

// Both keep the comments on the members, for an editor that hovers them.
type Required<M, Name extends keyof M> = { readonly [N in Name]: ValueOf<M[N]> };
type Optional<M, Name extends keyof M> = { readonly [N in Name]?: ValueOf<M[N]> };

/** The type of the objects that have these members. */
export type TypeOf<M> = Required<M, Exclude<keyof M, OptionalNames<M>>> & Optional<M, OptionalNames<M>>;

/**
 * Tells whether a value has the shape. Any text is good for each kind of text: its schema says which one it is. A member that a
 * function reads is left to its caller.
 */
export function fits<const S extends Shape>(shape: S, value: unknown): value is ValueOf<S>;
export function fits(shape: Shape, value: unknown): boolean {
  if (typeof shape === "function") return true;
  if (typeof shape === "string") return fitsKind(shape, value);
  if (isForm(shape)) {
    const [form, inner] = shape;
    if (form === "const") return value === inner;
    if (form === "enum") return inner.some((one) => one === value);
    if (form === "optional") return value === undefined || fits(inner, value);
    return Array.isArray(value) && value.every((element) => fits(inner, element));
  }
  if (!isObject(value)) return false;
  for (const name in shape) if (!fits(shape[name] as Shape, value[name])) return false;
  return true;
}

// Each line of an answer is read here, so a member costs neither a new text nor a function.
function fitsKind(kind: Kind | `${Kind}?`, value: unknown): boolean {
  if (value === undefined) return kind.endsWith("?");
  switch (kind) {
    case "boolean":
    case "boolean?":
      return typeof value === "boolean";
    case "number":
    case "number?":
      return typeof value === "number";
    case "count":
    case "count?":
      return isCount(value);
    case "chainId":
    case "chainId?":
      return isCount(value) && value > 0;
    default:
      return typeof value === "string";
  }
}

/**
 * Reads an object. Other members than those of the shape are kept.
 * @throws {@link WireError} with the problem as its message, if the value does not have the shape.
 */
export function readShape<const M extends Members>(members: M, value: unknown, problem: string): TypeOf<M> {
  if (fits(members, value)) return value as TypeOf<M>;
  throw new WireError(problem, value);
}

type Form = Extract<Shape, readonly unknown[]>;

/** Tells a form from the members of an object. */
export const isForm = Array.isArray as unknown as (shape: Shape) => shape is Form;
