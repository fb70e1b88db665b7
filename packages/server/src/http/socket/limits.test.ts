import { describe, expect, it } from "vitest";
import { SocketLimits } from "./limits.js";

const options = { maxSockets: 20, maxKeySockets: 10, maxAddressConnections: 100 };

function limitsOf() {
  let open = 0;
  const closed: string[] = [];
  const limits = new SocketLimits(options, {
    sockets: (count) => {
      open = count;
    },
  });
  const ownerOf = (keyId: string, address: number, isPublishable = false) => ({
    keyId,
    address: `192.0.2.${address}`,
    site: undefined,
    isPublishable,
  });
  const busy = new Set<string>();
  const enter = (...owner: Parameters<typeof ownerOf>) => {
    const name = `${owner[0]} ${owner[1]}`;
    return limits.enter(
      ownerOf(...owner),
      () => closed.push(name),
      () => !busy.has(name),
    );
  };
  return { enter, closed, busy, open: () => open };
}

describe("the WebSockets of a service", () => {
  it("that two keys have all are left in part to a third one, up to half of what one of them has", () => {
    const { enter, closed, open } = limitsOf();
    for (const key of ["a", "b"]) for (let i = 0; i < 10; i++) enter(key, i);
    expect(() => enter("a", 1)).toThrow("this key has 10");
    for (let i = 0; i < 4; i++) enter("c", 1);
    expect(closed).toEqual(["a 0", "b 0", "a 1", "b 1"]);
    expect(() => enter("c", 1)).toThrow("the service has 20");
    expect(open()).toBe(20);
  });

  it("are taken from addresses of publishable keys by another address, and from no secret key", () => {
    const { enter, closed } = limitsOf();
    for (let i = 0; i < 10; i++) enter("secret", 1);
    for (const address of [1, 2]) for (let i = 0; i < 5; i++) enter("public", address, true);
    enter("public", 3, true);
    expect(closed).toEqual(["public 1"]);
  });

  it("leave idle ones first, and then those that were opened first", () => {
    const { enter, closed, busy } = limitsOf();
    for (const key of ["a", "b"]) for (let i = 0; i < 10; i++) enter(key, i);
    for (let i = 0; i < 10; i++) if (i !== 7) busy.add(`a ${i}`);
    for (let i = 0; i < 3; i++) enter("c", 1);
    expect(closed).toEqual(["a 7", "b 0", "a 0"]);
  });

  it("count no more once they are closed", () => {
    const { enter, open } = limitsOf();
    const leave = enter("a", 1);
    leave();
    leave();
    expect(open()).toBe(0);
  });
});
