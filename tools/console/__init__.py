"""What is needed to write the console, but not to run it: vendored libraries, types, screenshots."""
