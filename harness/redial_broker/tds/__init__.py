"""TDS 7.4 (MS-TDS): a sans-IO protocol core, and the asyncio server around an instance."""
