import { bytesToHex, crypto, encodeRlp, type Hex } from "@gas-waiver/protocol";

// A synchronous Merkle Patricia trie in memory (Ethereum yellow paper, appendix D). It keeps only the nodes in use, and
// each node's reference until something below the node changes. A block that touches 1,000 of 50,000 accounts
// therefore hashes only the paths to those 1,000.

type Nibbles = Uint8Array;
type Encoded = Uint8Array | Encoded[];

interface Leaf {
  readonly kind: "leaf";
  readonly path: Nibbles;
  readonly value: Uint8Array;
  reference: Encoded | undefined;
}
interface Extension {
  readonly kind: "extension";
  readonly path: Nibbles;
  readonly child: Node;
  reference: Encoded | undefined;
}
interface Branch {
  readonly kind: "branch";
  readonly children: (Node | undefined)[];
  value: Uint8Array | undefined;
  reference: Encoded | undefined;
}
type Node = Leaf | Extension | Branch;

const EMPTY = new Uint8Array(0);

/** The root of a trie without entries: keccak256(RLP("")). */
export const EMPTY_ROOT: Hex = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** A Merkle Patricia trie. It does not hash keys: callers that need a secure trie do. */
export class Trie {
  #root: Node | undefined;

  /** Sets the value at a key; an empty value removes the key. */
  put(key: Uint8Array, value: Uint8Array): void {
    const nibbles = toNibbles(key);
    this.#root = value.length === 0 ? remove(this.#root, nibbles, 0) : insert(this.#root, nibbles, 0, value);
  }

  clear(): void {
    this.#root = undefined;
  }

  root(): Hex {
    if (this.#root === undefined) return EMPTY_ROOT;
    return bytesToHex(crypto.keccak256(encodeRlp(encodeNode(this.#root))));
  }

  /** The nodes from the root towards a key, as RLP. They prove the key's value, or its absence. */
  prove(key: Uint8Array): Uint8Array[] {
    const proof: Uint8Array[] = [];
    const nibbles = toNibbles(key);
    let at = 0;
    for (let node = this.#root; node !== undefined; ) {
      const encoded = encodeRlp(encodeNode(node));
      // A node shorter than a hash is part of its parent.
      if (proof.length === 0 || encoded.length >= 32) proof.push(encoded);
      if (node.kind === "leaf") break;
      if (node.kind === "branch") {
        node = node.children[nibbles[at] ?? -1];
        at++;
      } else {
        const matches = sharedLength(node.path, nibbles, at) === node.path.length;
        at += node.path.length;
        node = matches ? node.child : undefined;
      }
    }
    return proof;
  }
}

/** The root of a trie whose keys are RLP of the item's index: the tries of a block's transactions and receipts. */
export function listRoot(items: readonly Uint8Array[]): Hex {
  const trie = new Trie();
  items.forEach((item, index) => {
    trie.put(encodeRlp(BigInt(index)), item);
  });
  return trie.root();
}

/** Inserts a value below a node. The nibbles of the key before `at` lead to the node. */
function insert(node: Node | undefined, key: Nibbles, at: number, value: Uint8Array): Node {
  if (node === undefined) return leaf(key.subarray(at), value);
  if (node.kind === "branch") return insertIntoBranch(node, key, at, value);
  const shared = sharedLength(node.path, key, at);
  if (shared === node.path.length) {
    if (node.kind === "extension") return extension(node.path, insert(node.child, key, at + shared, value));
    if (at + shared === key.length) return leaf(node.path, value);
  }
  const fork = branch();
  placeInFork(fork, node, shared);
  insertIntoBranch(fork, key, at + shared, value);
  return shared === 0 ? fork : extension(key.subarray(at, at + shared), fork);
}

/** Puts the remainder of a split leaf or extension below the new branch. */
function placeInFork(fork: Branch, node: Leaf | Extension, shared: number): void {
  const rest = node.path.subarray(shared);
  const first = rest[0];
  if (node.kind === "leaf") {
    if (first === undefined) fork.value = node.value;
    else fork.children[first] = leaf(rest.subarray(1), node.value);
  } else if (first !== undefined) {
    fork.children[first] = rest.length === 1 ? node.child : extension(rest.subarray(1), node.child);
  }
}

function insertIntoBranch(node: Branch, key: Nibbles, at: number, value: Uint8Array): Branch {
  node.reference = undefined;
  const nibble = key[at];
  if (nibble === undefined) node.value = value;
  else node.children[nibble] = insert(node.children[nibble], key, at + 1, value);
  return node;
}

/** Removes a key below a node. The nibbles of the key before `at` lead to the node. */
function remove(node: Node | undefined, key: Nibbles, at: number): Node | undefined {
  if (node === undefined) return undefined;
  if (node.kind === "branch") return removeFromBranch(node, key, at);
  const shared = sharedLength(node.path, key, at);
  if (shared !== node.path.length) return node;
  if (node.kind === "leaf") return at + shared === key.length ? undefined : node;
  const child = remove(node.child, key, at + shared);
  return child === undefined ? undefined : prefix(node.path, child);
}

function removeFromBranch(node: Branch, key: Nibbles, at: number): Node | undefined {
  node.reference = undefined;
  const nibble = key[at];
  if (nibble === undefined) node.value = undefined;
  else node.children[nibble] = remove(node.children[nibble], key, at + 1);
  return collapse(node);
}

/** Replaces a branch that has only one child or only a value left. */
function collapse(node: Branch): Node | undefined {
  let lastChild = -1;
  for (let i = 0; i < 16; i++) {
    if (node.children[i] === undefined) continue;
    if (lastChild >= 0 || node.value !== undefined) return node;
    lastChild = i;
  }
  if (lastChild < 0) return node.value === undefined ? undefined : leaf(EMPTY, node.value);
  const child = node.children[lastChild];
  return child === undefined ? undefined : prefix(Uint8Array.of(lastChild), child);
}

/** Prepends nibbles to a node, and merges them with the path of a leaf or extension. */
function prefix(path: Nibbles, child: Node): Node {
  if (child.kind === "branch") return extension(path, child);
  const joined = new Uint8Array(path.length + child.path.length);
  joined.set(path);
  joined.set(child.path, path.length);
  return child.kind === "leaf" ? leaf(joined, child.value) : extension(joined, child.child);
}

function leaf(path: Nibbles, value: Uint8Array): Leaf {
  return { kind: "leaf", path, value, reference: undefined };
}

function extension(path: Nibbles, child: Node): Node {
  return child.kind === "branch"
    ? { kind: "extension", path, child, reference: undefined }
    : prefix(path, child);
}

function branch(): Branch {
  return { kind: "branch", children: new Array(16).fill(undefined), value: undefined, reference: undefined };
}

/** The reference that a parent node holds: the hash, or the node itself if its RLP is shorter than a hash. */
function referenceOf(node: Node): Encoded {
  if (node.reference !== undefined) return node.reference;
  const encoded = encodeNode(node);
  const bytes = encodeRlp(encoded);
  node.reference = bytes.length < 32 ? encoded : crypto.keccak256(bytes);
  return node.reference;
}

function encodeNode(node: Node): Encoded[] {
  switch (node.kind) {
    case "leaf":
      return [compact(node.path, true), node.value];
    case "extension":
      return [compact(node.path, false), referenceOf(node.child)];
    case "branch":
      return [
        ...node.children.map((child) => (child === undefined ? EMPTY : referenceOf(child))),
        node.value ?? EMPTY,
      ];
  }
}

/** Hex-prefix encoding: flags for leaf and odd length in the first nibble. */
function compact(path: Nibbles, isLeaf: boolean): Uint8Array {
  const odd = path.length % 2;
  const out = new Uint8Array((path.length >> 1) + 1);
  const flags = (isLeaf ? 2 : 0) + odd;
  out[0] = (flags << 4) | (odd === 1 ? (path[0] ?? 0) : 0);
  for (let i = odd, o = 1; i < path.length; i += 2, o++) {
    out[o] = ((path[i] ?? 0) << 4) | (path[i + 1] ?? 0);
  }
  return out;
}

function toNibbles(key: Uint8Array): Nibbles {
  const out = new Uint8Array(key.length * 2);
  for (let i = 0; i < key.length; i++) {
    const byte = key[i] ?? 0;
    out[2 * i] = byte >> 4;
    out[2 * i + 1] = byte & 15;
  }
  return out;
}

/** The number of nibbles that a path shares with a key from `at` on. */
function sharedLength(path: Nibbles, key: Nibbles, at: number): number {
  const limit = Math.min(path.length, key.length - at);
  let i = 0;
  while (i < limit && path[i] === key[at + i]) i++;
  return i;
}
