/** The routes of the service, written once for server and client (section 4). Paths carry the version (D26). */
export const ROUTES = {
  health: { method: "GET", path: "/v1/health", authenticated: false },
  /** With the header: the requirement of a key has no exception but `health`. */
  ready: { method: "GET", path: "/v1/ready", authenticated: true },
  submit: { method: "POST", path: "/v1/submit", authenticated: true },
  /** The WebSocket: an upgrade of HTTP/1.1 (D23). */
  socket: { method: "GET", path: "/v1/submit", authenticated: true },
  /** The dry run: the body of `submit`, a line for each transaction, and nothing else. */
  check: { method: "POST", path: "/v1/check", authenticated: true },
  /** What the key may send. */
  policy: { method: "GET", path: "/v1/policy", authenticated: true },
  submissions: { method: "GET", path: "/v1/submissions", authenticated: true },
  /** `:id` stands for the submission's id (D15). */
  submission: { method: "GET", path: "/v1/submissions/:id", authenticated: true },
  /** OpenAPI 3.1 and AsyncAPI 3: endpoints like the others, so with a key (section 5). */
  openApi: { method: "GET", path: "/v1/openapi.json", authenticated: true },
  asyncApi: { method: "GET", path: "/v1/asyncapi.json", authenticated: true },
  /** A page for people, outside the versioned interface: browsers that open it send no header. */
  docs: { method: "GET", path: "/docs", authenticated: false },
} as const;

/** The content type of a streamed response: one JSON value a line. */
export const NDJSON = "application/x-ndjson";

/** The length limit of a batch unless configured otherwise (D22). */
export const DEFAULT_MAX_BATCH_SIZE = 100;
/** The size limit of a request body in bytes unless configured otherwise (D22). */
export const DEFAULT_MAX_BODY_BYTES = 32 * 1024 * 1024;
