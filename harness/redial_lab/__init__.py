"""The laboratory: searches, scenarios, torture, benches and probes, and the pages made of them."""
