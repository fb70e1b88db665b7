import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as parsers from "./parsers.js";
import { type Environment, readSettings, UsageError } from "./readSettings.js";
import { secretFileOf } from "./secretFile.js";
import { allowedTargets, apiKeys } from "./serviceValues.js";

const SETTINGS = {
  port: {
    flag: "port",
    env: "PORT",
    placeholder: "PORT",
    help: "The port.",
    defaultValue: "80",
    parse: parsers.port,
  },
  size: { flag: "size", placeholder: "N", help: "The size.", parse: parsers.wholeNumber(1) },
  quiet: { flag: "quiet", help: "Say less.", parse: (value: string) => value === "true" },
  url: {
    flag: "url",
    env: "URL",
    placeholder: "URL",
    help: "The node.",
    required: true,
    parse: parsers.url("http:"),
  },
  keyFile: {
    flag: "key-file",
    placeholder: "FILE",
    subject: "the key",
    help: "The key.",
    parse: secretFileOf(parsers.privateKeys),
  },
  keys: { env: "KEYS", subject: "the key", help: "The key.", secret: true, parse: parsers.privateKeys },
} as const;
const check = ({ port, size }: Readonly<Record<string, unknown>>) =>
  port !== undefined && port === size ? ["the port is the size"] : [];
const GOOD_KEY = "2dd2f5e1b3c94b7f86a0e3d15c7790ab";
const KEY = `0x${"11".repeat(32)}`;
const VALID_ENVIRONMENT: Environment = { URL: "http://node", KEYS: KEY };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gas-waiver-settings-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (argv: string[], env: Environment = VALID_ENVIRONMENT) =>
  readSettings(SETTINGS, { requires: ["the key"], check }, argv, env);

function problemsOf(argv: string[], env: Environment = VALID_ENVIRONMENT): readonly string[] {
  try {
    read(argv, env);
  } catch (error) {
    if (error instanceof UsageError) return error.problems;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("readSettings", () => {
  it("prefers flags to variables, and variables to defaults", () => {
    expect(read([])).toMatchObject({ port: 80, url: "http://node" });
    expect(read([], { ...VALID_ENVIRONMENT, PORT: "81" })).toMatchObject({ port: 81 });
    expect(read(["--port", "82"], { ...VALID_ENVIRONMENT, PORT: "81" })).toMatchObject({ port: 82 });
    expect(read(["--port=83"])).toMatchObject({ port: 83 });
    expect(read([], { ...VALID_ENVIRONMENT, PORT: "" })).toMatchObject({ port: 80 });
  });

  it("leaves out settings that are not given, and reads flags without a value", () => {
    expect(read([])).not.toHaveProperty("size");
    expect(read([])).not.toHaveProperty("quiet");
    expect(read(["--quiet"])).toMatchObject({ quiet: true });
  });

  it("reads secrets from a variable or a file", () => {
    expect(read([]).keys).toEqual([new Uint8Array(32).fill(0x11)]);
    const file = join(folder, "key");
    writeFileSync(file, `${"22".repeat(32)}\n`, { mode: 0o600 });
    expect(read(["--key-file", file], { URL: "http://node" }).keyFile).toEqual([
      new Uint8Array(32).fill(0x22),
    ]);
  });

  it.each([
    [
      ["--prot", "1"],
      [
        "--prot is not a flag of this command; there is --port",
        '"1" is not expected: settings are given by flags',
      ],
    ],
    [["-p"], ["-p is not a flag of this command"]],
    [["now"], ['"now" is not expected: settings are given by flags']],
    [["--port"], ["--port needs a value: --port PORT"]],
    [["--port="], ["--port needs a value: --port PORT"]],
    [["--size", "--quiet"], ["--size needs a value: --size N"]],
    [["--quiet=yes"], ["--quiet takes no value"]],
    [["--port", "1", "--port", "2"], ["--port is given more than once"]],
    [["--port", "65536"], ['--port "65536" is not a whole number from 0 to 65535']],
    [["--port", "-1"], ['--port "-1" is not a whole number from 0 to 65535']],
    [["--port", "0x10"], ['--port "0x10" is not a whole number from 0 to 65535']],
    [["--size", "1.5"], ['--size "1.5" is not a whole number of at least 1']],
    [["--url", "ftp://a"], ['--url "ftp://a" is not a URL that begins with http://']],
  ])("refuses %j", (argv, problems) => {
    expect(problemsOf(argv)).toEqual(problems);
  });

  it("lists all problems at once", () => {
    const argv = ["--port", "--sise", "1", "--size", "0", "now"];
    expect(problemsOf(argv, { URL: "nonsense" })).toEqual([
      "--port needs a value: --port PORT",
      "--sise is not a flag of this command; there is --size",
      '"1" is not expected: settings are given by flags',
      '"now" is not expected: settings are given by flags',
      '--size "0" is not a whole number of at least 1',
      'URL "nonsense" is not a URL that begins with http://',
      "the key is missing: give --key-file FILE or KEYS",
    ]);
  });

  it("names each flag and variable that can give a missing setting", () => {
    expect(problemsOf([], { KEYS: KEY })).toEqual(["--url URL or URL is missing: The node."]);
  });

  it("refuses settings that exclude each other", () => {
    const file = join(folder, "both");
    writeFileSync(file, KEY, { mode: 0o600 });
    expect(problemsOf(["--key-file", file])).toEqual([
      "--key-file and KEYS are both given: the key comes from one of them",
    ]);
  });

  it("checks the rules between values that parse", () => {
    expect(problemsOf(["--size", "80"])).toEqual(["the port is the size"]);
    expect(problemsOf(["--port", "x", "--size", "80"])).toHaveLength(1);
  });

  it("explains an unreadable file", () => {
    const missing = join(folder, "none");
    expect(problemsOf(["--key-file", missing], { URL: "http://node" })).toEqual([
      `--key-file "${missing}" cannot be read: there is no such file`,
    ]);
  });

  it.each(["abc", "0x11", `0x${"00".repeat(32)}`, `0x${"ff".repeat(32)}`, `${KEY},${"33".repeat(31)}`])(
    "never quotes a secret that does not parse",
    (secret) => {
      const [problem, ...otherProblems] = problemsOf([], { ...VALID_ENVIRONMENT, KEYS: secret });
      expect(problem).toMatch(
        /^KEYS holds no usable private key at position [12]: 32 bytes of hex are needed$/,
      );
      expect(otherProblems).toEqual([]);
    },
  );
});

describe("parsers", () => {
  it.each(["127.0.0.1", "127.1.2.3", "localhost", "::1"])("accept %s as a loopback address", (host) => {
    expect(parsers.loopbackHost(host)).toBe(host);
  });

  it.each(["0.0.0.0", "192.168.1.1", "example.org", "127.0.0.1.example.org"])(
    "refuse %s as a loopback address",
    (host) => {
      expect(() => parsers.loopbackHost(host)).toThrow("is not a loopback address");
    },
  );

  it("read API keys between commas or line ends, and refuse a weak key and an empty list", () => {
    expect(apiKeys(`${GOOD_KEY}, ${GOOD_KEY}x\n\n${GOOD_KEY}y\n`)).toHaveLength(3);
    expect(() => apiKeys(`${GOOD_KEY},gw_dev_local`)).toThrow(
      "a weak API key at position 2, which has 12 characters",
    );
    expect(() => apiKeys(" ,\n")).toThrow("holds no API key");
  });

  it("read allowed targets, and name the entry that is wrong", () => {
    const json = '[{"address":"*","selectors":["0xa9059cbb"]}]';
    expect(allowedTargets(json)).toEqual([
      { address: "*", selectors: [Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb)] },
    ]);
    expect(() => allowedTargets('[{"address":"0x12"}]')).toThrow(
      /^is wrong: the address of allowed target 0/,
    );
    expect(() => allowedTargets('[{"address":"*"},{"address":"*","selectors":[]}]')).toThrow(
      "the selectors of allowed target 1 are an empty list, which permits nothing",
    );
    expect(() => allowedTargets("{")).toThrow("is not JSON");
  });
});
