"""Redial: recycled Service Broker conversations, deployed, proved and operated."""
