"""Simulations of locators and gateways in virtual time."""
