/** The options of a call of an SDK. */
export interface CallOptions {
  readonly abortSignal: AbortSignal;
}

/**
 * Makes the function that runs one call of an SDK within the time that an answer may take.
 * @param translate makes an error for a person of the SDK's own.
 */
export function createCalls<SdkError>(timeoutMs: number, translate: (error: SdkError) => Error) {
  return async <T>(send: (options: CallOptions) => Promise<T>): Promise<T> => {
    const abortSignal = AbortSignal.timeout(timeoutMs);
    try {
      return await send({ abortSignal });
    } catch (error) {
      if (abortSignal.aborted) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error });
      throw translate(error as SdkError);
    }
  };
}
