"""The attacks, a module for each family. Each is a process with a low priority that sends what was made before."""
