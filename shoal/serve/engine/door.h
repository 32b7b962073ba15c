// Door: another protocol in front of a backend, beside HTTP. gRPC's is a library that is loaded on
// demand: gRPC is 50 shared libraries, which would cost every other command 25 ms at its start.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/serve/engine/backend.h"

namespace shoal::serve {

// PEM texts. Empty: without TLS.
struct TlsFiles {
  std::string certificates;  // the server's first
  std::string key;
};

struct DoorOptions {
  std::string listen;  // numbers only; port 0 chooses one
  TlsFiles tls;
  uint64_t message_bytes = uint64_t{64} << 20;  // of a request
  uint64_t all_bytes = uint64_t{256} << 20;     // of all requests, about
};

class Door {
 public:
  virtual ~Door() = default;                // cancels unanswered requests
  virtual std::string address() const = 0;  // "127.0.0.1:8001"
  // The answer to health checks.
  virtual void set_serving(bool is_serving) = 0;
  // Takes no more requests, and returns when the present ones are answered. False if too late.
  virtual bool drain(Time deadline) = 0;
};

// kUnsupported if this build has no gRPC, kUnavailable if it cannot listen. REQUIRES: the backend
// outlives the door, and its post() works as long.
Result<std::unique_ptr<Door>> open_grpc_door(Backend& backend, const DoorOptions& options);

// What the library exports, as "shoal_open_grpc_door". Null if it fails, with the reason.
using OpenDoor = Door*(Backend& backend, const DoorOptions& options, Status& failure);
// Exported as "shoal_grpc_door_version": the program version that the library was made for.
using DoorVersion = const char*();

}  // namespace shoal::serve
