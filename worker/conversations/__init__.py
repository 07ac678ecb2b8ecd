"""Flows at work: contacts are started in them, talk to them, and what the engine decides is carried out."""
