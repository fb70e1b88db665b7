/** The style of the page: light and dark, for narrow and wide screens, with system fonts. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1d2430; --soft: #5b6576; --line: #dfe3ea; --back: #fff; --block: #f5f7fa; --mark: #0b62c4; --good: #0a7d3e; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e2e6ee; --soft: #9aa5b8; --line: #2e3644; --back: #12161d; --block: #1a202a; --mark: #78b4ff; --good: #5fd08f; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--mark); text-decoration: none; }
a:hover { text-decoration: underline; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .4rem 0 .5rem; }
h2 { font-size: 1.45rem; margin: 3.5rem 0 1rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { margin: .6rem 0; }
small, figcaption, .key { color: var(--soft); font-size: .82rem; }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: 0; padding: .8rem 1rem; overflow-x: auto; background: var(--block); border: 1px solid var(--line); border-radius: 6px; line-height: 1.45; }
pre code { font-size: .84rem; }
figure { margin: .8rem 0; }
figcaption { margin-bottom: .2rem; }
main { max-width: 54rem; padding: 1.5rem 1.1rem 5rem; margin: 0 auto; }
nav { padding: 1rem 1.1rem 0; font-size: .92rem; }
nav ul { list-style: none; margin: .2rem 0 .5rem; padding: 0 0 0 1rem; }
nav > ul { padding: 0; }
nav li { margin: .2rem 0; }
nav details { margin: 0; }
nav details > summary { color: inherit; }
nav li code { font-size: .78rem; }
.table { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .8rem; }
th, td { padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td code { overflow-wrap: anywhere; }
td b { color: var(--bad); }
td a { display: inline-block; margin-right: .5rem; }
td:first-child code { overflow-wrap: normal; white-space: nowrap; }
article + article { border-top: 1px solid var(--line); margin-top: 2.4rem; padding-top: 1.4rem; }
article > h3 { margin-top: .4rem; }
.route { background: var(--block); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .8rem; }
.method { color: var(--mark); margin-right: .3rem; }
.key { float: right; line-height: 1.9; }
.status { font-variant-numeric: tabular-nums; }
td b.ok { color: var(--good); }
details { margin: .8rem 0; }
details > summary { cursor: pointer; color: var(--mark); }
dl { margin: 0; }
.reason { padding: .7rem 0; border-bottom: 1px solid var(--line); }
.reason:target { background: var(--block); box-shadow: -4px 0 var(--mark), -12px 0 var(--block); }
dt { display: flex; flex-wrap: wrap; gap: .1rem .8rem; align-items: baseline; }
dt code { font-weight: 600; }
dd { margin: .15rem 0 0; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td { display: block; padding: .05rem 0; border: 0; }
}
@media (min-width: 62rem) {
  body { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.6rem 1.1rem; border-right: 1px solid var(--line); background: var(--block); }
  main { padding: 1.8rem 2.5rem 6rem; margin: 0; }
}
`;
