"""Draws charts as SVG. Pure: nothing is stored and nothing is loaded. `drawing.draw_chart` is the way in."""
