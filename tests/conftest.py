"""What all tests need of their process."""

import signal

# Started in the background by a shell, the tests and all that they start would never hear Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
