"""The program: command line, settings, the processes of a running service, the simulated phone."""
