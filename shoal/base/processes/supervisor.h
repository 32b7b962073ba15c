// Readiness for supervisors that ask for it: systemd's protocol, which needs no library.
#pragma once

#include <string_view>

namespace shoal {

// Sends `state` ("READY=1") to the socket in $NOTIFY_SOCKET, if there is one.
void notify_supervisor(std::string_view state);

}  // namespace shoal
