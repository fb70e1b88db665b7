const ACTORS = ["user", "client", "service", "PostgreSQL", "chain's node"] as const;
type Actor = (typeof ACTORS)[number];

interface Step {
  readonly from: Actor;
  /** The same actor: it does something by itself. */
  readonly to: Actor;
  readonly text: string;
}

/** One picture for each stage of docs/concepts/life.md, under the name of its file. */
const STAGES: Readonly<Record<string, readonly Step[]>> = {
  "1-sign": [
    { from: "client", to: "user", text: "call, gas price 0" },
    { from: "user", to: "client", text: "signed InnerTx" },
  ],
  "2-receive": [
    { from: "client", to: "service", text: "POST /v1/submit" },
    { from: "service", to: "service", text: "API key? rate? room?" },
  ],
  "3-check": [
    { from: "service", to: "service", text: "decode: one byte string" },
    { from: "service", to: "service", text: "rules, policy, scope" },
    { from: "service", to: "client", text: "line: what breaks a rule" },
  ],
  "4-accept": [
    { from: "service", to: "PostgreSQL", text: "accept: one write" },
    { from: "PostgreSQL", to: "service", text: "queued, or seen before" },
  ],
  "5-sign": [
    { from: "service", to: "PostgreSQL", text: "what is queued?" },
    { from: "service", to: "service", text: "waiver nonce, wrap, sign" },
    { from: "service", to: "PostgreSQL", text: "signed: nonce and bytes" },
  ],
  "6-send": [
    { from: "service", to: "chain's node", text: "wrappers in nonce order" },
    { from: "chain's node", to: "service", text: "taken, refused, or unclear" },
  ],
  "7-tell": [
    { from: "service", to: "client", text: "line: success, txHash" },
    { from: "service", to: "PostgreSQL", text: "broadcast" },
  ],
  "8-watch": [
    { from: "chain's node", to: "service", text: "new block" },
    { from: "service", to: "chain's node", text: "receipts, nonces?" },
    { from: "service", to: "PostgreSQL", text: "included: block and gas" },
    { from: "service", to: "client", text: "line, with wait=included" },
  ],
};

const COLUMN = 170;
const LEFT = 85;
const TOP = 56;
const ROW = 40;
const WIDTH = LEFT * 2 + COLUMN * (ACTORS.length - 1);

const x = (actor: Actor) => LEFT + ACTORS.indexOf(actor) * COLUMN;

/** The pictures as SVG, by their file names. They are drawn on white, so that they can be read on any page. */
export function lifePictures(): ReadonlyMap<string, string> {
  return new Map(Object.entries(STAGES).map(([name, steps]) => [`${name}.svg`, picture(steps)]));
}

function picture(steps: readonly Step[]): string {
  const height = TOP + steps.length * ROW + 12;
  const participants: ReadonlySet<Actor> = new Set(steps.flatMap(({ from, to }) => [from, to]));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="14">
<title>${steps.map(({ from, to, text }) => (from === to ? `${from}: ${text}` : `${from} to ${to}: ${text}`)).join("; ")}</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#0f766e"/></marker></defs>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${ACTORS.map((actor) => column(actor, participants.has(actor), height)).join("\n")}
${steps.map((step, i) => arrow(step, TOP + i * ROW + 22)).join("\n")}
</svg>
`;
}

function column(actor: Actor, takesPart: boolean, height: number): string {
  const [fill, ink] = takesPart ? ["#0f766e", "#fff"] : ["#eef2f2", "#64748b"];
  return [
    `<line x1="${x(actor)}" y1="38" x2="${x(actor)}" y2="${height - 8}" stroke="${takesPart ? "#94a3b8" : "#e2e8f0"}" stroke-dasharray="3 4"/>`,
    `<rect x="${x(actor) - 58}" y="8" width="116" height="30" rx="6" fill="${fill}"/>`,
    `<text x="${x(actor)}" y="28" text-anchor="middle" fill="${ink}">${actor}</text>`,
  ].join("");
}

function arrow({ from, to, text }: Step, y: number): string {
  const stroke = 'fill="none" stroke="#0f766e" stroke-width="1.5" marker-end="url(#tip)"';
  if (from === to) {
    const at = x(from);
    const path = `<path d="M${at} ${y - 10}h22v14h-20" ${stroke}/>`;
    return `${path}<text x="${at + 30}" y="${y + 1}" fill="#0f172a">${text}</text>`;
  }
  const middle = (x(from) + x(to)) / 2;
  const direction = Math.sign(x(to) - x(from));
  const line = `<line x1="${x(from)}" y1="${y}" x2="${x(to) - direction * 2}" y2="${y}" ${stroke}/>`;
  const label = `<text x="${middle}" y="${y - 6}" text-anchor="middle" fill="#0f172a" stroke="#fff" stroke-width="4" paint-order="stroke">${text}</text>`;
  return line + label;
}
