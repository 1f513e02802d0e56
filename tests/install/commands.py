"""Runs commands for the tests of the installed package."""
import subprocess
import sys


def run(*command):
    """Returns what the command prints to stdout; ends the test if it fails."""
    done = subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code "
                 f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
