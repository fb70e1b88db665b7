import { ProtocolError } from "@gas-waiver/protocol";
import { assertFewValues } from "@gas-waiver/protocol/wire";

/**
 * Reads the JSON of a request, and no more bytes than the limit.
 * @throws ProtocolError for another content type, a body that is too large, or text that is not JSON.
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  // A form of another site can send other content types without the browser asking first.
  const type = request.headers.get("content-type") ?? "";
  const isPlain = (request.headers.get("content-encoding") ?? "identity") === "identity";
  if (!/^application\/json\s*(?:;|$)/i.test(type) || !isPlain) {
    throw new ProtocolError("UNSUPPORTED_MEDIA_TYPE", "the body is not uncompressed application/json");
  }
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const text = await readText(request.body, maxBytes);
  assertFewValues(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ProtocolError("MALFORMED_JSON", "the body is not JSON", {}, { cause });
  }
}

async function readText(body: Request["body"], maxBytes: number): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader.cancel().catch(() => undefined);
      throw tooLarge(maxBytes);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError("BODY_TOO_LARGE", `the body has more than ${maxBytes} bytes`);
}
