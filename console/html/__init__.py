"""From values to HTML: templates, components, forms and records as they are shown."""
