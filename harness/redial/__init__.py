"""Redial: recycled Service Broker conversations, deployed and operated."""
