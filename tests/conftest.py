import signal

pytest_plugins = ["group_times"]

# A shell that starts the tests in the background lets them ignore Ctrl-C, and they hand that on to
# the programs they start; the tests of interrupts need the usual handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
