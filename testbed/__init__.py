"""What tests and benchmarks run against: database servers, real processes, and the rows they begin with."""
