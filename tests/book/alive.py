"""Finds the processes that a test has started, however far down."""

import os
import signal
import subprocess
import time

import psutil

MARK = "BOOK_MARK_OF_A_TEST"


def alive(mark: str, patience: float = 20) -> list[psutil.Process]:
    """Return the processes with a mark that are still there after some seconds."""
    until = time.monotonic() + patience
    while (found := _with(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _with(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                found.append(process)
        except psutil.Error:  # a zombie, another user's, or gone by now
            continue
    return found


def interrupt(process: subprocess.Popen) -> None:
    """Do what Ctrl-C does in a terminal to a process that leads a group."""
    os.killpg(process.pid, signal.SIGINT)
