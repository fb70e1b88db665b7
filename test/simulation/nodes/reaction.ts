/** The fate of a request, as the client of an endpoint meets it. */
export type Reaction =
  /** No connection is made; `code` as Node names it. */
  | { readonly kind: "no connection"; readonly code: string }
  /** The connection is reset before any answer. */
  | { readonly kind: "reset" }
  | { readonly kind: "hang" }
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body: string;
      /** The silence that the answer asks for, in seconds. */
      readonly retryAfter?: number | undefined;
      /** The connection ends before the end of the body. */
      readonly isCut: boolean;
      readonly delayMs: number;
    };
