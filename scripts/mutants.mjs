// Changes of one operator, condition, constant or call in a source file, each of which a test should notice.
import { parseSync } from "vite";

const OPERATORS = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "<<": ">>",
  ">>": "<<",
  "&": "|",
  "|": "&",
  "^": "&",
  "**": "*",
};
const ASSIGNMENTS = { "+=": "-=", "-=": "+=", "|=": "&=", "<<=": ">>=", "??=": "=" };
const METHODS = { some: "every", every: "some", min: "max", max: "min" };

/**
 * Lists the mutants of a source file.
 * @param {string} file its name, for the parser.
 * @param {string} text its content.
 * @returns {{ line: number, from: string, to: string, text: string }[]} each with the whole changed text.
 */
export function mutantsOf(file, text) {
  const { program, errors } = parseSync(file, text);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const mutants = [];
  visit(program, (node) => {
    for (const [{ start, end }, to] of changesOf(node, text)) {
      const line = text.slice(0, start).split("\n").length;
      const from = text.slice(start, end);
      mutants.push({ line, from, to, text: text.slice(0, start) + to + text.slice(end) });
    }
  });
  return mutants;
}

function visit(value, onNode) {
  if (Array.isArray(value)) for (const item of value) visit(item, onNode);
  if (typeof value !== "object" || value === null || !("type" in value)) return;
  if (!isType(value)) onNode(value);
  if (isType(value) && !("expression" in value)) return;
  for (const child of Object.values(value)) visit(child, onNode);
}

/** Types are checked by the compiler. Of `x as T`, `x satisfies T` and `x!`, the expression counts. */
const isType = ({ type }) => type.startsWith("TS") || type === "ImportDeclaration";

/** Yields the changes at a node: the range to replace, and its replacement. */
function* changesOf(node, text) {
  const source = (part) => text.slice(part.start, part.end);
  const between = (left, right) => ({ start: left.end, end: right.start });
  switch (node.type) {
    case "BinaryExpression": {
      const other = OPERATORS[node.operator];
      const isText = [node.left, node.right].some((side) => /^["'`]/.test(source(side)));
      if (other !== undefined && !(node.operator === "+" && isText)) {
        yield [between(node.left, node.right), ` ${other} `];
      }
      return;
    }
    case "LogicalExpression":
      yield [node, source(node.left)];
      if (node.operator !== "??") yield [node, source(node.right)];
      return;
    case "AssignmentExpression":
      if (node.operator in ASSIGNMENTS) {
        yield [between(node.left, node.right), ` ${ASSIGNMENTS[node.operator]} `];
      }
      return;
    case "UpdateExpression":
      yield [node, source(node).replace(/\+\+|--/, (operator) => (operator === "++" ? "--" : "++"))];
      return;
    case "UnaryExpression":
      if (node.operator === "!" || node.operator === "-") yield [node, `(${source(node.argument)})`];
      return;
    case "IfStatement":
    case "ConditionalExpression":
      // An operator in the condition has mutants of its own.
      if (/^(?:Identifier|CallExpression|MemberExpression|ChainExpression)$/.test(node.test.type)) {
        yield [node.test, `!(${source(node.test)})`];
      }
      return;
    case "Literal":
      if (typeof node.value === "boolean") yield [node, String(!node.value)];
      if (typeof node.value === "number") yield [node, `(${source(node)} + 1)`];
      if (typeof node.value === "bigint") yield [node, `(${source(node)} + 1n)`];
      return;
    case "MemberExpression":
      if (!node.computed && node.property.name in METHODS) yield [node.property, METHODS[node.property.name]];
      return;
    case "ExpressionStatement":
      if (/^(?:CallExpression|AssignmentExpression|AwaitExpression)$/.test(node.expression.type)) {
        yield [node, ";"];
      }
  }
}
