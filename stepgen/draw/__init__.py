"""Pictures of graphs: boxes and arrows, laid out by Graphviz, as SVG and as DOT."""
