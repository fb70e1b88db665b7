/** @returns whether `Accept-Encoding` names gzip (RFC 9110, 12.5.3). `*` does not count. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return String(acceptEncoding ?? "")
    .split(",")
    .some((item) => {
      const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return (coding === "gzip" || coding === "x-gzip") && (weight === undefined || Number(weight) > 0);
    });
}
