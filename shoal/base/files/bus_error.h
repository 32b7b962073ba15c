// Handling of mapped files that become shorter while in use: Linux reports a read beyond the new
// end by SIGBUS, which would kill the program without a message.
#pragma once

namespace shoal {

// From now on such a read ends the process with one line on stderr and this exit code. Other causes
// of SIGBUS kill it as before. For main(): signal handlers are the program's, not a library's.
void exit_on_bus_error(int exit_code);

}  // namespace shoal
