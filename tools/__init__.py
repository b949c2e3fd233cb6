"""Tools of the developer; nothing here ships."""
