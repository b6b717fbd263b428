"""The style of reprs in notebooks.

Texts have the color of the page, or of the theme of JupyterLab or VS Code, and nothing has a
background of its own. Other colors are of a middle lightness, and areas of them are translucent:
they are seen on light pages and on dark ones, whatever says which of them this is.
"""

from __future__ import annotations

# after Okabe and Ito; each has a contrast of 3 or more to white, and to the dark pages of themes
PALETTE = {
    "variable": "#2f86c9",
    "observed": "#858585",
    "data": "#1f9a76",
    "input": "#c2741a",
    "operation": "#858585",
}

_RULES = """
.dt-repr {
  {palette}
  font-size: 13px; line-height: 1.5; max-width: 64em;
  color: var(--jp-content-font-color1, var(--vscode-editor-foreground, inherit));}
.dt-repr .dt-head {
  border-bottom: 1px solid rgba(128,128,128,.4); padding: 2px 0 5px; margin-bottom: 4px;}
.dt-repr .dt-kind, .dt-repr .dt-soft {opacity: .65;}
.dt-repr .dt-name {font-weight: 600;}
.dt-repr summary {cursor: pointer; padding: 1px 0;}
.dt-repr pre, .dt-repr .dt-mono {
  font-family: var(--jp-code-font-family, ui-monospace, Menlo, Consolas, monospace) !important;}
.dt-repr pre {
  margin: 2px 0 6px 1.2em; padding: 0; border: none; background: none; color: inherit;
  font-size: 12px; line-height: 1.45; overflow-x: auto; white-space: pre;}
.dt-repr pre.dt-wrap {white-space: pre-wrap; overflow-wrap: anywhere;}
.dt-repr .dt-table {margin: 2px 0 6px 1.2em; overflow-x: auto;}
.dt-repr .dt-table table {
  width: auto !important; margin: 0 !important; table-layout: auto !important;
  border-collapse: collapse; font-size: 12px; border: none; color: inherit;}
.dt-repr .dt-table tr {background: none !important;}
.dt-repr .dt-table td, .dt-repr .dt-table th {
  text-align: left !important; vertical-align: top !important; white-space: nowrap;
  padding: 1px 14px 1px 0 !important; border: none; background: none; color: inherit;}
.dt-repr .dt-table th {font-weight: 400; opacity: .65;}
.dt-repr .dt-table, .dt-repr .dt-scroll, .dt-repr pre {
  scrollbar-width: thin; scrollbar-color: rgba(128,128,128,.5) transparent;}
.dt-repr .dt-math {margin: 4px 0; font-size: 16px; text-align: left; width: max-content;}
.dt-repr .dt-scroll {
  margin: 2px 0 6px 1.2em; padding: 2px 0; overflow-x: auto; overflow-y: hidden;}
.dt-repr .dt-table .dt-narrow, .dt-repr .dt-table .dt-cell {
  display: inline-block; max-width: 24em; white-space: normal; overflow-wrap: break-word;
  vertical-align: top;}
.dt-repr .dt-table .dt-narrow {max-width: 42em;}
.dt-repr svg {overflow: visible; vertical-align: middle; background: none;}
.dt-repr svg text {fill: currentColor; font-family: var(--jp-ui-font-family, sans-serif);}
.dt-repr .dt-picture {display: block; margin: 4px 0;}
.dt-repr .dt-title {font-size: 13px;}
.dt-repr .dt-detail {font-size: 10px; opacity: .75;}
.dt-repr .dt-plate {fill: #808080; fill-opacity: .06; stroke: #858585; stroke-opacity: .8;}
.dt-repr .dt-arrow {fill: none; stroke: #858585;}
.dt-repr .dt-head-of {fill: #858585;}
.dt-repr .dt-box {fill-opacity: .16; stroke-width: 1.2;}
.dt-repr .dt-observed {fill-opacity: .4;}
.dt-repr .dt-operation {fill-opacity: 0; stroke-dasharray: 4 2;}
.dt-repr .dt-density polygon, .dt-repr .dt-density rect {
  fill: var(--dt-variable); fill-opacity: .3;}
.dt-repr .dt-density rect {fill-opacity: .75;}
.dt-repr .dt-density polyline {fill: none; stroke: var(--dt-variable); stroke-width: 1.3;}
"""

STYLE = _RULES.replace(
    "{palette}", " ".join(f"--dt-{name}: {color};" for name, color in PALETTE.items())
) + "\n".join(
    f".dt-repr .dt-{name} {{fill: var(--dt-{name}); stroke: var(--dt-{name});}}" for name in PALETTE
)
