/** The most transactions in one request, unless configured otherwise (D22). */
export const DEFAULT_MAX_BATCH_SIZE = 100;
/** The largest request body in bytes, unless configured otherwise (D22). */
export const DEFAULT_MAX_BODY_BYTES = 32 * 1024 * 1024;
