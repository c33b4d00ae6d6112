"""Pictures: curves and columns drawn as SVG, and the numbers of the service that are drawn."""
