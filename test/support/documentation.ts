import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = join(import.meta.dirname, "../../packages");

/** A documentation comment, up to the code that it stands above. */
const COMMENT = String.raw`/\*\*(?:(?!\*/)[\s\S])*\*/\n`;
const EXPORTED = new RegExp(
  String.raw`(${COMMENT})?^export (?:async |abstract )*(?:function\*?|class|const|interface|type) (\w+)`,
  "gm",
);
const EXAMPLE = /@example\n((?:[ \t]*\*.*\n)*?)[ \t]*\*\s*```\n/g;

/** The documentation comments of packages, read from their sources. */
export interface Documentation {
  /** Returns the comment above an exported declaration; empty where there is none. */
  exported(name: string): string;
  /** Returns the methods of an exported interface or object type, with their comments. */
  methods(typeName: string): { readonly name: string; readonly comment: string }[];
  /** All examples, by the file that they are in. */
  readonly examples: readonly { readonly file: string; readonly code: string }[];
}

/** Reads the sources of packages. Biome formats them, so their text has one shape. */
export function readDocumentation(packageNames: readonly string[]): Documentation {
  const sources = packageNames.flatMap((name) =>
    readdirSync(join(PACKAGES, name, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/\.test\.ts$/.test(file))
      .map((file) => `${name}/src/${file}`)
      .map((file) => ({ file, text: readFileSync(join(PACKAGES, file), "utf8") })),
  );
  const comments = new Map<string, string>();
  for (const { text } of sources) {
    for (const [, comment = "", name = ""] of text.matchAll(EXPORTED)) {
      comments.set(name, `${comments.get(name) ?? ""}${comment}`);
    }
  }
  return {
    exported: (name) => comments.get(name) ?? "",
    methods: (typeName) => sources.flatMap(({ text }) => methodsOf(text, typeName)),
    examples: sources.flatMap(({ file, text }) =>
      Array.from(text.matchAll(EXAMPLE), ([, lines = ""]) => ({ file, code: withoutStars(lines) })),
    ),
  };
}

function methodsOf(text: string, typeName: string): { name: string; comment: string }[] {
  const block = new RegExp(`^export (?:interface|type) ${typeName} (?:= )?{\n([\\s\\S]*?)^}`, "m").exec(
    text,
  )?.[1];
  const method = new RegExp(String.raw`((?:^  ${COMMENT})?)^  (\w+)[<(]`, "gm");
  return Array.from((block ?? "").matchAll(method), ([, comment = "", name = ""]) => ({ name, comment }));
}

function withoutStars(lines: string): string {
  return lines.replace(/^[ \t]*\* ?/gm, "").replace(/^```ts\n/, "");
}

/** The types of the values that examples use without declaring them. */
const GIVEN: Readonly<Record<string, string>> = {
  // protocol
  signedHex: 'import("@gas-waiver/protocol").Hex',
  resultHex: 'import("@gas-waiver/protocol").Hex',
  tx: 'import("@gas-waiver/protocol").SignedTransaction',
  inner: 'import("@gas-waiver/protocol").InnerTx',
  unsigned: 'import("@gas-waiver/protocol").UnsignedTransaction',
  waiver: 'import("@gas-waiver/protocol").WaiverAccount',
  policy: 'import("@gas-waiver/protocol").Policy',
  waiverPolicy: 'import("@gas-waiver/protocol").Policy',
  keyScope: 'import("@gas-waiver/protocol").Policy',
  rules: 'import("@gas-waiver/protocol").InnerTxRules',
  chain: 'import("@gas-waiver/protocol").ChainView',
  error: 'import("@gas-waiver/protocol").ErrorBody',
  nodeError: 'import("@gas-waiver/protocol").NodeError',
  token: "Uint8Array",
  data: "Uint8Array",
  bytes: "Uint8Array",
  input: "unknown",
  line: 'import("@gas-waiver/protocol").ResultLine',
  response: "Response",
  webSocket: "WebSocket",
  text: "string",
  nodeUrl: "string",
  body: "string",
  // client
  client: 'import("@gas-waiver/client").WaiverClient',
  socket: 'import("@gas-waiver/client").SocketClient',
  relay: 'import("@gas-waiver/client/self-hosted").WaiverRelay',
  signer: 'import("@gas-waiver/client/ethers").GasWaiverSigner',
  walletClient: 'import("viem").WalletClient & import("@gas-waiver/client/viem").GasWaiverActions',
  publicClient: 'import("viem").PublicClient',
  signedTransaction: "string",
  id: "string",
  wrapper: "string",
  waiverAddress: 'import("viem").Hex',
  expectedAddress: 'import("viem").Hex',
  tokenAddress: 'import("viem").Hex',
  recipient: 'import("viem").Hex',
  calldata: 'import("viem").Hex',
  transactionHash: 'import("viem").Hex',
  wagmiConfig: 'import("wagmi").Config',
  queryClient: 'import("@tanstack/react-query").QueryClient',
};

/**
 * Makes a module of each example: imports for the names of the package, and declarations for the values that the example
 * assumes.
 * @param entries the names that each entry of the packages exports.
 */
export function exampleModules(
  { examples }: Documentation,
  entries: Readonly<Record<string, object>>,
): { readonly file: string; readonly text: string }[] {
  return examples.map(({ file, code }) => {
    const bare = code.replace(/"[^"\n]*"/g, '""').replace(/\/\/.*$/gm, "");
    const declared = declaredIn(bare);
    const used = new Set(
      Array.from(bare.matchAll(/(?<![.\w])([A-Za-z]\w*)(?!\w|\??:)/g), ([, name = ""]) => name),
    );
    const free = [...used].filter((name) => !declared.has(name));
    const entry = entryOf(file);
    const imports = free.filter(
      (name) => name in (entries[entry] ?? {}) || /^(WaiverAccount|Hex)$/.test(name),
    );
    const assumed = free.filter((name) => name in GIVEN && !imports.includes(name));
    // The libraries take a key in hex, our own functions in bytes.
    const key = /\/(viem|ethers)\.ts$|\/viemTransport\//.test(file) ? 'import("viem").Hex' : "Uint8Array";
    const lines = [
      ...(imports.length > 0 ? [`import { ${imports.join(", ")} } from "${entry}";`] : []),
      ...assumed.map((name) => `declare const ${name}: ${GIVEN[name]};`),
      ...(free.includes("privateKey") ? [`declare const privateKey: ${key};`] : []),
    ];
    return { file, text: `${lines.join("\n")}\n${code}\nexport {};\n` };
  });
}

function declaredIn(code: string): Set<string> {
  const names = new Set<string>();
  const add = (list: string) => {
    for (const part of list.split(",")) names.add((part.split(":").at(-1) ?? "").trim());
  };
  for (const [, name = ""] of code.matchAll(/\b(?:const|let) (\w+)/g)) names.add(name);
  for (const [, list = ""] of code.matchAll(/\b(?:const|let|import) [{[]([^}\]]*)[}\]]/g)) add(list);
  for (const [, list = ""] of code.matchAll(/\(([\w, ]*)\) =>/g)) add(list);
  for (const [, list = ""] of code.matchAll(/\bcatch \((\w+)\)/g)) add(list);
  for (const [, list = ""] of code.matchAll(/\b\w+\(([\w, ]*)\) {$/gm)) add(list);
  return names;
}

function entryOf(file: string): string {
  if (/^protocol\/src\/(description\/|wire\/responseHeaders)/.test(file))
    return "@gas-waiver/protocol/description";
  if (file.startsWith("protocol/")) return "@gas-waiver/protocol";
  if (file.startsWith("crypto-native/")) return "@gas-waiver/crypto-native";
  if (file.startsWith("client/src/viemTransport/")) return "@gas-waiver/client/viem";
  if (file.startsWith("client/src/forwarding/")) return "@gas-waiver/client/relay";
  if (file.startsWith("client/src/waiverRelay/")) return "@gas-waiver/client/self-hosted";
  if (file.startsWith("client/src/hooks/")) return "@gas-waiver/client/wagmi";
  const special = {
    viem: "viem",
    ethers: "ethers",
    node: "node",
  };
  const found = Object.entries(special).find(([name]) => file === `client/src/${name}.ts`);
  return found ? `@gas-waiver/client/${found[1]}` : "@gas-waiver/client";
}
