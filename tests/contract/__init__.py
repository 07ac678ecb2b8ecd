"""Tests of the contract as documents."""
